"""Privacy accounting on the host, in float64: guarantees as small trees, and the composition theorems.

Start with ``Guarantee`` and ``basic``; ``optimal`` and ``zcdp`` for many rounds, ``calibrate`` to invert them,
``hockey_stick`` to check a claim against two exact laws.
"""

from dpjax.accounting.calibrate import FAMILIES as FAMILIES
from dpjax.accounting.calibrate import calibrate as calibrate
from dpjax.accounting.composition import advanced as advanced
from dpjax.accounting.composition import basic as basic
from dpjax.accounting.composition import parallel as parallel
from dpjax.accounting.cover.calibration import CoverCalibration as CoverCalibration
from dpjax.accounting.cover.calibration import calibrate_set_cover as calibrate_set_cover
from dpjax.accounting.cover.guarantee import set_cover_delta as set_cover_delta
from dpjax.accounting.cover.guarantee import set_cover_epsilon as set_cover_epsilon
from dpjax.accounting.cover.guarantee import set_cover_guarantee as set_cover_guarantee
from dpjax.accounting.cover.guarantee import set_cover_rho as set_cover_rho
from dpjax.accounting.distance import as_replace_one as as_replace_one
from dpjax.accounting.distance import group as group
from dpjax.accounting.distance import group_delta as group_delta
from dpjax.accounting.events import DiscreteLaplaceNoise as DiscreteLaplaceNoise
from dpjax.accounting.events import ExponentialSelection as ExponentialSelection
from dpjax.accounting.events import GaussianNoise as GaussianNoise
from dpjax.accounting.events import LaplaceNoise as LaplaceNoise
from dpjax.accounting.events import RandomizedResponse as RandomizedResponse
from dpjax.accounting.gaussian import gaussian_delta as gaussian_delta
from dpjax.accounting.gaussian import gaussian_epsilon as gaussian_epsilon
from dpjax.accounting.gaussian import gaussian_guarantee as gaussian_guarantee
from dpjax.accounting.guarantee import Guarantee as Guarantee
from dpjax.accounting.numeric.profile import epsilon_at as epsilon_at
from dpjax.accounting.numeric.profile import hockey_stick as hockey_stick
from dpjax.accounting.optimal_composition import optimal as optimal
from dpjax.accounting.optimal_composition import optimal_delta as optimal_delta
from dpjax.accounting.optimal_composition import optimal_epsilon as optimal_epsilon
from dpjax.accounting.optimal_composition import optimal_epsilon0 as optimal_epsilon0
from dpjax.accounting.slices import slices as slices
from dpjax.accounting.slices import slices_delta as slices_delta
from dpjax.accounting.slices import slices_epsilon as slices_epsilon
from dpjax.accounting.slices import slices_rate as slices_rate
from dpjax.accounting.standard import by_pld as by_pld
from dpjax.accounting.standard import by_rdp as by_rdp
from dpjax.accounting.subsampling import poisson as poisson
from dpjax.accounting.subsampling import poisson_pair as poisson_pair
from dpjax.accounting.subsampling import secrecy_of_the_sample as secrecy_of_the_sample
from dpjax.accounting.subsampling import secrecy_pair as secrecy_pair
from dpjax.accounting.subsampling import special_mass as special_mass
from dpjax.accounting.subsampling import with_replacement as with_replacement
from dpjax.accounting.subsampling import with_replacement_pair as with_replacement_pair
from dpjax.accounting.subsampling import without_replacement as without_replacement
from dpjax.accounting.subsampling import without_replacement_pair as without_replacement_pair
from dpjax.accounting.zcdp import bounded_range_rho as bounded_range_rho
from dpjax.accounting.zcdp import exponential_epsilon0 as exponential_epsilon0
from dpjax.accounting.zcdp import exponential_guarantee as exponential_guarantee
from dpjax.accounting.zcdp import pure_rho as pure_rho
from dpjax.accounting.zcdp import zcdp as zcdp
from dpjax.accounting.zcdp import zcdp_delta as zcdp_delta
from dpjax.accounting.zcdp import zcdp_epsilon as zcdp_epsilon
from dpjax.accounting.zcdp import zcdp_rho as zcdp_rho
from dpjax.core import host as _host

_host.host_functions(globals())
