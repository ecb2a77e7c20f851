"""What all tests share. Nothing here changes what JAX computes: the suite runs with JAX_ENABLE_X64 at 0 and at 1."""

import gc
import json
import os
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

if "JAX_COMPILATION_CACHE_DIR" not in os.environ:  # workers and processes that tests start inherit it
    os.environ["JAX_COMPILATION_CACHE_DIR"] = tempfile.mkdtemp(prefix="dpjax-programs-")
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    os.environ["DPJAX_TEST_PROGRAMS_OF"] = str(os.getpid())

if "DPJAX_CACHE" not in os.environ:  # calibrations, which workers share too
    os.environ["DPJAX_CACHE"] = tempfile.mkdtemp(prefix="dpjax-calibrations-")
    os.environ["DPJAX_TEST_CALIBRATIONS_OF"] = str(os.getpid())

# Most of the quick suite would be the optimization of programs that run once. Tests with the marker `optimized`
# are compiled as users' programs are, and so are all with JAX_DISABLE_MOST_OPTIMIZATIONS=0 (`make test-slow`).
os.environ["JAX_DISABLE_MOST_OPTIMIZATIONS"] = os.environ.get("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")

# lines of Python in programs: a tenth of the time, and no test reads them
os.environ["JAX_TRACEBACK_IN_LOCATIONS_LIMIT"] = os.environ.get("JAX_TRACEBACK_IN_LOCATIONS_LIMIT", "0")

# into how many parts XLA divides a program to compile them at once: one, because the workers keep all cores busy
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_cpu_parallel_codegen_split_count=1"
if os.environ["JAX_DISABLE_MOST_OPTIMIZATIONS"] == "1" and version("jaxlib").startswith("0.10."):
    # later versions have no such flag, and end at it
    os.environ["XLA_FLAGS"] = f"{os.environ['XLA_FLAGS']} --xla_cpu_use_fusion_emitters=false"

import chex
import jax
import numpy as np
import pytest
from scipy.stats import binom, chi2

ROOT = Path(__file__).resolve().parent.parent
SITE = ("benchmarks", "docs", "notebooks", "scripts")  # folders of tests of what is outside of dpjax/
FALSE_ALARM = 1e-6  # of each statistical test, over its fixed seed


def _folder(path):
    """The folder of tests/ that a file or folder is in."""
    below = ROOT / "tests"
    return path.relative_to(below).parts[0] if below in path.parents else ""


def pytest_unconfigure():
    """Programs that one file compiled serve the next and the other worker, and no later run."""
    for owner, folder in (
        ("DPJAX_TEST_PROGRAMS_OF", "JAX_COMPILATION_CACHE_DIR"),
        ("DPJAX_TEST_CALIBRATIONS_OF", "DPJAX_CACHE"),
    ):
        if os.environ.get(owner) == str(os.getpid()):
            shutil.rmtree(os.environ[folder], ignore_errors=True)


def pytest_ignore_collect(collection_path, config):
    """Folders of `SITE` are not imported by a run that selects none of their tests."""
    if "not site" in config.option.markexpr and _folder(collection_path) in SITE:
        return True
    return None


@pytest.hookimpl(tryfirst=True)  # before pytest selects by markers
def pytest_collection_modifyitems(items):
    """Tests in folders of `SITE` have the marker ``site``, cases that a ``grid`` leaves out the marker ``slow``.

    In each file those that are ``optimized`` are last: the change forgets what was compiled.
    """
    grids = {}
    for item in items:
        if _folder(item.path) in SITE:
            item.add_marker("site")
        if (grid := item.get_closest_marker("grid")) and item.get_closest_marker("slow") is None:
            per = tuple(id(item.callspec.params[name]) for name in grid.kwargs.get("per", ()))
            grids.setdefault((item.path, item.originalname, per), (grid.kwargs.get("keep", 3), []))[1].append(item)
    for keep, cases in grids.values():
        kept = np.linspace(0, len(cases) - 1, keep).round() if keep > 1 else [len(cases) // 2]
        for i in {*range(len(cases))} - {*map(int, kept)}:
            cases[i].add_marker("slow")
    place = {path: i for i, path in enumerate(dict.fromkeys(item.path for item in items))}
    items.sort(key=lambda item: (place[item.path], item.get_closest_marker("optimized") is not None))


def pytest_collection_finish():
    """Tests live to the end of the run: the garbage collector need not visit them again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


@pytest.fixture
def key():
    """The root key. Every test has fixed seeds, so a failure comes back."""
    return jax.random.key(20261120)


@pytest.fixture(scope="module", autouse=True)
def forget():
    """Compiled programs of one file are of no use to the next, and fill the memory."""
    yield
    jax.clear_caches()


QUICK = {"is": os.environ["JAX_DISABLE_MOST_OPTIMIZATIONS"] == "1"}


@pytest.hookimpl(tryfirst=True)  # before fixtures compile anything
def pytest_runtest_setup(item, may=QUICK["is"]):
    """Tests with the marker ``optimized`` compile as users' programs do."""
    quick = may and item.get_closest_marker("optimized") is None
    if quick != QUICK["is"]:
        QUICK["is"] = quick
        jax.config.update("jax_disable_most_optimizations", quick)
        os.environ["JAX_DISABLE_MOST_OPTIMIZATIONS"] = "1" if quick else "0"  # of processes that it starts
        jax.clear_caches()


@pytest.fixture(autouse=True)
def counted_anew():
    """chex counts the traces of a function by its source, so the cases of one test would share a counter."""
    chex.clear_trace_counter()


@pytest.fixture(scope="session")
def root():
    """The repository."""
    return ROOT


def assert_chi_square(observed, probabilities):
    """Observed counts against a law: chi-square where 10 or more are expected, binomial for the rest together."""
    observed, probabilities = np.asarray(observed, np.float64), np.asarray(probabilities, np.float64)
    assert observed.shape == probabilities.shape
    np.testing.assert_allclose(probabilities.sum(), 1, atol=1e-9)
    assert not np.any(observed[probabilities == 0]), "an impossible outcome was drawn"
    trials = observed.sum()
    expected = trials * probabilities
    common = expected >= 10
    if not common.all():
        assert_frequency(observed[~common].sum(), trials, min(1.0, probabilities[~common].sum()))
    statistic = np.sum((observed[common] - expected[common]) ** 2 / expected[common])
    assert chi2.sf(statistic, max(1, common.sum() - 1)) >= FALSE_ALARM


def assert_frequency(hits, trials, probability):
    """Exact two-sided binomial test."""
    assert binom.sf(hits - 1, trials, probability) >= FALSE_ALARM / 2
    assert binom.cdf(hits, trials, probability) >= FALSE_ALARM / 2


def assert_mostly(successes, trials, failure):
    """Fails if so few successes have probability below FALSE_ALARM where a trial fails with probability ``failure``."""
    assert binom.sf(trials - successes - 1, trials, failure) >= FALSE_ALARM, f"{successes} of {trials}"


@pytest.fixture(scope="session")
def stats():
    """The statistical assertions above."""
    return SimpleNamespace(
        false_alarm=FALSE_ALARM, chi_square=assert_chi_square, frequency=assert_frequency, mostly=assert_mostly
    )


def run_python(program, **environment):
    """Runs a program in a fresh process of its own JAX; its last printed line is JSON."""
    process = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONPATH": str(ROOT)} | environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert process.returncode == 0, process.stderr[-4000:]
    return json.loads(process.stdout.strip().splitlines()[-1])


@pytest.fixture(scope="session")
def fresh():
    """`run_python`."""
    return run_python
