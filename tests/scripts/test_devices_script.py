"""The page on devices: what it counts, that everything on it has a reason, and that it is what the script writes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from pages import table

from dpjax.core.checks import InputError

QUICK = ("KLN", "ERM", "ParityLearner")


@pytest.fixture(scope="module")
def devices(scripts):
    return scripts("devices")


@pytest.fixture(scope="module")
def committed(root):
    return (root / "docs" / "gallery" / "devices.md").read_text()


@pytest.mark.parametrize("name", QUICK)
def test_a_row_of_the_page_is_what_the_program_has(devices, committed, name):
    count, found = devices.uses(name)
    row = devices.row(name, count, found)
    assert table(("a",) * 5, [row]).splitlines()[-1] in committed
    assert all(f"| {place} |" in committed and devices.reason(place)[0] in committed for place in found)


@pytest.mark.slow
def test_the_page_is_what_the_script_writes(devices, committed, tmp_path):
    devices.main(["--out", str(tmp_path)])
    assert (tmp_path / "devices.md").read_text() == committed


@pytest.fixture
def traces(devices, monkeypatch):
    """The script looks at the program of this function, in place of a learner's."""

    def use(program, argument):
        jaxpr = jax.make_jaxpr(program)(argument)
        monkeypatch.setattr(devices, "traced", lambda *_: type("Program", (), {"jaxpr": lambda self: jaxpr})())

    return use


def test_floats_and_integers_are_told_apart(devices, traces):
    """Of a program with two operations on float64, and one on uint64."""

    def program(x):
        with jax.enable_x64(True):
            wide = x.astype(jnp.float64)
            return jnp.sin(wide).astype(jnp.float32), x.astype(jnp.uint64)

    traces(program, np.float32(1))
    count, found = devices.uses("ERM")
    assert (count, devices.total(found, True), devices.total(found, False)) == (4, 3, 1)


def test_what_a_tpu_would_emulate_is_counted_by_elements(devices, traces):
    """8 conversions at 2 and 8 products of integers at 8; 16 conversions at 6 and 8 sums of floats at 20."""

    def program(x):
        with jax.enable_x64(True):
            whole = x.astype(jnp.uint64)
            return whole * whole, x.astype(jnp.float64) + x.astype(jnp.float64), jnp.sin(jnp.outer(x, x))

    traces(program, np.arange(8, dtype=np.float32))
    ((_, whole, integers, floats, growth),) = devices.emulated(["ERM"])
    others = float(whole) - 16 - 24
    assert others >= 128  # the outer product, and its sines
    assert (integers, floats) == (f"{16 / float(whole):.2f}", f"{24 / float(whole):.2f}")
    assert growth == f"{(8 * 2 + 8 * 8 + 16 * 6 + 8 * 20 + others) / float(whole):.1f}"


def test_a_file_without_a_reason_is_refused(devices):
    with pytest.raises(InputError, match="REASONS"):
        devices.reason("elsewhere.py:function")
    assert devices.reason("mechanisms/exponential.py:scaled") == devices.REASONS["mechanisms/exponential.py"]


def test_every_kind_of_learner_is_on_the_page(devices):
    plans = {type(devices.learner_of(name)).__name__ for name in devices.CASES}
    assert {type(devices.learner_of(name)).__name__ for name in devices.NAMES} == plans
