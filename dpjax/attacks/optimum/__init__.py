"""The best possible private learner of a tiny class, by linear programming with a certificate."""

from .best import Optimum as Optimum
from .best import databases_of as databases_of
from .best import goal_of as goal_of
from .best import optimum as optimum
from .cases import Case as Case
from .cases import Goal as Goal
from .certificate import Certificate as Certificate
from .compared import exact_success as exact_success
from .databases import Databases as Databases
from .learner import TableLearner as TableLearner
