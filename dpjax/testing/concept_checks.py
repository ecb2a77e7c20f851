"""Checks of a concept class: shapes, targets, and errors that agree with draws from the distribution."""

from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.stats import binom

from dpjax.concepts import Domain, Hypothesis
from dpjax.concepts.base import ConceptClass, require_class
from dpjax.concepts.domain import FiniteDomain
from dpjax.core import wide
from dpjax.core.checks import InputError
from dpjax.core.members import implements
from dpjax.experiments.sweep.task import Task
from dpjax.testing.faces import require_frozen
from dpjax.testing.findings import Skipped, require, short
from dpjax.testing.samples import Samples, few_elements, targets_of, task_for, with_domain
from dpjax.testing.success import FALSE_ALARM

_TARGETS = 12
_DRAWS = 1 << 14
_MOST_LISTED = 1 << 14
_SMALL = 16


class ConceptsUnderTest:
    """A class and the shared data of its checks. task: defines the errors, by default one over the class's domain."""

    def __init__(self, concepts: Any, task: Task | None = None, quick: bool = False):
        require_class(concepts)
        self.concepts, self.given_task, self.quick = concepts, task, quick

    @cached_property
    def task(self) -> Task:
        """The given task, or one for the class."""
        return self.given_task or task_for(self.concepts)

    @cached_property
    def targets(self) -> np.ndarray:
        """A few encoded concepts without duplicates, ``uint32[c, limbs]``."""
        codes = np.asarray(targets_of(self.concepts, few_elements(self.concepts.domain, 8), 64))
        first = np.sort(np.unique(codes, axis=0, return_index=True)[1])
        return codes[first][:_TARGETS]

    @cached_property
    def hypotheses(self) -> Hypothesis:
        """The targets, followed by the all-zero function."""
        padded = jnp.asarray(np.concatenate([self.targets, np.zeros_like(self.targets[:1])]))
        zero = jnp.arange(len(padded)) == len(self.targets)
        return Hypothesis(padded, zero, jnp.zeros(len(padded), jnp.int32))

    @cached_property
    def masses(self) -> np.ndarray:
        """Masses of the disagreement of all pairs of `hypotheses`, ``uint64[c, c]``, in units of the task."""
        every, count = self.hypotheses, len(self.targets) + 1

        @jax.jit
        def table(task: Task, every: Hypothesis) -> Any:
            def row(i: Any) -> Any:
                copies = jax.tree.map(lambda part: jnp.broadcast_to(part[i], part.shape), every)
                return task.mass(copies, every)

            with jax.enable_x64(True):
                return jax.lax.map(row, jnp.arange(count, dtype=jnp.int32))

        with jax.enable_x64(True):
            masses, valid = table(self.task, every)
        advice = "return uint64 masses in units of the distribution, or floats in [0, 1]"
        require(bool(np.all(valid)), "errors in [0, 1]", "others", advice)
        return np.asarray(masses)


def it_has_the_members_of_a_class(subject: ConceptsUnderTest) -> None:
    """A domain and a size."""
    concepts, domain = subject.concepts, subject.concepts.domain
    advice = "use dpjax.Domain(size), or inherit from dpjax.concepts.FiniteDomain"
    require(isinstance(domain, FiniteDomain), "a domain", short(domain), advice)
    whole = isinstance(concepts.size, int) and concepts.size >= 1
    require(whole, "size, a whole number >= 1", short(concepts.size), "count its concepts")


def it_is_a_frozen_value(subject: ConceptsUnderTest) -> None:
    """A frozen dataclass, hashable, equal to a copy of itself."""
    require_frozen(subject.concepts)


def elements_are_encoded_and_decoded(subject: ConceptsUnderTest) -> None:
    """``uint32[n, limbs]``, injective, inverted by decode; invalid elements are refused."""
    domain = subject.concepts.domain
    values = few_elements(domain, 8)
    codes = np.asarray(domain.encode(values))
    expected = f"uint32[{len(values)}, {domain.limbs}]"
    ok = (codes.shape, codes.dtype) == ((len(values), domain.limbs), np.uint32)
    require(ok, expected, f"{codes.dtype}{list(codes.shape)}", "encode to limbs, most significant first")
    different = len(np.unique(codes, axis=0))
    require(different == len(values), f"{len(values)} different codes", different, "encode without loss")
    if implements(domain, FiniteDomain.decode):
        back = np.asarray(domain.decode(codes))
        if back.shape == (len(values),):  # of a plane: coordinates
            numbers = [int(v) for v in back]
            require(numbers == values, f"{values} back", numbers, "make decode the inverse of encode")
    try:
        domain.encode([domain.size])
    except InputError:
        return
    require(False, f"an InputError for the element {domain.size}", "a code", "refuse elements outside of the domain")


def targets_are_encoded_concepts(subject: ConceptsUnderTest) -> str:
    """``uint32[c, limbs]``, at most the requested number, the same in every call."""
    for count in (1, 5, 64):
        targets = np.asarray(subject.concepts.targets(count))
        ok = targets.ndim == 2 and targets.dtype == np.uint32 and 1 <= len(targets) <= count
        advice = "encode numbers by dpjax.core.wide.encode(numbers)"
        require(ok, f"uint32[c, limbs], 1 <= c <= {count}", f"{targets.dtype}{list(targets.shape)}", advice)
        again = np.asarray(subject.concepts.targets(count))
        require(np.array_equal(targets, again), "the same targets again", "others", "draw nothing in targets")
    return f"{len(targets)} of 64"


def labels_are_columns(subject: ConceptsUnderTest) -> None:
    """``bool[n, k]`` of n elements and k hypotheses, equal one by one and together; False for the all-zero function."""
    concepts, every = subject.concepts, subject.hypotheses
    count = len(subject.targets)
    x = jnp.asarray(concepts.domain.encode(few_elements(concepts.domain, 8)))
    labels = np.asarray(jax.jit(concepts.predict)(every, x))
    expected = f"bool[{len(x)}, {count + 1}]"
    ok = (labels.shape, labels.dtype) == ((len(x), count + 1), np.bool_)
    require(ok, expected, f"{labels.dtype}{list(labels.shape)}", "put the concepts' axis last")
    advice = "return ... & ~hypothesis.zero"
    require(not labels[:, -1].any(), "False everywhere where hypothesis.zero", "True", advice)
    first = jax.tree.map(lambda part: part[:1], every)
    alone = np.asarray(jax.jit(concepts.predict)(first, x))
    advice = "label each column by its own concept only"
    require(np.array_equal(alone, labels[:, :1]), "the same labels for one concept alone", "others", advice)


def hypotheses_are_sentences(subject: ConceptsUnderTest) -> str:
    """A description for each hypothesis."""
    words = subject.concepts.describe(jax.tree.map(np.asarray, subject.hypotheses))
    count = len(subject.targets) + 1
    ok = isinstance(words, list) and len(words) == count and all(isinstance(text, str) and text for text in words)
    require(ok, f"a list of {count} sentences", short(words), "see dpjax.concepts.hypothesis.sentences")
    return f"for example: {words[0]}"


def errors_are_a_pseudometric(subject: ConceptsUnderTest) -> str:
    """Zero to itself, symmetric, at most the total, and with the triangle inequality."""
    mass = subject.masses.astype(object)
    total, count = subject.task.total, len(mass)
    at = lambda i: "the all-zero function" if i == count - 1 else f"target {i}"  # noqa: E731
    for i in range(count):
        require(mass[i, i] == 0, "error 0 to itself", f"{mass[i, i]} of {at(i)}", "count disagreement only")
    for i, j in np.argwhere(mass != mass.T)[:1]:
        errors = f"{mass[i, j]} and {mass[j, i]} for {at(i)} and {at(j)}"
        require(False, "a symmetric error", errors, "take the mass on which the two disagree")
    most = int(np.max(mass))
    require(most <= total, f"errors of at most the total {total}", most, "count in units of the distribution")
    slack = 0 if total < 2**53 else 1 << 12  # for classes with errors in floating point
    for i in range(count):
        detour = mass[:, i][:, None] + mass[i][None]
        for a, b in np.argwhere(mass > detour + slack)[:1]:
            errors = f"{mass[a, b]} from {at(a)} to {at(b)}, {detour[a, b]} by {at(i)}"
            require(False, "the triangle inequality", errors, "take the mass on which the two disagree")
    return f"{count} hypotheses, largest error {most / total:.3g}"


def errors_are_those_of_draws(subject: ConceptsUnderTest) -> str:
    """The fraction of drawn elements on which two hypotheses differ, by exact two-sided tests over all pairs.

    A correct class fails with probability at most 1e-6.
    """
    draws = _DRAWS >> (2 if subject.quick else 0)
    task, every = subject.task, subject.hypotheses
    seed = jax.random.key(1)
    x = jax.jit(lambda task: task.distribution.draw(seed, draws))(task)
    labels = np.asarray(jax.jit(subject.concepts.predict)(every, x)).astype(np.int64)
    both, ones = labels.T @ labels, labels.sum(axis=0)
    seen = ones[:, None] + ones[None] - 2 * both
    share = np.clip(subject.masses.astype(np.float64) / task.total, 0, 1)
    each = np.minimum(binom.cdf(seen, draws, share), binom.sf(seen - 1, draws, share))
    pairs = np.triu(np.ones_like(each, bool), 1)
    i, j = np.unravel_index(np.argmin(np.where(pairs, each, 2)), each.shape)
    p_value = min(1.0, 2 * pairs.sum() * each[i, j])
    actual = f"{share[i, j]:.6g} where {seen[i, j]} of {draws} draws differ (hypotheses {i} and {j})"
    advice = "let error be the mass of the elements on which predict differs"
    require(p_value >= FALSE_ALARM, "the error of the draws", actual, advice)
    return f"{int(pairs.sum())} pairs, {draws} draws, p-value {p_value:.2g}"


def pieces_are_the_errors_of_all_concepts(subject: ConceptsUnderTest) -> str:
    """Each concept is in one piece, whose error is the concept's number of errors; padding is ignored."""
    concepts, where = subject.concepts, ""
    if not implements(concepts, ConceptClass.pieces):
        raise Skipped("the class has no pieces: KLN cannot learn it")
    if concepts.size > _MOST_LISTED and (small := with_domain(concepts, Domain(_SMALL))) is not None:
        concepts, where = small, f", over a domain of {_SMALL} elements"
    if concepts.size > _MOST_LISTED:
        raise Skipped(f"{concepts.size} concepts are too many to list: check one over a smaller domain")
    errors_of = jax.jit(lambda numbers, x, y, mask: _errors(concepts, numbers, x, y, mask))
    pieces_of = jax.jit(concepts.pieces)
    advice = "count the masked rows on which each concept and the label differ"
    for n, garbage in ((0, True), (1, False), (12, False), (12, True), (16, True)):
        sample = Samples(concepts, 1).draw(n, 16, seed=n, realizable=False, garbage=garbage)
        pieces = jax.tree.map(np.asarray, pieces_of(sample.x, sample.y[:, 0], sample.mask))
        numbers, told = _listed(pieces)
        rows = f" of {n} rows" + ", garbage in the padding" * garbage
        different = len(np.unique(numbers))
        actual = f"{different} different ones in pieces of {len(numbers)}{rows}"
        ok = different == len(numbers) <= concepts.size
        require(ok, f"at most {concepts.size} concepts, each in one piece", actual, "make the pieces a partition")
        missing = np.setdiff1d(wide.decode(np.asarray(concepts.targets(64))), numbers)
        actual = f"none with target {missing[:1]}{rows}"
        require(not len(missing), "each target in a piece", actual, "list all concepts")
        true = np.asarray(errors_of(jnp.asarray(wide.encode(numbers)), sample.x, sample.y[:, 0], sample.mask))
        wrong = np.flatnonzero(told != true)[:1]
        actual = f"{told[wrong]} in place of {true[wrong]} for concept {numbers[wrong]}{rows}"
        require(not len(wrong), "the number of rows on which a concept errs", actual, advice)
    return f"{len(numbers)} concepts{where}"


def _listed(pieces: Any) -> tuple[np.ndarray, np.ndarray]:
    """All concepts of pieces, ``uint64[c]``, and their stated errors, ``int64[c]``."""
    first, last = wide.decode(pieces.first), wide.decode(pieces.last)
    holes = [] if pieces.hole is None else wide.decode(pieces.holes)[pieces.hole]
    numbers, told = [np.zeros(0, np.uint64)], [np.zeros(0, np.int64)]
    for at in np.flatnonzero(pieces.alive):
        require(last[at] - first[at] < _MOST_LISTED, "pieces of the class's own concepts", "a larger one", "end it")
        inside = first[at] + np.arange(int(last[at] - first[at]) + 1, dtype=np.uint64)
        if at == len(first) - 1:
            inside = np.setdiff1d(inside, holes)
        numbers.append(inside)
        told.append(np.full(len(inside), pieces.errors[at], np.int64))
    return np.concatenate(numbers), np.concatenate(told)


def _errors(concepts: Any, numbers: Any, x: Any, y: Any, mask: Any) -> Any:
    labels = concepts.predict(Hypothesis.of(numbers), x)
    return jnp.sum((labels != y[:, None]) & mask[:, None], axis=0, dtype=jnp.int32)
