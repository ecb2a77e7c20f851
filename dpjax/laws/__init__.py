"""Output laws. The same object is sampled, audited and accounted for. One law per file.

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
