"""The program of `program` under REPLACE_ONE, solved by a primal-dual method without a matrix.

In the form of `stencil`, for delta = 0, with a weight w for each case and a flow z(T, a, h) in the polar cone of K for
each family (for delta > 0 see `constraints`):

    max over laws p, min over w in a simplex and z:  sum over cases of w <U, p> - <z, A p>,
    A p (T, a, h) = p(T + a, h).

The primal-dual hybrid gradient of Chambolle and Pock takes these steps, with a step size tau(S) of each database and
sigma(T) of each family:

    p <- nearest laws to p + tau (U^T w - A^T z)
    w <- nearest weights to w - sigma_w U (2 p_new - p_old)
    z <- v - (nearest point of K to v),    v = z + sigma A (2 p_new - p_old).

Since A^T sigma A is diagonal, tau is its inverse but for the cases' part. sigma(T) is the mass of a family: a database
has its largest probability in a case, and half of its neighbors' if that is more, so that steps are as large as the
numbers that they change, which span many orders of magnitude. Averages, restarts at the better of average and last
point, and the balance of tau and sigma after each restart are those of PDLP (Applegate et al., 2021).

Both bounds hold at every restart, whatever the point: see `bounds`.
"""

import time
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpjax.attacks.optimum.bounds import collected
from dpjax.attacks.optimum.cases import Case, Goal
from dpjax.attacks.optimum.certificate import whole_weights
from dpjax.attacks.optimum.cones import nearest_law
from dpjax.attacks.optimum.constraints import Approximate, Pure, constraints_of_budget
from dpjax.attacks.optimum.databases import Databases
from dpjax.attacks.optimum.families import FamilyCertificate
from dpjax.attacks.optimum.private_table import private_table
from dpjax.attacks.optimum.program import orbits_of_cases, support
from dpjax.attacks.optimum.stencil import Stencil
from dpjax.attacks.optimum.symmetry import Symmetry

_FIRST, _LONGER, _MOST = 100, 1.3, 1000  # steps until a restart
_OF_CASES = 0.25  # sigma_w
_INHERITED = 0.5
_SMALLEST = 1e-12  # mass
_CASES = 64  # orbits of cases are padded to a multiple


@dataclass(frozen=True)
class SaddlePoint:
    """Where a call ended: bounds over the cases in floating point, and the point that they are from.

    upper: no private learner has a larger worst success. lower: that of the private learner ``learner``.
    flows: those of upper. steps: in all. seconds: in all.
    """

    stencil: Stencil
    upper: float
    lower: float
    laws: np.ndarray
    weights: np.ndarray
    flows: np.ndarray
    steps: int
    seconds: float

    @cached_property
    def learner(self) -> np.ndarray:
        """``float64[databases, h]``."""
        return self.stencil.expanded(self.laws.T)

    def proof(
        self, goal: Goal, databases: Databases, epsilon: float, delta: float, cases: tuple[Case, ...]
    ) -> FamilyCertificate:
        """The weights and flows as whole numbers."""
        flows = self.stencil.of_every_family(self.flows)
        return FamilyCertificate.of(goal, databases.rows, epsilon, delta, cases, whole_weights(self.weights), flows)

    def table(self, databases: Databases, epsilon: float, delta: float) -> np.ndarray:
        """``uint32[databases, h]``: the learner as `private_table`."""
        mean = self.learner.mean(axis=0)
        every = np.array([mean[symmetry.hypotheses] for symmetry in self.stencil.group]).mean(axis=0)
        return private_table(self.laws.T, databases, epsilon, delta, every, self.stencil.expanded)

    @property
    def variables(self) -> int:
        """Probabilities, after symmetry."""
        return self.laws.size

    @property
    def constraints(self) -> int:
        """Two for each probability and family, or one for each pair of them with delta > 0; after symmetry."""
        kinds = len(self.flows)
        return self.flows.size // kinds * (kinds - 1) if self.flows.ndim > 3 else 2 * self.flows.size


class FirstOrder:
    """A solver of one program for growing lists of cases, each call from the point of the last one.

    Args:
      databases, goal, group: of the program, under REPLACE_ONE. factor: e^epsilon. delta: in [0, 1).
      steps: at most so many in one call. seconds: at most so many in all, None for no limit. stencil: the
        constraints, by default all.
    """

    def __init__(
        self,
        databases: Databases,
        goal: Goal,
        group: list[Symmetry],
        factor: float,
        delta: float = 0.0,
        *,
        steps: int = 20_000,
        seconds: float | None = None,
        stencil: Stencil | None = None,
    ):
        self.stencil = stencil or Stencil(databases, group, goal.sizes[0])
        self.goal, self.constraints = goal, constraints_of_budget(factor, delta)
        self.most, self.until = steps, None if seconds is None else time.monotonic() + seconds
        self.tables = jnp.asarray(self.stencil.spread, jnp.int32), jnp.asarray(self.stencil.collect, jnp.int32)
        size, families = len(self.stencil.of_databases.kept), len(self.stencil.of_families.kept)
        h, shape = goal.sizes[0], self.constraints.shape(databases.kinds)
        self.point = jnp.full((h, size), 1 / h, jnp.float32), jnp.zeros((*shape, h, families), jnp.float32)
        self.weight, self.balance, self.begin, self.steps = dict[Case, float](), 1.0, time.perf_counter(), 0

    def solve(self, cases: list[Case], tolerance: float = 1e-3, level: float | None = None) -> SaddlePoint:
        """The best learner for these distinct cases, which are closed under the group.

        It ends when upper - lower is at most ``tolerance``; when upper is below ``level``, or lower above it by the
        tolerance; and after the steps or seconds of this solver.
        """
        alike = orbits_of_cases(self.goal, cases, self.stencil.group)
        utility, real = self._utility(alike)
        padded = -len(alike) % _CASES
        sizes = self.stencil.of_databases.sizes
        never = np.append(np.zeros(len(alike)), np.full(padded, 1e3))
        program = _Program(
            *self.tables,
            self.stencil.present,
            jnp.asarray(np.pad(utility, ((0, padded), (0, 0), (0, 0))), jnp.float32),
            jnp.asarray(real, jnp.int32),
            jnp.asarray(sizes[real], jnp.float32),
            jnp.asarray(never, jnp.float32),
            *self._scales(utility, real),
            self.constraints,
        )
        known = np.array([self.weight.get(some[0], 0.0) for some in alike])
        weights = known / known.sum() if known.any() else np.full(len(alike), 1 / len(alike))
        point = self.point[0], jnp.asarray(np.pad(weights, (0, padded)), jnp.float32), self.point[1]
        best: tuple[Any, Any] = (2.0, None), (-1.0, None)
        length, done = _FIRST, 0
        while True:
            begin = time.monotonic()
            *ends, moves = _run(program, point, jnp.float32(self.balance), jnp.int32(length))
            done += length
            gaps = []
            for end in ends:
                upper, lower = self._upper(end, utility, real), self._lower(end, utility, real)
                best = min(best[0], upper, key=lambda one: one[0]), max(best[1], lower, key=lambda one: one[0])
                gaps.append(upper[0] - lower[0])
            point = ends[int(gaps[1] < gaps[0])]
            primal, dual = np.asarray(moves, float)[int(gaps[1] < gaps[0])]
            if primal > 1e-24 and dual > 1e-24:
                self.balance = float(np.sqrt(self.balance * np.sqrt(dual / primal)))
            seconds = (time.monotonic() - begin) / length
            length = min(int(length * _LONGER), _MOST)
            if self.until is not None:
                length = max(min(length, int((self.until - time.monotonic()) / seconds)), 1)
            (upper, duals), (lower, laws) = best
            decided = level is not None and (upper < level or lower > level + tolerance)
            late = self.until is not None and time.monotonic() > self.until
            if upper - lower <= tolerance or decided or done >= self.most or late:
                break
        self.steps += done
        self.point, weights = (point[0], point[2]), np.asarray(point[1], float)
        self.weight = {some[0]: float(weight) for some, weight in zip(alike, weights, strict=False)}
        shares = {case: weight / len(some) for some, weight in zip(alike, duals[0], strict=True) for case in some}
        head = self.stencil, upper, lower, laws, np.array([shares[case] for case in cases]), duals[1]
        return SaddlePoint(*head, self.steps, time.perf_counter() - self.begin)

    def _utility(self, alike: list[list[Case]]) -> tuple[np.ndarray, np.ndarray]:
        """(``float64[orbits, h, r]``: mean success of a unit of probability; the r databases where there is any)."""
        kept, drawn = self.stencil.of_databases.kept, list[tuple[int, Any, Any, Any]]()
        for number, some in enumerate(alike):
            for case in some:
                places, chances = support(case, self.stencil.databases)
                rows = np.minimum(np.searchsorted(kept, places), len(kept) - 1)
                mine = kept[rows] == places
                drawn.append((number, rows[mine], chances[mine] / len(some), np.array(case.good)))
        real = np.unique(np.concatenate([rows for _, rows, _, _ in drawn]))
        utility = np.zeros((len(alike), self.goal.sizes[0], len(real)))
        for number, rows, chances, good in drawn:
            utility[number][:, np.searchsorted(real, rows)] += chances * good[:, None]
        return utility, real

    def _scales(self, utility: np.ndarray, real: np.ndarray) -> tuple[Any, Any]:
        """(tau, ``float32[databases]``, sigma, ``float32[families]``), for a balance of 1."""
        stencil, databases = self.stencil, len(self.stencil.of_databases.kept)
        mass = np.zeros(databases)
        mass[real] = utility.max(axis=(0, 1))
        members, families = stencil.spread[:, 0] % databases, stencil.collect[:, 0] % len(stencil.of_families.kept)
        inside = stencil.collect[:, 0] < stencil.spread.size
        for _ in range(stencil.databases.rows):
            inherited = np.where(inside, _INHERITED * mass[members].max(axis=0)[families], 0).max(axis=0)
            mass = np.maximum(mass, inherited)
        mass = np.maximum(mass, _SMALLEST * mass.max())
        sigma = np.exp(np.log(mass[members]).mean(axis=0))
        column = np.where(inside, sigma[families], 0).sum(axis=0)
        sums = np.einsum("ohn,n->o", utility, stencil.of_databases.sizes[real])
        column[real] += _OF_CASES * np.einsum("ohn,o->hn", utility, sums).max(axis=0)
        sigma = sigma / self.constraints.norm(stencil.databases.kinds)
        return jnp.asarray(1 / column, jnp.float32), jnp.asarray(sigma, jnp.float32)

    def _upper(self, point: Any, utility: np.ndarray, real: np.ndarray) -> tuple[float, Any]:
        """The bound of the weights and flows of a point, and those that prove it."""
        weights = np.maximum(np.asarray(point[1], float)[: len(utility)], 0)
        weights, flows = weights / weights.sum(), self.constraints.valid(np.asarray(point[2], float))
        value = -collected(self.stencil, self.constraints.given(flows))
        value[:, real] += np.einsum("o,ohn->hn", weights, utility)
        cost = self.constraints.cost(flows, self.stencil.of_families.sizes)
        return float(value.max(axis=0) @ self.stencil.of_databases.sizes) + cost, (weights, flows)

    def _lower(self, point: Any, utility: np.ndarray, real: np.ndarray) -> tuple[float, Any]:
        """The worst success of a private learner close to a point, and its laws."""
        laws = self.constraints.laws(self.stencil, np.asarray(point[0], float))
        success = np.einsum("ohn,hn,n->o", utility, laws[:, real], self.stencil.of_databases.sizes[real])
        return float(success.min()), laws


@partial(
    jax.tree_util.register_dataclass,
    data_fields=["spread", "collect", "present", "utility", "real", "sizes", "never", "tau", "sigma", "privacy"],
    meta_fields=[],
)
@dataclass(frozen=True)
class _Program:
    """What the steps read. never: added to the success of a padded case."""

    spread: Any
    collect: Any
    present: Any
    utility: Any
    real: Any
    sizes: Any
    never: Any
    tau: Any
    sigma: Any
    privacy: Pure | Approximate

    def step(self, point: Any, balance: Any) -> Any:
        """One step from (p, w, z)."""
        laws, weights, flows = point
        flat = jnp.append(self.privacy.given(flows).ravel(), jnp.float32(0))
        slope = -reduce(jnp.add, [flat[places] for places in self.collect])
        slope = slope.at[:, self.real].add(jnp.einsum("o,ohn->hn", weights, self.utility))
        new = nearest_law(laws + self.tau / balance * slope)
        ahead = 2 * new - laws
        success = jnp.einsum("ohn,hn,n->o", self.utility, ahead[:, self.real], self.sizes) + self.never
        members = ahead.ravel()[self.spread]
        return (
            new,
            nearest_law(weights - balance * _OF_CASES * success),
            self.privacy.step(flows, balance * self.sigma, members, self.present),
        )


@jax.jit
def _run(program: _Program, point: Any, balance: Any, length: Any) -> Any:
    """(The last point, the average, squared moves ``float32[2, 2]``: of each, of the laws and of the multipliers)."""

    def body(_: Any, carry: Any) -> Any:
        last, total = carry
        last = program.step(last, balance)
        return last, jax.tree.map(jnp.add, total, last)

    zero = jax.tree.map(jnp.zeros_like, point)
    last, total = jax.lax.fori_loop(0, length, body, (point, zero))
    average = jax.tree.map(lambda part: part / length.astype(jnp.float32), total)

    def moved(end: Any) -> Any:
        laws, weights, flows = jax.tree.map(lambda one, other: (one - other) ** 2, end, point)
        dual = jnp.sum(weights) / _OF_CASES + jnp.sum(flows / program.sigma)
        return jnp.stack([jnp.sum(laws / program.tau), dual])

    return last, average, jnp.stack([moved(last), moved(average)])
