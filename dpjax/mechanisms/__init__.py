"""Mechanisms: functions from data to the law of the output. One mechanism per file.

Epsilon and delta are used as given: a traced scalar unchanged, a Python number as the nearest float32,
which may be larger. `core.plans.down` rounds a budget down.
"""

from dpjax.accounting import exponential_guarantee as exponential_guarantee
from dpjax.core import host as _host

from .above_threshold import above_threshold as above_threshold
from .above_threshold import above_threshold_guarantee as above_threshold_guarantee
from .choosing import choosing as choosing
from .choosing import choosing_guarantee as choosing_guarantee
from .exponential import exponential as exponential
from .gaussian import GaussianPlan as GaussianPlan
from .gaussian import gaussian_mechanism as gaussian_mechanism
from .gaussian import gaussian_mechanism_guarantee as gaussian_mechanism_guarantee
from .gaussian import gaussian_plan as gaussian_plan
from .histogram import HistogramLaw as HistogramLaw
from .histogram import stability_histogram as stability_histogram
from .histogram import stability_histogram_guarantee as stability_histogram_guarantee
from .intervals import IntervalLaw as IntervalLaw
from .intervals import Pieces as Pieces
from .intervals import interval_exponential as interval_exponential
from .noise import DiscreteLaplacePlan as DiscreteLaplacePlan
from .noise import discrete_laplace_mechanism as discrete_laplace_mechanism
from .noise import discrete_laplace_mechanism_guarantee as discrete_laplace_mechanism_guarantee
from .noise import discrete_laplace_plan as discrete_laplace_plan
from .noise import laplace_mechanism as laplace_mechanism
from .noise import laplace_mechanism_guarantee as laplace_mechanism_guarantee
from .permute_and_flip import permute_and_flip as permute_and_flip
from .permute_and_flip import permute_and_flip_guarantee as permute_and_flip_guarantee
from .permute_and_flip import permute_and_flip_sample as permute_and_flip_sample
from .randomized_response import randomized_response as randomized_response
from .randomized_response import randomized_response_guarantee as randomized_response_guarantee
from .randomized_response import revealing_randomized_response as revealing_randomized_response
from .randomized_response import revealing_randomized_response_guarantee as revealing_randomized_response_guarantee
from .slicing import cut_slice as cut_slice
from .sparse_selection import sparse_selection as sparse_selection
from .sparse_selection import sparse_selection_guarantee as sparse_selection_guarantee
from .sparse_vector import sparse_vector as sparse_vector
from .sparse_vector import sparse_vector_guarantee as sparse_vector_guarantee
from .stability import release as release
from .stability import stability as stability
from .stability import stability_guarantee as stability_guarantee

_host.host_functions(globals())
