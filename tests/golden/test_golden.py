"""Integers that must never move: stored results rest on them.

To write them anew, knowingly: python tests/golden/test_golden.py. Only integers, so they hold on every backend and in
both modes of 64-bit types.
"""

import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.concepts import Domain
from dpjax.concepts import distributions as make
from dpjax.core import keys, random

STORE = Path(__file__).with_name("random.json")


def stored(part):
    """All arrays of a part, from one program, as they stand in the file."""
    return jax.tree.map(lambda array: np.asarray(array).tolist(), jax.jit(PARTS[part])())


def words():
    key = keys.root(1)
    out = {str(shape): [*random.words(key, shape)] for shape in ((), (5,), (2, 3))}
    out["(70,)[60:]"] = [part[60:] for part in random.words(key, (70,))]
    out["(3,) from 1000"] = [*random.words_from(random.stream_of(key), (3,), 1000)]
    return out


def key_derivation():
    root = keys.root(20261120)
    point = keys.of_point(root, jnp.asarray([0xDEADBEEF, 7], jnp.uint32))
    found = {
        "root": root,
        "streams": {name: keys.stream(root, name) for name in ("target", "sample", "learn", "probe")},
        "per_index": keys.per_index(root, 4),
        "point": point,
        "trials": [keys.of_trial(point, jnp.uint32(i)) for i in (0, 1, 2**32 - 1)],
    }
    return jax.tree.map(jax.random.key_data, found)


def uniform_integers():
    key = keys.root(2)
    bounds = {"6": [6], "2**32 - 1": [2**32 - 1], "2**63": [2**31, 0], "2**64": [1, 0, 0]}
    bounds["5 * 2**120"] = [5 << 24, 0, 0, 0]
    limbs = {name: jnp.asarray(bound, jnp.uint32) for name, bound in bounds.items()}
    return {name: random.randint_below(key, bound, (6,)) for name, bound in limbs.items()}


def integer_noise():
    key = keys.root(3)
    scales = (0.3, 1.0, 4.5, 1000.0)
    whole = {str(scale): random.geometric_table(scale) for scale in scales}
    tables = {str(scale): random.geometric_table(scale, 17) for scale in scales}
    return {
        "tables": {name: [t.digits, t.nonzero] for name, t in whole.items()},
        "geometric": {name: random.geometric(key, t, (12,)) for name, t in tables.items()},
        "discrete_laplace": {name: random.discrete_laplace(key, t, (12,)) for name, t in tables.items()},
    }


def draws():
    key = keys.root(4)
    distributions = {
        "uniform 2**64": make.uniform(Domain(2**64)),
        "uniform 1000": make.uniform(Domain(1000)),
        "heavy": make.heavy(Domain(2**40), 3, 0.2),
        "zipf": make.zipf(Domain(2**33), 20),
        "thresholds": make.adversarial_thresholds(Domain(2**64), 0.1),
    }
    return {name: d.draw(key, 8) for name, d in distributions.items()}


PARTS = {
    "words": words,
    "keys": key_derivation,
    "randint_below": uniform_integers,
    "noise": integer_noise,
    "draw": draws,
}


@pytest.mark.parametrize("wide", [False, True], ids=["x32", "x64"])
@pytest.mark.parametrize("part", PARTS)
def test_the_stored_integers(part, wide):
    with jax.enable_x64(wide):
        assert stored(part) == json.loads(STORE.read_text())[part]


def test_only_integers_are_stored():
    def check(value):
        for item in value.values() if isinstance(value, dict) else value:
            if isinstance(item, dict | list):
                check(item)
            else:
                assert type(item) is int

    check(json.loads(STORE.read_text()))


if __name__ == "__main__":
    STORE.write_text(json.dumps({name: stored(name) for name in PARTS}, indent=1) + "\n")
