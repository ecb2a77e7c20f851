"""Three-way splits at medians of windows: the window, its neighbors, the price of a level, rows of the theorem."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.accounting.numeric.profile import hockey_stick
from dpjax.audit.enumeration.outcomes import exact_table
from dpjax.concepts import Domain, Thresholds
from dpjax.core import bit_strings as B
from dpjax.core import keys
from dpjax.core.checks import InputError
from dpjax.core.plans import widened
from dpjax.core.types import Accuracy, Neighboring, Privacy
from dpjax.evidence.sanitizers import SmallWindows
from dpjax.learners import GenericLearner
from dpjax.sanitizers import Hierarchy, WindowHierarchy, candidates, worst_gap
from dpjax.sanitizers.hierarchy import Parts
from dpjax.sanitizers.window_hierarchy import window_of
from dpjax.theory import hierarchy as sizes

PRIVACY, ACCURACY = Privacy(1.0, 1e-6), Accuracy(0.3, 0.1)
RECURSIVE = ("majority", "recprefix", "treelog")
LOW, HIGH = 1, 6


@jax.jit
def windows(rows, begin, count, window):
    part = Parts(*(jnp.asarray(B.encode([end], 3)) for end in (LOW, HIGH)), jnp.ones(1, bool))
    return window_of(rows, begin, count, window, part, 5)


def window(rows, size, before=2):
    """What the program cuts out of a part with these rows, ``before`` rows of other parts before it."""
    listed = [0] * before + sorted(rows) + [7] * (8 - before - len(rows))
    found = windows(jnp.asarray(B.encode(listed, 3)), jnp.int32(before), jnp.int32(len(rows)), jnp.int32(size))
    return B.decode(np.asarray(found))[:size].tolist()


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_an_added_row_replaces_at_most_one_of_the_window(size):
    """All parts of up to four rows with values LOW..HIGH; the window is also what its definition says."""
    for count in range(4):
        for rows in itertools.combinations_with_replacement((LOW, 3, 4, HIGH), count):
            one = window(rows, size)
            begin = math.floor((count - size) / 2)
            long = [LOW] * 9 + sorted(rows) + [HIGH] * 9
            assert one == long[9 + begin : 9 + begin + size]
            for added in (LOW, 3, 4, HIGH):
                other = window((*rows, added), size)
                left = list(other)
                for value in one:
                    if value in left:
                        left.remove(value)
                assert len(left) <= 1


@pytest.mark.parametrize(("levels", "median", "power"), [(1, "majority", 3), (2, "majority", 3), (2, "recprefix", 20)])
def test_medians_keep_their_claim_and_not_a_part_of_its_delta(levels, median, power, world):
    """A replaced row touches two parts of a level, but of the root's one. All databases of three rows of two bits."""
    x, mask, pairs = world(4, 3)
    sanitizer = SmallWindows(2, levels=levels, median=median)
    plan = sanitizer.plan(Privacy(8.0, 0.02), ACCURACY)
    spent = sanitizer.guarantee(plan).parts[0]
    root, *others = [split.median.guarantee().epsilon for split in plan.splits]
    assert spent.epsilon == pytest.approx(root + 2 * sum(others), rel=1e-6)

    def points(key, base, plan):
        return sanitizer.split(key, *base, plan)[1]

    table = exact_table(points, (jnp.asarray(x), jnp.asarray(mask)), widened(plan))
    claim = np.array([spent.epsilon])
    found = max(float(hockey_stick(table[i][None], table[j][None], claim)[0]) for i, j in pairs)
    assert spent.delta / power < found <= spent.delta


def test_rows_of_the_theorem():
    """The numbers of docs/proofs/hierarchy.md, and every part of the budget is spent."""
    sanitizer = WindowHierarchy(256)
    assert sanitizer.sample_size(PRIVACY, Accuracy(0.1, 0.1)) == 13424
    assert WindowHierarchy(1024).sample_size(PRIVACY, Accuracy(0.1, 0.1)) == 14444
    assert Hierarchy(256).sample_size(PRIVACY, Accuracy(0.1, 0.1)) == 22045
    spent = sanitizer.guarantee(sanitizer.plan(PRIVACY, Accuracy(0.1, 0.1)))
    assert 0.999 <= spent.epsilon <= 1 and 0.999e-6 <= spent.delta <= 1e-6
    assert spent.neighboring is Neighboring.REPLACE_ONE
    planned = candidates(0.2, 512, PRIVACY, 0.1)
    assert min(planned, key=lambda name: planned[name][1]) == "majority"


def test_rows_between_listed_points():
    """Where the medians fail with more than beta nothing is known."""
    sanitizer, concepts = WindowHierarchy(16), Thresholds(Domain(2**16))
    plan = sanitizer.plan(PRIVACY, ACCURACY)
    assert sanitizer.unseen(concepts, plan, 10**5, 0.1) == sizes.largest_part_of_windows(
        [int(s.window) for s in plan.splits], 10**5
    )
    assert sanitizer.unseen(concepts, plan, 10**5, 1e-3) == 10**5
    other = WindowHierarchy(16, median="recprefix")
    with pytest.raises(InputError, match="unseen"):
        other.unseen(concepts, other.plan(PRIVACY, ACCURACY), 10**5, 0.1)


@pytest.mark.slow
def test_a_generic_learner_over_a_large_domain():
    concepts = Thresholds(Domain(2**256))
    rows = [
        GenericLearner(concepts, 4, made(256)).sample_size(PRIVACY, Accuracy(0.1, 0.1))
        for made in (WindowHierarchy, Hierarchy)
    ]
    assert rows == [45358, 61876]


def test_splits_leave_what_the_theorem_says():
    """A chain of splits at the worst interior points, for odd and even numbers of rows."""
    for n, sizes_of in itertools.product((100, 1001, 4096), ((9, 7, 5), (40, 30, 21), (1, 2, 1))):
        parts = [n]
        for size in sizes_of:
            parts = [part for c in parts for part in worst_split(c, size)]
        assert max(parts) <= sizes.largest_part_of_windows(sizes_of, n) < max(parts) + 2
    assert sizes.windows((9, 7), 3.0, 0.124, 0.01) == math.inf


def worst_split(count, size):
    """The larger sides: rows below the largest interior point of the window, rows above the smallest one."""
    begin = (count - size) // 2
    return min(count, max(0, begin + size - 1)), min(count, max(0, count - begin - 1))


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("bits", "median"),
    [(40, "majority"), (40, "recprefix"), *(pytest.param(256, name, marks=pytest.mark.slow) for name in RECURSIVE)],
)
def test_the_error_is_at_most_alpha_from_the_theorems_rows_on(bits, median, stats):
    """Nested rows, which no prefix separates into large groups, and two heaps with wide gaps."""
    sanitizer, trials = WindowHierarchy(bits, median=median), 40
    plan, n = sanitizer.plan(PRIVACY, ACCURACY), sanitizer.sample_size(PRIVACY, ACCURACY)
    third = 2**bits // 3
    nested = [third + (-1) ** i * (1 << (i // 2 % (bits - 3))) for i in range(n)]
    heaps = [0] * (n // 3) + [third] * (n // 3) + [third + 1] * (n - 2 * (n // 3))
    run = jax.jit(lambda own, x: worst_gap(sanitizer.sanitize(own, x, jnp.ones(n, bool), plan), x, jnp.ones(n, bool)))
    for rows in (nested, heaps):
        x = jnp.asarray(B.encode(rows, bits))
        over, under = (
            np.array(part) for part in zip(*(run(key, x) for key in keys.per_index(keys.root(3), trials)), strict=True)
        )
        stats.mostly(int(np.sum(over * 10 <= under * 3)), trials, 0.1)


def test_few_rows_and_tiny_windows_have_an_answer():
    sanitizer = WindowHierarchy(70, levels=2, domain_size=2**69 + 5)
    plan, run = sanitizer.plan(Privacy(500.0, 1e-12), ACCURACY), jax.jit(sanitizer.sanitize)
    for count in (0, 1, 2):
        x = jnp.asarray(B.encode([2**69 + 4, 3, 2**70 - 1], 70))
        made = run(keys.root(1), x, jnp.arange(3) < count, plan)
        assert int(np.sum(made.weights)) >= 1 and (B.decode(np.asarray(made.points)) <= 2**69 + 4).all()


def test_medians_have_names():
    with pytest.raises(InputError, match="median"):
        WindowHierarchy(16, median="best")


@pytest.mark.parametrize("kind", [Hierarchy, WindowHierarchy])
@pytest.mark.parametrize("size", [0, -1, 17, 2.5, "5", True])
def test_a_domain_size_is_of_the_domain(kind, size):
    with pytest.raises(InputError, match="domain_size"):
        kind(4, domain_size=size)
