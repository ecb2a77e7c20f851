"""How a report describes the set of outputs that it counted."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.audit.outputs.events import features
from dpjax.audit.outputs.naming import Naming
from dpjax.audit.sampling.choices import choose
from dpjax.audit.sampling.thresholds import Aim

AIM = Aim.of(1.0, 0.0, 1000, 0.95)


def described(first, second):
    """The events that are chosen from these outputs, in words."""
    sides = [jax.vmap(features)(jnp.asarray(side)) for side in (first, second)]
    naming = Naming.of(jnp.asarray(first[0]))
    return {question.words(naming) for question in choose(*sides, AIM, guesses=False)}


def side(**counts):
    return np.repeat([int(name[1:]) for name in counts], list(counts.values())).astype(np.int32)


def test_a_set_of_few_outputs_is_named():
    """0 and 2 are the likelier ones on the first side: no threshold separates them from 1."""
    assert described(side(_0=400, _1=20, _2=400), side(_0=20, _1=780, _2=20)) <= {
        "output is one of 0, 2",
        "output is none of 1",
        "output is 1",
        "output is not 1",
        "output is none of 0, 2",
    }


@pytest.mark.parametrize(("value", "name"), [(7, "7"), (-0.5, "-0.5"), ([3, 4], "(3, 4)")])
def test_one_outcome(value, name):
    outputs = np.array([value] * 200)
    assert described(outputs.astype(np.float32), outputs.astype(np.float32)) == {f"output is not {name}"}


def test_large_sets_and_long_outputs_are_counted():
    even = np.random.default_rng(0).permutation(np.repeat(np.arange(0, 40, 2), 50)).astype(np.int32)
    words = described(even, even + 1)
    assert words and all(" of the 40 that were seen in training: " in name and name.endswith(", ...") for name in words)
    one = np.eye(5, dtype=np.int32)[even % 5]
    words = described(one, one[:, ::-1] ^ 1)
    assert words and all(name.count("(") <= 6 for name in words)
