"""The same configuration gives the same bytes, however it was computed."""

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest

from dpjax.experiments.store.store import Store

TOML = """
[task]
concepts = "Points(2**20)"
distribution = "heavy(4, 0.23)"
[learners]
kln = "Independent(KLN, composition=basic)"
point = "PointLearner"
erm = "ERM"
[sweep]
k = 2
alpha = 0.2
trials = {trials}
{rest}
"""
SIZES = "n = [48, 60, 40]"
SEARCH = "[search]\nn_min = 2\nn_max = 64"
BOTH, SHORT = ("--learners", "kln", "point"), ("--learners", "kln", "--n", "48", "60", "--trials", "500")


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("compiled")


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    path = tmp_path_factory.mktemp("config") / "small.toml"
    path.write_text(TOML.format(trials=3000, rest=SIZES))
    return path


def command(config, out, cache, *flags):
    base = [sys.executable, "-m", "dpjax.cli", "curve", str(config), "--out", str(out), "--formats", "--json"]
    chosen = () if "--learners" in flags else BOTH
    return [*base, "--compile-cache", str(cache), *chosen, *flags]


def environment(x64="0"):
    return {**os.environ, "JAX_ENABLE_X64": x64, "PYTHONWARNINGS": "default"}


def run(config, out, cache, *flags, x64="0"):
    done = subprocess.run(command(config, out, cache, *flags), capture_output=True, text=True, env=environment(x64))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def digest(out):
    """Every cell's name and bytes."""
    files = sorted((out / "cells").glob("*/*.parquet"))
    assert files
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def computed(folder, config, cache, *flags):
    """(digest, answer, seconds) of a sweep on one device."""
    start = time.monotonic()
    answer = run(config, folder, cache, "--devices", "1", *flags)
    assert answer["computed"]["trials"] > 0
    return digest(folder), answer, time.monotonic() - start


@pytest.fixture(scope="module")
def reference(config, cache, tmp_path_factory):
    return computed(tmp_path_factory.mktemp("reference"), config, cache)


@pytest.fixture(scope="module")
def short(config, cache, tmp_path_factory):
    """The part of the sweep that compiles fast."""
    return computed(tmp_path_factory.mktemp("short"), config, cache, *SHORT)


@pytest.mark.parametrize(
    ("flags", "x64"),
    [
        pytest.param(("--devices", "1", "--in-flight", "4"), "0", marks=pytest.mark.slow),
        pytest.param(("--devices", "2", "--in-flight", "16"), "0", marks=pytest.mark.slow),
        pytest.param(
            ("--devices", "8", "--learners", "point"), "0", marks=pytest.mark.slow
        ),  # a program for each device
        pytest.param(("--devices", "1"), "1", marks=pytest.mark.slow),
    ],
    ids=["in flight 4", "two devices, in flight 16", "eight devices", "x64"],
)
def test_same_bytes_for_any_tiles_in_flight_devices_and_x64(flags, x64, config, cache, reference, tmp_path):
    answer = run(config, tmp_path, cache, *flags, x64=x64)
    found = digest(tmp_path)
    assert found.items() <= reference[0].items()
    assert all(point in reference[1]["points"] for point in answer["points"])
    assert len(found) == (3 if "point" in flags else 6)


def test_same_bytes_on_two_devices_with_other_types(config, cache, short, tmp_path):
    answer = run(config, tmp_path, cache, *SHORT, "--devices", "2", "--in-flight", "16", x64="1")
    assert digest(tmp_path) == short[0] and answer["points"] == short[1]["points"]


@pytest.mark.slow
def test_points_in_another_order_and_alone(config, cache, reference, tmp_path):
    run(config, tmp_path / "alone", cache, "--learners", "point", "--n", "60")
    alone = digest(tmp_path / "alone")
    assert len(alone) == 1
    assert alone.items() <= reference[0].items()
    run(config, tmp_path / "order", cache, "--learners", "point", "kln", "--n", "60", "40", "48")
    assert digest(tmp_path / "order") == reference[0]


@pytest.mark.slow
def test_a_finished_sweep_computes_nothing(config, cache, reference, tmp_path):
    first = run(config, tmp_path, cache)
    again = run(config, tmp_path, cache)
    assert again["computed"] == {"trials": 0, "programs": 0, "compiled": 0}
    assert {**again, "computed": 0} == {**first, "computed": 0}


def check_killed(times, config, cache, expected, folder, *flags):
    """Killed at random moments of a whole run, the sweep ends with the bytes of one that was not."""
    wanted, _, usual = expected
    moments = random.Random(20)
    for _ in range(times):
        process = subprocess.Popen(
            command(config, folder, cache, *flags),
            env=environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(usual * moments.uniform(0.2, 1.0))
        process.send_signal(signal.SIGKILL)
        process.wait()
    run(config, folder, cache, *flags)
    assert digest(folder) == wanted
    assert not list(folder.rglob(".tmp-*"))


@pytest.mark.slow  # test_kills.py kills a runner in short
def test_killed_and_run_again(config, cache, short, tmp_path):
    check_killed(2, config, cache, short, tmp_path, *SHORT)


@pytest.mark.slow
def test_killed_and_run_again_long(config, cache, reference, tmp_path):
    check_killed(5, config, cache, reference, tmp_path)


def test_interrupted_by_control_c_keeps_what_was_computed(config, cache, tmp_path):
    flags = ("--learners", "point", "--n", "60", "--trials", "100000000", "--devices", "1", "--in-flight", "1")
    listens = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "  # a background job does not
    )
    program = listens + "from dpjax.cli import main; sys.exit(main(sys.argv[1:]))"
    arguments = command(config, tmp_path, cache, *flags)
    assert arguments[:3] == [sys.executable, "-m", "dpjax.cli"]
    process = subprocess.Popen(
        [sys.executable, "-c", program, *arguments[3:]],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and not list(tmp_path.glob("cells/*/*.parquet")):
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 130
    assert "run the same command to continue" in errors
    with Store(tmp_path, read_only=True) as store:
        status = store.status()
    assert status.trials > 0 and not status.broken


@pytest.mark.slow
def test_search_and_curve_share_no_trial_and_resume_to_the_same_bytes(cache, tmp_path):
    path = tmp_path / "search.toml"
    path.write_text(TOML.format(trials=1000, rest=SEARCH))
    flags = ("--learners", "erm")
    first = run(path, tmp_path / "a", cache, *flags)
    assert first["n_star"][0]["n_low"] < first["n_star"][0]["n_high"]
    run(path, tmp_path / "b", cache, *flags, "--devices", "2", "--in-flight", "7")
    assert digest(tmp_path / "a") == digest(tmp_path / "b")
    again = run(path, tmp_path / "a", cache, *flags)
    assert again["computed"]["trials"] == 0
