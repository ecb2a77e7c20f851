"""Integers that must never move within a minor series of JAX: stored results rest on them.

Each series has a folder, jax-0.10 for 0.10.2, since a minor version of JAX may change what a key gives. To write the
folder of the installed series, knowingly: python tests/golden/test_golden.py. It says which parts differ from the
series before. Only integers, so they hold on every backend and in both modes of 64-bit types.
"""

import json
import re
import tomllib
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.concepts import Domain
from dpjax.concepts import distributions as make
from dpjax.core import keys, random

pytestmark = pytest.mark.optimized  # bits that are stored

HERE = Path(__file__).parent


def series(version=jax.__version__):
    """The minor series of a version of JAX: "0.10" for "0.10.2"."""
    return ".".join(version.split(".")[:2])


def path_of(name):
    return HERE / f"jax-{name}" / "random.json"


def known():
    """All series with a folder, in the order of versions."""
    names = [path.parent.name.removeprefix("jax-") for path in HERE.glob("jax-*/random.json")]
    return sorted(names, key=lambda name: [int(part) for part in name.split(".")])


def golden(name):
    """The integers of a series. Fails, and says what to do, for a series without a folder."""
    if name not in known():
        pytest.fail(
            f"no golden files for JAX {name}.*, only for {', '.join(known())}: run `python tests/golden/test_golden.py`"
            f" with that JAX, look at the parts that it says differ, and commit tests/golden/jax-{name}"
        )
    return json.loads(path_of(name).read_text())


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
    wanted = golden(series())
    with jax.enable_x64(wide):
        assert stored(part) == wanted[part]


def test_a_series_without_golden_files_says_what_to_do():
    with pytest.raises(pytest.fail.Exception, match=r"no .* for JAX 99\.9\.\*.*commit tests/golden/jax-99\.9"):
        golden(series("99.9.3.dev1"))


def test_every_series_that_the_package_accepts_has_golden_files(root):
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    (bounds,) = [re.findall(r"[\d.]+", text) for text in project["dependencies"] if text.startswith("jax>")]
    low, high = ([int(part) for part in bound.split(".")][:2] for bound in bounds)
    assert low[0] == high[0] == 0 and {f"0.{minor}" for minor in range(low[1], high[1])} <= {*known()}


@pytest.mark.parametrize("name", known())
def test_only_integers_are_stored(name):
    def check(value):
        for item in value.values() if isinstance(value, dict) else value:
            if isinstance(item, dict | list):
                check(item)
            else:
                assert type(item) is int

    assert golden(name).keys() == PARTS.keys()
    check(golden(name))


def write():
    """Writes the folder of the installed series; returns the parts that differ from the series before it."""
    found, name = {part: stored(part) for part in PARTS}, series()
    before = [other for other in known() if other != name]
    path_of(name).parent.mkdir(exist_ok=True)
    path_of(name).write_text(json.dumps(found, indent=1) + "\n")
    return {other: [part for part in PARTS if golden(other)[part] != found[part]] for other in before}


if __name__ == "__main__":
    changes = write()
    print(f"JAX {jax.__version__}: {path_of(series())}")
    for other, parts in changes.items():
        print(f"  parts that differ from jax-{other}: {', '.join(parts) or 'none'}")
