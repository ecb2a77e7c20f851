"""The best possible private learner of a tiny class, by linear programming with a certificate."""

from .cases import Case as Case
from .cases import Goal as Goal
from .certificate import Certificate as Certificate
from .compared import exact_success as exact_success
from .databases import Databases as Databases
from .learner import TableLearner as TableLearner
from .optimum import Optimum as Optimum
from .optimum import goal_of as goal_of
from .optimum import optimum as optimum
