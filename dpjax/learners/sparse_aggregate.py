"""A private learner from lists: one list for each batch of rows, and a private choice among the names on them."""

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.accounting.guarantee import Guarantee
from dpjax.concepts.base import ConceptClass
from dpjax.concepts.hypothesis import Hypothesis
from dpjax.core import checks, keys
from dpjax.core.checks import InputError, NoTheoremError
from dpjax.core.host_calls import host_call
from dpjax.core.plans import (
    STATIC,
    Count,
    Positive,
    Probability,
    Spends,
    bucket,
    down,
    least_in_bucket,
    plan_type,
    whole,
)
from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample
from dpjax.laws import Uniform
from dpjax.learners.base import Learner
from dpjax.learners.samples import single_column
from dpjax.lists.base import Cells, ListPlan, Lists, require_lists
from dpjax.lists.on_host import Listing, Name, NamesOn
from dpjax.mechanisms.sparse_selection import selection_by_count, sparse_selection, sparse_selection_guarantee

MOST_COUNTS = 1 << 28


@plan_type
class SparseAggregatePlan:
    """lists: the plan of the lists. epsilon, delta: of the selection. batches ``int32[]``, between least and most,
    which are static."""

    lists: Any
    epsilon: Positive
    delta: Probability
    batches: Count
    least: int = field(metadata=STATIC)
    most: int = field(metadata=STATIC)


@dataclass(frozen=True)
class SparseAggregate(Learner):
    """Row i belongs to batch i mod m; each batch makes a list of functions; a name on many lists is selected.

    Args:
      lists: a `Lists`, such as `GloballyStable` or `Irreducibility`; one from outside is as good.
      batches: m >= 1; by default what the theorem of the lists asks for.

    Privacy: (epsilon, delta), replace-one, for every sample and whatever the lists are: a row changes one list. As
      everywhere that is about outputs: the time and the memory that lists on the host take depend on the rows.
    Utility: that of the lists, from batches x rows on. Improper. Without a name that is on enough lists it abstains:
      the zero function with outcome -1.
    Reference: Bun, Livni, Moran 2020, Theorem 3 (lists of one); Ghazi, Golowich, Kumar, Manurangsi 2021.
    """

    lists: Lists
    batches: int | None = None
    spends: ClassVar[Spends] = "approximate"

    def __post_init__(self):
        require_lists(self.lists)
        checks.whole_or_none("batches", self.batches, 1, 2**24)

    @property
    def concepts(self) -> ConceptClass:
        """The class of the lists."""
        return self.lists.concepts

    @property
    def neighboring(self) -> Neighboring:
        """REPLACE_ONE: rows are assigned to batches by their position."""
        return Neighboring.REPLACE_ONE

    def _plan(self, privacy: Privacy, accuracy: Accuracy, n: int | None = None) -> SparseAggregatePlan:
        """All of the budget for the selection. InputError if delta is 0, or if the counts would not fit in memory."""
        privacy = _spent(privacy)
        inner = self.lists.plan(accuracy)
        checks.instance("plan of the lists", inner, ListPlan, "inherit from dpjax.lists.ListPlan")
        checks.integer("length of the lists' plan", inner.length, 1)
        _check_ends(inner.ends)
        m = self.lists.batches(privacy, accuracy) if self.batches is None else self.batches
        least, most = (least_in_bucket(m), bucket(m)) if m <= 2**24 else (m, m)
        size = f"{m} batches"
        cells = self.lists.cells or -(-(n or 1) // least)
        listed = inner.length * self.lists.words if self.lists.listing(inner) is None else 0
        if (entries := most * max(2 * len(inner.ends) * cells, listed)) > MOST_COUNTS:
            with suppress(NoTheoremError):  # lists without a theorem say nothing about rows
                rows = self.lists.rows(accuracy)
                size = f"n = {m * rows:.3g} rows: {m} batches of {rows}"
            expected = f"a plan with at most 2^28 = {MOST_COUNTS} counts and names"
            advice = "give fewer batches (no theorem then says how accurate it is), or take a smaller class or KLN"
            raise InputError("accuracy", expected, f"{size}, {4 * entries / 2**30:.3g} GiB of counts and names", advice)
        return SparseAggregatePlan(inner, down(privacy.epsilon), down(privacy.delta), whole(m), least, most)

    def _learn(self, key: Array, sample: Sample, plan: SparseAggregatePlan) -> Hypothesis:
        """One function on the domain."""
        return self.select(key, self.cells(sample, plan), plan)

    def cells(self, sample: Sample, plan: SparseAggregatePlan) -> Cells:
        """The rows of each batch and part by element and label, counts ``int32[most, parts, c, 2]``.

        c is ``lists.cells``; if that is None, the elements are those of each batch, ``uint32[most, c, limbs]``, for the
        c rows that the largest batch may have. InputError if the counts would not fit in memory.
        """
        m, parts, capacity = jnp.clip(plan.batches, plan.least, plan.most), len(plan.lists.ends), sample.capacity
        index = jnp.arange(capacity, dtype=jnp.int32)
        batch, place = index % m, index // m
        most_rows = jnp.maximum(plan.lists.most_rows, 1)
        rows = jnp.minimum((sample.size - batch + m - 1) // m, most_rows)
        with jax.enable_x64(True):  # products of two whole numbers below 2^31
            ends, number = (jnp.asarray(value).astype(jnp.int64) for value in (plan.lists.ends, place))
            beyond = number[:, None] * ends[-1] >= ends * rows[:, None].astype(jnp.int64)
            part = jnp.sum(beyond, axis=1, dtype=jnp.int32)
        width = -(-capacity // plan.least) if self.lists.cells is None else self.lists.cells
        if (entries := 2 * plan.most * parts * width) > MOST_COUNTS:
            expected = f"rows with at most 2^28 = {MOST_COUNTS} counts"
            advice = "give fewer batches, or count the rows: `select`"
            raise InputError("sample", expected, f"{capacity} rows, {plan.most} batches: {entries:.3g}", advice)
        label, mask = single_column(sample, "SparseAggregate").astype(jnp.int32), sample.mask & (place < most_rows)
        empty = jnp.zeros((plan.most + 1, parts, width, 2), jnp.int32)  # see `Finite.pieces`
        if self.lists.cells is None:
            elements, cell, order = _elements(sample.x, mask, batch, place, plan.most, width)
            batch, part, label, mask = (jnp.pad(each, (0, 1))[order] for each in (batch, part, label, mask))
        else:
            elements = jnp.arange(width, dtype=jnp.uint32)[:, None]
            cell = jnp.minimum(sample.x[:, 0], jnp.uint32(width - 1)).astype(jnp.int32)
        counts = empty.at[batch, part, cell, label].add(mask.astype(jnp.int32), mode="drop")
        return Cells(elements, counts[: plan.most])

    def select(self, key: Array, cells: Cells, plan: SparseAggregatePlan) -> Hypothesis:
        """The hypothesis for the rows of all batches: elements, ascending, of each batch ``uint32[most, c, limbs]``, or
        in common ``uint32[c, limbs]``, and counts ``int32[most, parts, c, 2]``.

        That is all that a learner reads of a sample, so simulations of many rows may draw counts.
        """
        of_lists, of_choice = keys.streams(key, "lists", "choice")
        batch_keys = keys.per_index(of_lists, plan.most)
        elements = jnp.broadcast_to(cells.elements, (plan.most, *cells.elements.shape[-2:]))
        cells = Cells(elements, cells.counts)
        if self.lists.cells is None:  # a list must not depend on other batches, nor on their elements
            cells = jax.vmap(_compact)(cells)
        if listing := self.lists.listing(plan.lists):
            _check_length(listing[0].length, plan)
            return self.lists.hypothesis(*_on_host(of_choice, cells, plan, *listing))
        names, filled = jax.vmap(self.lists.names, (0, 0, None))(batch_keys, cells, plan.lists)
        _check_length(names.shape[1], plan)
        filled &= jnp.arange(plan.most, dtype=jnp.int32)[:, None] < plan.batches
        law, tallied = sparse_selection(names, filled, plan.epsilon, plan.delta)
        slot = law.sample(of_choice)
        name = jnp.where(slot < 0, jnp.uint32(0), tallied.names[jnp.maximum(slot, 0)])
        return self.lists.hypothesis(name, jnp.minimum(slot, 0))

    def _guarantee(self, plan: SparseAggregatePlan) -> Guarantee:
        """One sparse selection."""
        _check_ends(plan.lists.ends)
        return sparse_selection_guarantee(float(plan.epsilon), float(plan.delta), plan.lists.length)

    def _sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """Batches times rows of a batch; NoTheoremError for fewer batches than the theorem's."""
        need = self.lists.batches(_spent(privacy), accuracy)
        if self.batches is not None and self.batches < need:
            least = f"at least the theorem's {need}"
            raise NoTheoremError("batches", least, str(self.batches), "leave them to the planner, or search for n")
        return (need if self.batches is None else self.batches) * self.lists.rows(accuracy)


def _check_length(length: int, plan: SparseAggregatePlan) -> None:
    if length != plan.lists.length:
        expected = f"{plan.lists.length} entries, the plan's length"
        raise InputError("names of the lists", expected, f"{length} entries", "let lists be as long as their plan says")


def _on_host(key: Array, cells: Cells, plan: Any, listing: Listing, numbers: tuple[Any, ...]) -> tuple[Array, Array]:
    """The name of `sparse_selection`, or zeros, and its outcome, for lists that stay on the host: first on how many
    lists it is, then one of those names."""
    of_lists, of_place = jax.random.split(key)
    batches = *cells, jnp.asarray(plan.batches, jnp.int32), *numbers
    (names_on,) = host_call(NamesOn(listing), (jax.ShapeDtypeStruct((plan.most + 1,), np.int32),), *batches)
    lists = selection_by_count(names_on, plan.epsilon, plan.delta, listing.length).sample(of_lists)
    most = min(plan.most * listing.length, 2**31 - 1)
    place = Uniform(names_on[jnp.maximum(lists, 0)], most).sample(of_place)
    shape = (jax.ShapeDtypeStruct((listing.words,), np.uint32),)
    (name,) = host_call(Name(listing), shape, jnp.maximum(lists, 0), place, *batches)
    return name, jnp.minimum(lists, 0)


def _spent(privacy: Privacy) -> Privacy:
    """What a plan spends of a budget. InputError if that has no delta."""
    epsilon, delta = float(down(float(privacy.epsilon))), float(down(float(privacy.delta)))
    if privacy.delta and not delta:
        raise InputError("delta", "at least 1e-45, or 0", f"{privacy.delta}", "give a larger one")
    checks.delta(delta, positive_for="SparseAggregate")
    return Privacy(epsilon, delta)


def _elements(x: Array, mask: Array, batch: Array, place: Array, most: int, width: int) -> tuple[Array, Array, Array]:
    """(The elements of each batch ``uint32[most, width, limbs]``, ascending, then zeros; the cell and the number of
    each row, ``int32[most, width]``: n for none.)"""
    n, limbs = x.shape
    numbers = jnp.where(mask, jnp.arange(n, dtype=jnp.int32), n)
    numbers = jnp.full((most + 1, width), n, jnp.int32).at[batch, place].set(numbers)[:most]
    limb = jnp.moveaxis(jnp.pad(x, ((0, 1), (0, 0)))[numbers], 2, 0)
    none, *columns, order = jax.lax.sort((numbers == n, *limb, numbers), dimension=1, num_keys=1 + limbs)
    rows = jnp.stack(columns, axis=2)
    starts = jnp.any(rows[:, 1:] != rows[:, :-1], axis=2)
    cell = jnp.pad(jnp.cumsum(starts, axis=1, dtype=jnp.int32), ((0, 0), (1, 0)))
    of_batch = jnp.arange(most, dtype=jnp.int32)[:, None]
    return jnp.zeros_like(rows).at[of_batch, jnp.where(none, width, cell)].set(rows, mode="drop"), cell, order


def _compact(cells: Cells) -> Cells:
    """The cells of one batch: those that have rows of it come first."""
    some = jnp.any(cells.counts > 0, axis=(0, 2))
    order = jnp.argsort(~some, stable=True)
    return Cells(jnp.where(some[:, None], cells.elements, jnp.uint32(0))[order], cells.counts[:, order])


def _check_ends(leaf: Any) -> None:
    ends = np.asarray(leaf)
    if ends.ndim != 1 or not len(ends) or ends[0] < 0 or ends[-1] <= 0 or np.any(np.diff(ends) < 0):
        raise InputError("plan of the lists", "ends of parts, ascending", f"{ends}", "give where each part ends")
