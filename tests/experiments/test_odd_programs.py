"""Programs that call the host, that depend on the number of threads, and code of another build in the cache."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

RUN = """
import hashlib, json, os, sys
from dataclasses import dataclass
import jax, jax.numpy as jnp, numpy as np
from dpjax.concepts import Hypothesis
from dpjax.experiments.run.engine import Engine, host_devices
from dpjax.experiments.store.store import Store
from dpjax.experiments.study.study import Study
from tests.experiments import fast

host_devices(int(sys.argv[2]))

@dataclass(frozen=True)
class Odd(fast.Coin):
    kind: str = "plain"
    cache_token = "1"

    def _learn(self, key, sample, plan):
        x = jax.random.normal(key, (4096 if self.kind == "product" else 8, 16), jnp.float32)
        if self.kind == "product":
            x = x.T @ x
        if self.kind == "print":
            jax.debug.print("seen {}", x[0, 0])
        if self.kind == "callback":
            x = jax.pure_callback(np.negative, jax.ShapeDtypeStruct(x.shape, x.dtype), x, vmap_method="sequential")
        bits = jax.lax.bitcast_convert_type(x, jnp.uint32)
        return Hypothesis.of(jnp.stack([jnp.uint32(0), jnp.sum(bits, dtype=jnp.uint32) & 1])[None])

task = fast.task()
made = {}
for kind in sys.argv[3:]:
    root = f"{sys.argv[1]}-{kind}"
    with Engine() as machine:
        found = Study(task, {"odd": Odd(task.concepts, kind=kind)}, n=[200], trials=128).run(
            root, engine=machine, quiet=True
        )
    with Store(root, read_only=True) as store:
        cells = [(one.config["device"], one.hash, hashlib.sha256(one.rows["outcome"].tobytes()).hexdigest())
                 for one in store.iter_cells()]
    made[kind] = cells, found.data["failures"], machine.compiled
print(json.dumps(made))
"""


def run(folder, kinds, devices, cache):
    """(cells, failures, programs that were compiled) of each kind, in one process."""
    words = [sys.executable, "-c", RUN, str(folder), str(devices), *kinds]
    own = {"PYTHONPATH": str(Path(__file__).parents[2]), "NPROC": "2", "JAX_COMPILATION_CACHE_DIR": str(cache)}
    done = subprocess.run(words, capture_output=True, text=True, env=os.environ | own, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


CALLS = ("print", "callback")


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """(folder of compiled programs, what one process computed on two devices)."""
    folder = tmp_path_factory.mktemp("first")
    return folder / "programs", run(folder / "one", ("product", "plain", *CALLS), 2, folder / "programs")


def test_numbers_that_depend_on_threads_say_for_how_many(first, tmp_path):
    """XLA sums a product of matrices in as many parts as the process has threads: other cells, never a mixture."""
    cache, before = first
    (few,), _, _ = before["product"]
    shutil.copytree(cache.parent / "one-product", tmp_path / "one-product")
    found = run(tmp_path / "one", ("product", "plain"), 8, cache)
    cells, failures, _ = found["product"]
    (many,) = [cell for cell in cells if cell != few]
    assert failures == [] and len(cells) == 2 and few[0].endswith(" threads=2") and many[0].endswith(" threads=8")
    assert few[1] != many[1]
    assert found["plain"][0] == before["plain"][0] and "threads" not in before["plain"][0][0][0]


def test_what_is_read_from_the_cache(first, tmp_path):
    """Never a program that calls the host, whose function would be missing; code of another build, with a right
    checksum, is compiled again and written anew."""
    cache, before = first
    assert all(before[kind][1] == [] and len(before[kind][0]) == 1 and before[kind][2] for kind in CALLS)
    other = b"code of another build"
    for kept in (cache / "tiles").iterdir():
        kept.write_bytes(hashlib.sha256(other).digest() + other)
    names = {kept.name for kept in (cache / "tiles").iterdir()}
    for path in cache.glob("*"):
        if path.is_file():
            path.unlink()
    again = run(tmp_path / "two", ("plain", *CALLS), 2, cache)
    assert all(again[kind][0] == before[kind][0] and again[kind][2] for kind in ("plain", *CALLS))
    assert {kept.name for kept in (cache / "tiles").iterdir()} == names, "none of a program that calls the host"
    assert sum(kept.read_bytes()[32:] != other for kept in (cache / "tiles").iterdir()) == 1
    assert run(tmp_path / "three", ("plain",), 2, cache)["plain"][2] == 0
