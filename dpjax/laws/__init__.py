"""Output laws. Trials sample the same object that audits list and compare. One law per file.

A law states a distribution and no privacy: guarantees are computed from the numbers of a plan, not from laws.
`accounting.hockey_stick` compares the laws of two databases.
A law is a pytree, so it can be built inside jit and vmapped. Log-weights and locations are float32, or float64 in
exact audits.
"""

from dpjax.core.draws import drawn as drawn

from .base import Law as Law
from .base import Support as Support
from .base import listed as listed
from .categorical import Categorical as Categorical
from .discrete_laplace import DiscreteLaplace as DiscreteLaplace
from .gaussian import Gaussian as Gaussian
from .geometric import Geometric as Geometric
from .integer_weights import IntegerWeights as IntegerWeights
from .laplace import Laplace as Laplace
from .product import Product as Product
from .rounded_laplace import RoundedLaplace as RoundedLaplace
from .table import fold_max as fold_max
from .uniform import Uniform as Uniform
