"""The truth from below: attacks on learners by fingerprinting codes, and the best learner of a tiny class."""

from dpjax.attacks.coalition import CoalitionAttack as CoalitionAttack
from dpjax.attacks.codes import BonehShaw as BonehShaw
from dpjax.attacks.codes import Tardos as Tardos
from dpjax.attacks.optimum import TableLearner as TableLearner
from dpjax.attacks.packing import Packed as Packed
from dpjax.attacks.packing import pack as pack
from dpjax.attacks.piracy import Piracy as Piracy
from dpjax.attacks.piracy import measure as measure
from dpjax.attacks.report import Report as Report
from dpjax.attacks.report import demonstrate as demonstrate
from dpjax.attacks.tracing import trace as trace
