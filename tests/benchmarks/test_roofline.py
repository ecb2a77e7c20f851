"""The roofline: amounts that are counted right, rows that say what they should, and another machine beside them."""

import json
import math
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import pytest

from benchmarks import __main__ as command
from benchmarks import roofline
from benchmarks.roofline import ceilings, device, kernels, memory, suite
from benchmarks.roofline.demand import RESOURCES, SORTED, demand
from dpjax.core import keys, random
from dpjax.core.checks import InputError

NAME = "laplace"


@pytest.fixture(scope="module")
def measured():
    return roofline.run([NAME], quick=True)


# --- amounts ---------------------------------------------------------------------------------------------------------


def amounts(function, units=1):
    return demand(jax.jit(function), jnp.uint32(0), units=units)


def test_random_words_exponentials_and_logarithms_are_counted():
    def draws(number):
        key, other = keys.root(0), jax.random.key(1)
        high, low = random.words(key, (96,))
        drawn = jax.random.bits(jax.random.fold_in(other, number), (24,), jnp.uint32)
        return jnp.exp(high.astype(jnp.float32)), jnp.log1p(low.astype(jnp.float32)), drawn

    found = amounts(draws, units=8)
    assert (found["exp"], found["log"]) == (96 / 8, 96 / 8)
    assert math.isclose(found["words"], (96 + 1 + 24) / 8)
    assert found["copy"] == (4 + 4 * (96 + 96 + 24)) / 8


def test_samplers_take_one_word_a_draw():
    for draw, logs in ((random.laplace, 1), (random.exponential, 1)):
        found = amounts(lambda number, draw=draw: draw(keys.of_trial(keys.root(0), number), (50,)), units=50)
        assert math.isclose(found["words"], 1 + 1 / 50) and found["log"] == logs


def test_sorted_keys_count_by_the_logarithm_of_the_row():
    def rows(length):
        return amounts(lambda number: jnp.sort((jnp.arange(4 * length) * number).reshape(4, length)))["sort"]

    assert rows(SORTED) == 4 * SORTED
    assert math.isclose(rows(SORTED**2), 2 * 4 * SORTED**2)


def test_the_selection_weighs_each_candidate_once():
    small = device.Sizes(block=1 << 10, blocks=2, beyond_cache=1 << 16, candidates=1 << 12)
    kernel = next(one for one in kernels.KERNELS if one.name == "exponential-1k")
    work, found = kernel.built(small)
    assert work() == 1 << 12 and 1 <= found["exp"] < 1.02 and found["words"] < 0.01
    race = next(one for one in kernels.KERNELS if one.name == "race-1k")
    assert 1 <= race.built(small)[1]["words"] < 1.01


# --- rows ------------------------------------------------------------------------------------------------------------


def test_a_kernel_is_a_fraction_of_the_ceiling_that_bounds_it(measured):
    (row,) = measured["rows"]
    known = {one["name"]: one["value"] for one in measured["ceilings"]}
    assert known.keys() == {*ceilings.CEILINGS} >= {*RESOURCES} and all(value > 0 for value in known.values())
    assert row["bound"] in ("words", "log") and row["amounts"]["words"] > 1
    assert math.isclose(row["ratio"], row["value"] / row["limit"])
    assert 0 < row["ratio"] <= row["explained"] < 2
    assert measured["device"]["jax"] == jax.__version__ and measured["device"]["platform"] == jax.default_backend()
    json.dumps(measured, allow_nan=False)


def test_goals_pass_or_fail(monkeypatch):
    monkeypatch.setattr(memory, "growth", lambda: (32.0, 10))
    assert suite._memory(None, 0)["passed"] and suite._memory(None, 0)["ratio"] == 2
    monkeypatch.setattr(memory, "growth", lambda: (65.0, 10))
    assert suite._memory(None, 0)["passed"] is False
    monkeypatch.setattr(memory, "growth", lambda: (0.0, 10))
    assert suite._memory(None, 0)["passed"]
    goals = {kernel.name: kernel.goal for kernel in kernels.KERNELS if kernel.goal}
    assert goals == {"race-1k": 0.6} and {"exponential-1k-numpy", "exponential-64k-numpy", "memory"} < {*roofline.ROWS}


def test_the_fastest_program_is_the_ceiling(monkeypatch):
    slow, fast = (lambda sizes: lambda: 1), (lambda sizes: lambda: 2)
    words = ceilings.Ceiling("words/s", "NumPy", {"slow": slow, "fast": fast}, lambda: lambda: 1)
    monkeypatch.setitem(suite.CEILINGS, "words", words)
    monkeypatch.setattr(suite, "rates", lambda works, seconds: [float(work()) for work in works])
    found = suite._ceiling("words", None, 0)
    assert found.value == 2 and found.work() == 2 and found.numpy == 1 and found.programs == {"slow": 1.0, "fast": 2.0}


def test_sizes_follow_the_memory_of_an_accelerator(monkeypatch):
    def of(memory):
        found = SimpleNamespace(platform="gpu", memory_stats=lambda: memory and {"bytes_limit": memory})
        monkeypatch.setattr(jax, "local_devices", lambda: [found])
        return device.sizes()

    small, large = of(8 << 30), of(64 << 30)
    assert of(None) == small and large.candidates == 8 * small.candidates and large.block == 8 * small.block
    for sizes, whole in ((small, 8 << 30), (large, 64 << 30)):
        assert 2 * sizes.beyond_cache < whole and 8 * 4 * sizes.candidates < whole
        assert sizes.block % SORTED == 0


@pytest.mark.slow
def test_memory_stays_within_the_limit():
    above, trials = memory.growth()
    assert 0 <= above <= memory.LIMIT and trials > 0


@pytest.mark.slow
def test_every_row_can_be_measured():
    found = roofline.run(quick=True)
    assert [row["name"] for row in found["rows"]] == [*roofline.ROWS]
    assert all(row["value"] >= 0 and row["ratio"] > 0 for row in found["rows"])


# --- the commands ----------------------------------------------------------------------------------------------------


def test_another_machine_stands_beside(measured, monkeypatch, tmp_path, capsys):
    asked = []

    def run(names, quick):
        asked.append(names)
        return measured

    monkeypatch.setattr(suite, "run", run)
    assert command.main([NAME, "--roofline", "--json"]) == 0
    earlier = json.loads(capsys.readouterr().out)
    earlier["rows"][0]["value"] = 123.0
    file = tmp_path / "cpu.json"
    file.write_text(json.dumps(earlier))
    assert command.main([NAME, "--roofline", "--beside", str(file)]) == 0
    printed = capsys.readouterr().out
    assert "| ceiling words |" in printed and "| 123 |" in printed and earlier["device"]["processor"] in printed
    assert jax.__version__ in printed and asked == [[NAME], [NAME]]


def test_wrong_words_are_refused(tmp_path, capsys):
    assert command.main(["laplac", "--roofline"]) == 2 and "laplace" in capsys.readouterr().err
    file = tmp_path / "other.json"
    file.write_text('{"rows": []}')
    assert command.main(["--roofline", "--beside", str(file)]) == 2
    assert "roofline --json" in capsys.readouterr().err
    assert command.main(["--beside", str(file)]) == 2 and "--roofline" in capsys.readouterr().err
    with pytest.raises(InputError, match="roofline"):
        roofline.only(file)
