"""Whether databases are neighbors, against brute force; progress of audits."""

import itertools

import numpy as np
import pytest

from dpjax import audit, evidence
from dpjax.audit.target.neighbors import as_database, steps
from dpjax.concepts import Domain
from dpjax.core.checks import InputError
from dpjax.core.types import Neighboring, Privacy
from dpjax.learners import database

REPLACE, ADD = Neighboring.REPLACE_ONE, Neighboring.ADD_OR_REMOVE_ONE


def longest_common(one, other):
    """Of two short sequences, by trying all subsequences."""
    subsequences = lambda row: {some for n in range(len(row) + 1) for some in itertools.combinations(row, n)}  # noqa: E731
    return max(map(len, subsequences(one) & subsequences(other)))


@pytest.mark.parametrize("columns", [None, 2])
def test_steps_between_rows_are_those_of_brute_force(columns):
    generator = np.random.default_rng(0)
    for _ in range(200):
        one, other = (tuple(generator.integers(0, 3, size=generator.integers(0, 6)).tolist()) for _ in range(2))
        arrays = [np.array(row, float).reshape(len(row), *([1] if columns else [])) for row in (one, other)]
        arrays = [np.repeat(array, columns, axis=1) if columns else array for array in arrays]
        inserted = len(one) + len(other) - 2 * longest_common(one, other)
        assert steps(*arrays, ADD, most=12) == inserted
        replaced = sum(a != b for a, b in zip(one, other, strict=True)) if len(one) == len(other) else 13
        assert steps(*arrays, REPLACE, most=12) == replaced
        assert steps(*arrays, ADD) == min(inserted, 2)


def test_histograms_samples_and_what_is_a_promise():
    one, other = np.array([3, 5, 0]), np.array([4, 4, 0])
    assert steps(one, other, REPLACE, "counts") == 1 and steps(one, other, ADD, "counts", most=5) == 2
    assert steps(one, np.array([4, 5, 0]), REPLACE, "counts") == 2
    domain = Domain(9)
    samples = [database(domain, values=[3, last], labels=[1, 0]) for last in (4, 5)]
    assert steps(*samples, REPLACE) == 1
    assert audit.require_neighbors("pairs", *samples, REPLACE)
    for promised in ((0, 1), ({"x": one}, {"x": other})):
        assert steps(*promised, REPLACE) is None and not audit.require_neighbors("pairs", *promised, REPLACE)
    assert not audit.require_neighbors("pairs", one, one, REPLACE, "other")
    for bad, says in (((one, other), "more than 1 step"), ((one, one), "equal"), ((one, other[:2]), "more than 1")):
        with pytest.raises(InputError, match=says):
            audit.require_neighbors("pairs", *bad, REPLACE)
    assert audit.require_neighbors("pairs", one, other, REPLACE, distance=2)
    assert audit.require_neighbors("pairs", [[1, 2], [3, 4]], [[1, 2], [3, 5]], REPLACE)
    assert not audit.require_neighbors("pairs", ([1.5, 2.5], [3]), ([1.5, 2.5], [4]), REPLACE), "a pytree"
    for bad in (([3, 5, 0], [4, 4, 0]), ([3, 5], [3, 5]), ((3, 5), np.array([4, 4]))):
        with pytest.raises(InputError, match="neighbors under"):
            audit.require_neighbors("pairs", *bad, REPLACE)
    with pytest.raises(InputError, match="one shape"):
        steps(np.zeros((2, 3)), np.zeros((2, 2)), ADD)


def test_databases():
    assert as_database([[1, 2], [3, 4]]).shape == (2, 2) and as_database(3).shape == ()
    ragged = as_database(([1.5, 2.5], [3]))
    assert isinstance(ragged, tuple) and len(ragged[0]) == 2
    for bad in ("text", ["a", "b"], {"a": "text"}, [None], None):
        with pytest.raises(InputError, match="arrays of numbers"):
            as_database(bad)


def test_audits_tell_how_much_is_done():
    told = []
    watch = lambda done, total, what: told.append((done, total, what))  # noqa: E731
    audit.exact(evidence.mechanism_target("stability"), Privacy(1.0, 1e-6), watch=watch)
    assert told[0][0] == 0 and told[-1][0] == told[-1][1] and {what for *_, what in told} == {"databases"}
    assert [done for done, *_ in told] == sorted(done for done, *_ in told)
    assert told[1][0] < told[-1][1] / 20, "a few databases of many are timed first"
    told.clear()
    claim = lambda epsilon, delta: evidence.mechanism_target("stability").claim(epsilon, delta)  # noqa: E731
    target = audit.from_function(lambda data, seed: data + seed % 2, claim(1.0, 0.1), [(0, 1)])
    for sequential in (False, True):
        audit.statistical(target, Privacy(1.0, 0.1), trials=5000, sequential=sequential, watch=watch)
        assert told[0] == (0, 11000, "runs") and told[-1][0] == told[-1][1]
        assert [done for done, *_ in told] == sorted(done for done, *_ in told)
        told.clear()
