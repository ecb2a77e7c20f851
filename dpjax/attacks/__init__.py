"""Attacks on learners: fingerprinting codes, pirates, and the coalition attack."""

from dpjax.attacks.codes import BonehShaw as BonehShaw
from dpjax.attacks.codes import Tardos as Tardos
