"""Numbers and arrays of the API that are out of range, of another type, or in another shape: refused in words."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dpjax as dp
from dpjax import audit
from dpjax.accounting import Guarantee
from dpjax.concepts.distributions import from_weights
from dpjax.core.checks import InputError
from dpjax.core.types import Neighboring
from dpjax.tables.grids import Grid

CLAIM = Guarantee(1.0, 0.0, Neighboring.REPLACE_ONE, "noise")
PAIRS = [([0.0], [1.0])]
SCORES = np.random.default_rng(0).normal(size=(2, 200)) + np.array([[0.0], [1.5]])


def test_scores_of_any_dtype_give_one_bound():
    narrow = np.float32(SCORES)
    expected = float(audit.epsilon_of_scores(*map(jnp.asarray, narrow)))
    assert expected > 0
    for given in (
        narrow,
        narrow.astype(np.float64),
        narrow.tolist(),
        np.argsort(np.argsort(narrow, None)).reshape(2, -1),
    ):
        assert float(audit.epsilon_of_scores(*given)) == expected
    close = 1e9 + SCORES  # float32 would merge them
    assert float(audit.epsilon_of_scores(*close)) == float(audit.epsilon_of_scores(*np.float64(SCORES)))


@pytest.mark.parametrize(
    "first",
    [
        [np.nan] * 200,
        ["a"] * 200,
        None,
        1.0,
        np.zeros((2, 100)),
        [[1.0], [1.0, 2.0]],
        np.full(200, 1j),
        np.zeros(199),
        np.zeros(0),
        jnp.full(200, jnp.nan),
    ],
)
def test_scores_that_are_no_numbers_are_refused(first):
    with pytest.raises(InputError):
        audit.epsilon_of_scores(first, np.zeros(200))


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("claim", None),
        ("claim", (1.0, 0.0)),
        ("claim", dp.Privacy(1.0)),
        ("claim", 1.0),
        ("pairs", None),
        ("pairs", 5),
        ("pairs", [([0.0], [1.0], [2.0])]),
        ("pairs", [1, 2]),
        ("pairs", [([0.0],)]),
        ("pairs", [None]),
        ("pairs", ["ab"]),
        ("pairs", []),
        ("function", None),
        ("function", "f"),
        ("name", 3),
        ("data", "row"),
        ("distance", 0),
    ],
)
def test_arguments_of_from_function_are_checked(name, wrong):
    right = {"function": lambda data, seed: data[0], "claim": CLAIM, "pairs": PAIRS}
    audit.from_function(**right)
    with pytest.raises(InputError):
        audit.from_function(**{**right, name: wrong})


def test_one_draw_takes_one_key():
    task = dp.Task(dp.Points(dp.Domain(16)), dp.uniform(dp.Domain(16)))
    batch = jax.random.split(jax.random.key(0), 3)
    with pytest.raises(InputError, match="vmap"):
        task.draw(batch, 5)
    assert jax.vmap(lambda key: task.draw(key, 5)[0])(batch).x.shape[0] == 3
    for draw in (lambda: dp.keys.streams(batch, "a"), lambda: dp.keys.stream(batch, "a")):
        with pytest.raises(InputError, match="vmap"):
            draw()


@pytest.mark.parametrize(
    "weights",
    [
        [np.nan, 1],
        [np.inf, 1],
        [-1, 2],
        [0.5, 1],
        ["1", 1],
        [None, 1],
        [1j, 1],
        None,
        3,
        np.array([np.nan, 1.0]),
        [[1], 1],
    ],
)
def test_weights_are_whole_numbers(weights):
    assert from_weights(dp.Domain(4), [0, 2], [1.0, np.int64(3)]).total == 4
    with pytest.raises(InputError):
        from_weights(dp.Domain(4), [0, 2], weights)
    with pytest.raises(InputError):
        from_weights(dp.Domain(4), weights, [1, 2])


@pytest.mark.parametrize(
    ("low", "high", "bits"),
    [
        (np.nan, 1.0, 3),
        (0.0, np.nan, 3),
        (1.0, 0.0, 3),
        (1.0, 1.0, 3),
        (-np.inf, 0.0, 3),
        (-1.7e308, 1.7e308, 3),
        ("0", 1.0, 3),
        (None, 1.0, 3),
        (0.0, 1.0, 0),
        (0.0, 1.0, 2.5),
        (0.0, 1.0, 64),
        (0.0, 1.0, True),
    ],
)
def test_the_ends_of_a_grid_ascend(low, high, bits):
    with pytest.raises(InputError):
        Grid(low, high, bits)
