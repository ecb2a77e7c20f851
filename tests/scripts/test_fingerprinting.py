"""The page of codes and tracing: its parts with few trials, and the page."""

import math
from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.attacks import BonehShaw, Tardos, pirates
from dpjax.core import keys
from dpjax.core.checks import InputError

SECURITY = 0.05


@pytest.fixture(scope="module")
def module(scripts):
    return scripts("fingerprinting")


def test_the_constant_learner_is_accused_by_the_printed_code_only(module, monkeypatch):
    rows = list(module.printed(50, 0))
    assert [row[3].split(" (")[0] for row in rows] == ["50 of 50", "0 of 50"] * 2
    assert [row[2] for row in rows] == [489, 425, 5173, 3249] and all(row[-1] == 0 for row in rows)


def test_failures_are_counted_for_each_coalition(module, monkeypatch):
    monkeypatch.setattr(module, "CODES", {"code": BonehShaw(4)})
    monkeypatch.setattr(module, "LEGAL", (pirates.minority,))
    monkeypatch.setattr(module, "ANY", (module.opposed,))
    rows, words = module.failures(256, 0, legal=True)
    assert rows == [["code", "minority", *["0 (≤ 0.029), 0 (≤ 0.029)"] * 4]] and words.startswith("8 of 8 intervals")
    rows, words = module.failures(256, 0, legal=False)
    assert len(rows[0]) == 5 and words.startswith("3 of 3")
    monkeypatch.setattr(module, "CODES", {"code": BonehShaw(4, calibration="printed")})
    monkeypatch.setattr(module, "ANY", (module.constant,))
    rows, words = module.failures(256, 0, legal=False)
    assert rows[0][3].startswith("0 ") and words.startswith("3 of 3")  # user 1 is a member
    assert module.SECURITY == SECURITY


def test_exponents_of_exact_powers(module):
    users = (4, 8, 16, 32)
    for power in (2, 3):
        lengths = [1e6 * n**power * math.log(n / SECURITY) for n in users]
        fit = module.exponent([(n, k, k) for n, k in zip(users, lengths, strict=True)])
        assert fit.slope == pytest.approx(power)


def test_every_word_has_the_cube_root(module):
    fit = module.exponent(module.every_word())
    assert 1 / fit.slope == pytest.approx(1 / 3, abs=0.05)
    assert module.every_word()[1] == (4, 425, 425) and module.every_word()[-1][1] <= 2**14


def test_a_bracket_holds_the_exact_crossing(module):
    """ERM has all ones from one block on: accused if and only if d > 2 L."""
    sweep = module.SWEEPS[-1]
    low, high = sweep.bracket(4, 64, 0)
    exact = 5 * (math.floor(2 * math.log(4 / SECURITY)) + 1)
    assert low < exact <= high <= low * 2 ** (1 / 4)
    assert sweep.rate(4, exact, 64, 0).count == 64 and sweep.rate(4, exact - 1, 64, 0).count == 0


def test_the_slow_strategy_satisfies_the_marking_assumption(module):
    code = BonehShaw(8)
    bits, members = code.generate(keys.root(0)).bits, jnp.arange(8) < 5
    assert pirates.feasible(bits, members, module.slow(keys.root(1), bits, members))


def test_upper_bounds_are_read_from_the_table(module):
    text = module.MEASURED.read_text()
    found = module.upper_bounds(text, "approximate: points, agnostic, in k")
    assert found[0] == (16, 304) and len(found) == 7
    written = text.replace("| 16 | 279 | 304 |", "| 16 | 279 | - |")
    assert len(module.upper_bounds(written, "approximate: points, agnostic, in k")) == 6


def test_the_epsilon_of_a_gaussian(module):
    """delta(1) of mu = 1 is 0.127 (Balle and Wang 2018); 8.37 that of mu = 1.59."""
    assert module.gaussian_epsilon(1.0, 0.12693673750664397) == pytest.approx(1.0, abs=1e-6)
    assert module.gaussian_epsilon(1.59, 1e-6) == pytest.approx(8.37, abs=0.01)


def test_scores_are_certified_below_the_truth(module):
    informed, symmetric = module.informed(1000, 1)
    assert informed[1:3] != symmetric[1:3] and 0 < symmetric[3] < informed[3] < 8.37
    assert symmetric[2] < informed[2] == pytest.approx(1.58, abs=0.2)


def test_alarms_are_rare_and_leaks_are_found(module):
    assert module.false_alarms(10).count <= 6  # more with probability below 1e-6


def test_the_loop_in_numpy_accuses_as_the_code_does(module):
    """Everybody, by majority, from a code that is long enough; nobody from a tenth of it."""
    generator = np.random.default_rng(0)
    for k, many in ((6000, True), (100, False)):
        code = Tardos(8, SECURITY, k=k, threshold="chernoff")
        accused = sum(module.by_numpy(code, generator).mean() for _ in range(20)) / 20
        assert (accused > 0.95) if many else (accused < 0.05)


def test_rows_of_a_page_are_replaced(module, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("| 1000 | informed | 1 | 2 | 3 |\n| 1000000 | informed | - | - | - |\nend\n")
    module.update(page, [[10**6, "informed", 1.58, 5.57, 331.0]])
    assert page.read_text() == "| 1000 | informed | 1 | 2 | 3 |\n| 1000000 | informed | 1.58 | 5.57 | 331 |\nend\n"
    with pytest.raises(InputError, match="write the page first"):
        module.update(page, [[10**7, "informed", 1.58, 5.57, 331.0]])


@pytest.mark.slow
def test_the_page(module, monkeypatch, tmp_path):
    monkeypatch.setattr(module, "CODES", {"Boneh-Shaw": BonehShaw(8), "Tardos": Tardos(8)})
    few = {name: (code, concepts, users[:2]) for name, (code, concepts, users) in module.FRACTIONS.items()}
    monkeypatch.setattr(module, "FRACTIONS", few)
    monkeypatch.setattr(module, "SWEEPS", tuple(replace(one, users=one.users[:2]) for one in module.SWEEPS))
    assert module.main(["--trials", "200", "--out", str(tmp_path)]) == 2  # the planted leaks
    page = " ".join((tmp_path / "fingerprinting.md").read_text().split())
    assert "Of 4 private learners 0 are refuted, of 2 planted leaks 2" in page and "in 4 of 4 cases" in page
    assert "| 1000000 | informed | - | - | - |" in page and page.count("](figures/") == 2
    for name in ("fraction", "crossing"):
        assert (tmp_path / "figures" / f"fingerprinting-{name}.png").stat().st_size > 10_000
