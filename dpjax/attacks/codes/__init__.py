"""Fingerprinting codes."""

from dpjax.attacks.codes.base import Code as Code
from dpjax.attacks.codes.base import Codebook as Codebook
from dpjax.attacks.codes.base import first as first
from dpjax.attacks.codes.boneh_shaw import BonehShaw as BonehShaw
from dpjax.attacks.codes.tardos import Tardos as Tardos
