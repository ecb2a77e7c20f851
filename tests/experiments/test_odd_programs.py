"""Programs that call the host, that depend on the number of threads, and code of another build in the cache."""

import hashlib
import json
import os
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
        x = jax.random.normal(key, (4096, 16), jnp.float32)
        if self.kind == "product":
            x = x.T @ x
        if self.kind == "print":
            jax.debug.print("seen {}", x[0, 0])
        if self.kind == "callback":
            x = jax.pure_callback(np.negative, jax.ShapeDtypeStruct(x.shape, x.dtype), x, vmap_method="sequential")
        bits = jax.lax.bitcast_convert_type(x, jnp.uint32)
        return Hypothesis.of(jnp.stack([jnp.uint32(0), jnp.sum(bits, dtype=jnp.uint32) & 1])[None])

task = fast.task()
with Engine() as machine:
    found = Study(task, {"odd": Odd(task.concepts, kind=sys.argv[3])}, n=[200], trials=128).run(
        sys.argv[1], engine=machine, quiet=True
    )
    with Store(sys.argv[1], read_only=True) as store:
        cells = [(one.config["device"], one.hash, hashlib.sha256(one.rows["outcome"].tobytes()).hexdigest())
                 for one in store.iter_cells()]
    print(json.dumps([cells, found.data["failures"], machine.compiled]))
"""


def run(folder, kind, devices=1, **environment):
    words = [sys.executable, "-c", RUN, str(folder), str(devices), kind]
    own = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])} | environment
    done = subprocess.run(words, capture_output=True, text=True, env=own, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_numbers_that_depend_on_threads_say_for_how_many(tmp_path):
    """XLA sums a product of matrices in as many parts as the process has threads: other cells, never a mixture."""
    (few,), _, _ = run(tmp_path / "out", "product", 2, NPROC="2")
    cells, failures, _ = run(tmp_path / "out", "product", 8, NPROC="2")
    (many,) = [cell for cell in cells if cell != few]
    assert failures == [] and len(cells) == 2 and few[0].endswith(" threads=2") and many[0].endswith(" threads=8")
    assert few[1] != many[1]
    plain = [run(tmp_path / f"plain {devices}", "plain", devices)[0] for devices in (2, 8)]
    assert plain[0] == plain[1] and "threads" not in plain[0][0][0]


@pytest.mark.parametrize("kind", ["print", "callback"])
def test_programs_that_call_the_host(tmp_path, kind):
    """They run, on several devices too, and are never read from the cache, where their function would be missing."""
    own = {"JAX_COMPILATION_CACHE_DIR": str(tmp_path / "programs")}
    cells, failures, compiled = run(tmp_path / "one", kind, 2, **own)
    assert failures == [] and len(cells) == 1 and compiled
    again, failures, compiled = run(tmp_path / "two", kind, 2, **own)
    assert failures == [] and again == cells and compiled
    assert not list((tmp_path / "programs").glob("tiles/*"))


def test_code_of_another_build_in_the_cache(tmp_path):
    """With a right checksum: it is compiled again, and written anew."""
    own = {"JAX_COMPILATION_CACHE_DIR": str(tmp_path / "programs")}
    first = run(tmp_path / "one", "plain", **own)
    (kept,) = (tmp_path / "programs").glob("tiles/*")
    other = b"code of another build"
    kept.write_bytes(hashlib.sha256(other).digest() + other)
    for path in (tmp_path / "programs").glob("*"):
        if path.is_file():
            path.unlink()
    assert run(tmp_path / "two", "plain", **own) == first
    assert run(tmp_path / "three", "plain", **own)[2] == 0 and kept.read_bytes()[32:] != other
