"""Standard mechanisms for the numerical accountants: an event, Renyi divergences, a privacy-loss law.

Sensitivity is defined **under the stated relation**: the largest distance between the two neighbors' answers.
dp_accounting normalizes its events to add/remove-one and doubles some of them, but not all, under REPLACE_ONE. Events
made here are already normalized and must be given to its accountants under ADD_OR_REMOVE_ONE, except
randomized response, which exists only under REPLACE_ONE.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import logsumexp

from dpjax.accounting.gaussian import gaussian_guarantee
from dpjax.accounting.guarantee import Guarantee
from dpjax.accounting.numeric.loss_grid import LossGrid, grid_of_atoms, grid_of_gaussian, grid_of_laplace
from dpjax.accounting.numeric.ranges import positive
from dpjax.accounting.zcdp import bounded_range_rho, exponential_guarantee, pure_rho
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.types import Neighboring

if TYPE_CHECKING:  # takes two seconds to import, needed only to compose events
    from dp_accounting import dp_event

Atoms = tuple[np.ndarray, np.ndarray]


class Event(ABC):
    """One run of a mechanism."""

    neighboring: Neighboring

    @abstractmethod
    def event(self) -> "dp_event.DpEvent":
        """The dp_accounting event, normalized so that its sensitivity is 1 under add/remove-one."""

    @abstractmethod
    def guarantee(self, delta: float) -> Guarantee:
        """The guarantee of a single run; only the Gaussian mechanism uses ``delta``."""

    def rdp(self, orders: np.ndarray) -> np.ndarray:
        """Renyi divergences of the worst pair of neighbors, ``float64[m]``, at ``orders`` > 1."""
        from dp_accounting import privacy_accountant, rdp

        accountant = rdp.RdpAccountant(list(orders), privacy_accountant.NeighboringRelation.ADD_OR_REMOVE_ONE)
        accountant.compose(self.event())
        return np.maximum(accountant.rdp, 0.0)

    @property
    @abstractmethod
    def loss_scale(self) -> float:
        """The size of one run's privacy loss: its pure epsilon, or the standard deviation of a Gaussian loss."""

    @abstractmethod
    def losses(self, step: float, rounds: int, floor: float) -> tuple[LossGrid, int]:
        """The privacy-loss law, equal in both directions, and how often to compose it for ``rounds`` runs."""


@dataclass(frozen=True)
class LaplaceNoise(Event):
    """Laplace noise of ``scale`` > 0 on a query of l1 ``sensitivity`` > 0 under ``neighboring``."""

    scale: float
    sensitivity: float = 1.0
    neighboring: Neighboring = Neighboring.REPLACE_ONE

    def __post_init__(self):
        positive("sensitivity / scale", positive("sensitivity", self.sensitivity) / positive("scale", self.scale))

    @property
    def epsilon(self) -> float:
        """The pure privacy of one run."""
        return self.sensitivity / self.scale

    def event(self) -> "dp_event.DpEvent":
        """See ``Event``."""
        from dp_accounting import dp_event

        return dp_event.LaplaceDpEvent(1 / self.epsilon)

    def guarantee(self, delta: float) -> Guarantee:
        """Privacy: (sensitivity / scale, 0)."""
        return _pure(self, "Laplace mechanism")

    @property
    def loss_scale(self) -> float:
        """See ``Event``."""
        return self.epsilon

    def losses(self, step: float, rounds: int, floor: float) -> tuple[LossGrid, int]:
        """See ``Event``."""
        return grid_of_laplace(self.epsilon, step), rounds


@dataclass(frozen=True)
class GaussianNoise(Event):
    """Gaussian noise of standard deviation ``sigma`` > 0 on a query of l2 ``sensitivity`` > 0 under ``neighboring``."""

    sigma: float
    sensitivity: float = 1.0
    neighboring: Neighboring = Neighboring.REPLACE_ONE

    def __post_init__(self):
        positive("sensitivity / sigma", positive("sensitivity", self.sensitivity) / positive("sigma", self.sigma))

    @property
    def shift(self) -> float:
        """The distance of the two means in units of sigma."""
        return self.sensitivity / self.sigma

    def event(self) -> "dp_event.DpEvent":
        """See ``Event``."""
        from dp_accounting import dp_event

        return dp_event.GaussianDpEvent(1 / self.shift)

    def guarantee(self, delta: float) -> Guarantee:
        """Privacy: (gaussian_epsilon(sensitivity / sigma, delta), delta)."""
        return gaussian_guarantee([self.sigma], self.sensitivity, delta, self.neighboring)

    @property
    def loss_scale(self) -> float:
        """See ``Event``."""
        return self.shift

    def losses(self, step: float, rounds: int, floor: float) -> tuple[LossGrid, int]:
        """See ``Event``; all runs together are one run with a larger shift."""
        return grid_of_gaussian(self.shift * math.sqrt(rounds), step, floor), 1


class _Atoms(Event):
    """An event whose privacy loss takes finitely many values, the same law in both directions."""

    @abstractmethod
    def atoms(self) -> Atoms:
        """The privacy losses and their log-masses under P, ``(float64[m], float64[m])``."""

    @property
    def loss_scale(self) -> float:
        return float(np.max(self.atoms()[0]))

    def rdp(self, orders: np.ndarray) -> np.ndarray:
        loss, log_mass = self.atoms()
        order = np.asarray(orders, np.float64)[:, None]
        return np.maximum(logsumexp(log_mass + (order - 1) * loss, axis=1), 0.0) / (order[:, 0] - 1)

    def losses(self, step: float, rounds: int, floor: float) -> tuple[LossGrid, int]:
        loss, log_mass = self.atoms()
        return grid_of_atoms(log_mass, loss, step), rounds


@dataclass(frozen=True)
class DiscreteLaplaceNoise(_Atoms):
    """Two-sided geometric noise, P(z) ~ exp(-|z| / scale), on an integer query of ``sensitivity`` >= 1."""

    scale: float
    sensitivity: int = 1
    neighboring: Neighboring = Neighboring.REPLACE_ONE

    def __post_init__(self):
        checks.integer("sensitivity", self.sensitivity, 1, 1 << 24)  # the loss takes as many values
        positive("sensitivity / scale", self.sensitivity / positive("scale", self.scale))

    @property
    def epsilon(self) -> float:
        """The pure privacy of one run."""
        return self.sensitivity / self.scale

    def event(self) -> "dp_event.DpEvent":
        """See ``Event``."""
        from dp_accounting import dp_event

        return dp_event.DiscreteLaplaceDpEvent(1 / self.scale, self.sensitivity)

    def guarantee(self, delta: float) -> Guarantee:
        """Privacy: (sensitivity / scale, 0)."""
        return _pure(self, "discrete Laplace mechanism", contract="lattice")

    def atoms(self) -> Atoms:
        """See ``_Atoms``."""
        rate = self.epsilon / self.sensitivity
        log_tail = -math.log1p(math.exp(-rate))
        inside = np.arange(1, self.sensitivity, dtype=np.float64)
        log_centre = math.log(math.tanh(rate / 2))
        log_mass = np.concatenate([[log_tail], log_centre - rate * inside, [log_tail - self.epsilon]])
        return np.concatenate([[self.epsilon], self.epsilon - 2 * rate * inside, [-self.epsilon]]), log_mass


@dataclass(frozen=True)
class RandomizedResponse(_Atoms):
    """Each row reports one of ``outcomes`` >= 2 values; the true one is e^epsilon times more likely than any other.

    REPLACE_ONE only: under ADD_OR_REMOVE_ONE the number of reports reveals the row.
    """

    epsilon: float
    outcomes: int = 2
    neighboring: Neighboring = Neighboring.REPLACE_ONE

    def __post_init__(self):
        positive("epsilon", self.epsilon)
        checks.integer("outcomes", self.outcomes, 2)
        if self.neighboring is not Neighboring.REPLACE_ONE:
            advice = "the number of reports changes with the number of rows"
            raise InputError("neighboring", "REPLACE_ONE for randomized response", str(self.neighboring), advice)

    def event(self) -> "dp_event.DpEvent":
        """The dp_accounting event; its accountants take it under REPLACE_ONE."""
        from dp_accounting import dp_event

        noise = self.outcomes / (math.exp(self.epsilon) + self.outcomes - 1)
        return dp_event.RandomizedResponseDpEvent(noise, self.outcomes)

    def guarantee(self, delta: float) -> Guarantee:
        """Privacy: (epsilon, 0)."""
        return _pure(self, "randomized response", contract="lattice")

    def atoms(self) -> Atoms:
        """See ``_Atoms``."""
        log_truth = -math.log1p((self.outcomes - 1) * math.exp(-self.epsilon))
        loss, log_mass = [self.epsilon, -self.epsilon], [log_truth, log_truth - self.epsilon]
        if self.outcomes > 2:
            log_mass.append(log_truth - self.epsilon + math.log(self.outcomes - 2))
            loss.append(0.0)
        return np.array(loss), np.array(log_mass)


@dataclass(frozen=True)
class ExponentialSelection(_Atoms):
    """The exponential mechanism at ``epsilon`` > 0.

    Its Renyi divergence is bounded by epsilon^2/8-zCDP, its loss law by that of any epsilon-private mechanism.
    """

    epsilon: float
    neighboring: Neighboring = Neighboring.REPLACE_ONE

    def __post_init__(self):
        checks.epsilon(self.epsilon)

    def event(self) -> "dp_event.DpEvent":
        """The dp_accounting event for it if the installed version has one, otherwise the zCDP event."""
        from dp_accounting import dp_event

        if hasattr(dp_event, "ExponentialMechanismDpEvent"):
            return dp_event.ExponentialMechanismDpEvent(epsilon=self.epsilon)
        return dp_event.ZCDpEvent(rho=bounded_range_rho(self.epsilon), xi=0.0)

    def guarantee(self, delta: float) -> Guarantee:
        """Privacy: (epsilon, 0), epsilon-bounded-range."""
        return exponential_guarantee(self.epsilon, neighboring=self.neighboring)

    def rdp(self, orders: np.ndarray) -> np.ndarray:
        """See ``Event``."""
        return np.minimum(super().rdp(orders), bounded_range_rho(self.epsilon) * np.asarray(orders))

    def atoms(self) -> Atoms:
        """See ``_Atoms``."""
        return RandomizedResponse(self.epsilon).atoms()


def _pure(event, what: str, contract: str = "ideal") -> Guarantee:
    return Guarantee(event.epsilon, 0.0, event.neighboring, what, rho=pure_rho(event.epsilon), contract=contract)
