"""JAX functions of a key as targets: tested on samples, exact where draws are listed, refused if untraceable."""

import jax.numpy as jnp
import numpy as np
import pytest

from dpjax import audit
from dpjax.accounting import Guarantee
from dpjax.core import random
from dpjax.core.checks import InputError
from dpjax.core.types import Neighboring, Privacy
from dpjax.mechanisms import exponential, randomized_response

CLAIM = Guarantee(1.0, 0.0, Neighboring.REPLACE_ONE, "as claimed")
PAIRS = [([0, 1, 1], [0, 1, 0])]


def traced(function, pairs=PAIRS, **how):
    return audit.from_function(function, CLAIM, pairs, randomness="key", **how)


def response(epsilon):
    return lambda data, key: randomized_response(data[2], epsilon).sample(key)


@pytest.mark.parametrize(("scale", "violated"), [(1.0, False), (0.5, True)])
def test_samples_of_a_function(scale, violated):
    target = traced(lambda data, key: jnp.sum(data).astype(jnp.float32) + scale * random.laplace(key), name="noisy sum")
    report = audit.statistical(target, Privacy(1.0), trials=20_000, confidence=0.999)
    assert report.violated is violated and report.epsilon_found > 0.6 and report.target == "noisy sum"


@pytest.mark.parametrize(("epsilon", "violated"), [(1.0, False), (1.01, True)])
def test_a_finite_law_is_exact(epsilon, violated):
    report = audit.exact(traced(response(epsilon)), Privacy(1.0))
    assert report.violated is violated and report.epsilon_found == pytest.approx(epsilon, abs=1e-6)
    assert "the 1 pair(s)" in report.evidence


def test_pairs_that_are_no_universe():
    """A test of samples takes what an exact audit would read as neighbors of one shape, one step apart."""
    counts = lambda data, key: exponential(jnp.bincount(data, length=2), 1.0).sample(key)  # noqa: E731
    for pairs, how in (([*PAIRS, ([0], [1])], {}), ([([0, 1], [1, 0])], {"distance": 2})):
        target = traced(counts, pairs, **how)
        assert target.table is None and target.universes() == [] and len(target.pairs()) == len(pairs)
        report = audit.statistical(target, Privacy(1.0), trials=2000, **how)
        assert not report.violated and report.claim.epsilon == how.get("distance", 1)


def test_databases_of_64_bits():
    found = traced(response(1.0), [(np.array([0, 0, 1]), np.array([0, 0, 0]))]).pairs()[0]
    assert found.first.dtype == np.int32 and found.first.tolist() == [0, 0, 1]
    with pytest.raises(InputError, match=f"pairs, number 1: expected whole numbers that 32 bits hold, got {2**40}"):
        traced(response(1.0), [*PAIRS, ([0, 1, 2**40], [0, 1, 0])])
    floats = traced(lambda data, key: jnp.sum(data) + random.laplace(key), [([0.1], [1e300])]).pairs()[0]
    assert floats.first.dtype == np.float32 and floats.second == np.inf


def test_functions_that_are_refused():
    with pytest.raises(InputError, match=r"\(database, key\) -> arrays, in this order.*let it take a seed"):
        traced(lambda data, key: float(data.sum()))
    drawn = np.random.default_rng(0)
    with pytest.raises(InputError, match=r"does not read it.*draws by NumPy would draw once"):
        traced(lambda data, key: jnp.sum(data) + drawn.integers(2, dtype=np.int32))
    with pytest.raises(InputError, match="returns nothing"):
        traced(lambda data, key: None)
    with pytest.raises(InputError, match="more than 1 step"):
        traced(response(1.0), [([0, 1, 1], [1, 0, 1])])
    with pytest.raises(InputError, match="at least one pair"):
        traced(response(1.0), [])
    with pytest.raises(InputError, match="arrays of numbers"):
        traced(response(1.0), [("a text", 0)])


def test_the_budget_is_that_of_the_claim():
    for target in (traced(response(1.0)), audit.from_function(lambda data, seed: seed % 2, CLAIM, PAIRS)):
        for budget in (Privacy(0.5), Privacy(1.0, 1e-6)):
            with pytest.raises(InputError, match=r"privacy: expected that of the claim, Privacy\(1, 0\)"):
                audit.statistical(target, budget, trials=1000)
        with pytest.raises(InputError, match=r"give dpjax.Privacy"):
            audit.statistical(target, 1.0, trials=1000)
    with pytest.raises(InputError, match="that of the claim"):
        audit.exact(traced(response(1.0)), Privacy(2.0))
    with pytest.raises(InputError, match=r"give dpjax.Privacy"):
        audit.exact(traced(response(1.0)), 1.0)


@pytest.mark.grid
@pytest.mark.parametrize(
    ("pair", "lost"),
    [
        (([1.7e9, 1.7e9], [1.7e9 + 1, 1.7e9]), True),
        (([1.7e9], [1.7e9 + 100]), True),
        (([1e300], [2e300]), True),
        ((1.7e9, 1.7e9 + 1), True),
        (([0.1, 0.2], [0.1, 0.3]), False),
        (([1e9], [2e9]), False),
        (([0.1], [1e300]), False),
    ],
)
def test_pairs_whose_difference_float32_loses(pair, lost):
    """They would be audited as one database, or with a difference that is not theirs."""
    function = lambda data, key: jnp.sum(data) + random.laplace(key)  # noqa: E731
    of_ones_own = audit.Target(
        "mine",
        lambda epsilon, delta: CLAIM,
        lambda key, data, plan: function(data, key),
        list,
        lambda: [audit.Pair(*map(np.array, pair), list)],
    )
    for made in (lambda: traced(function, [pair]), lambda: audit.statistical(of_ones_own, Privacy(1.0), trials=1000)):
        if lost:
            with pytest.raises(InputError, match=r"difference float32 keeps.*subtract a public constant"):
                made()
        else:
            made()


def test_nan_is_an_outcome():
    wrong = lambda data, key: jnp.where((data[2] == 1) & (random.uniform(key) < 0.5), jnp.nan, 1.0)  # noqa: E731
    report = audit.statistical(traced(wrong), Privacy(1.0), trials=1000)
    assert report.violated and report.details["outcomes"] == 2
    assert report.details["event"] == "output is not a number"
