"""The figures of private set cover: what is drawn is what accounting says, and cells with their exact probabilities."""

import numpy as np
import pytest

from dpjax.accounting import calibrate_set_cover
from dpjax.core.checks import InputError
from dpjax.core.types import Neighboring
from dpjax.plots import read_metadata
from scripts import cover_rules
from scripts.arrangement import arrangement, plot_arrangement
from scripts.cover_rules import RULES, coefficients, curves, plot_set_cover

ADD, REPLACE = Neighboring.ADD_OR_REMOVE_ONE, Neighboring.REPLACE_ONE
ABOUT = {"seed": 3, "versions": {"dpjax": "0"}}


def test_coefficients_are_those_of_the_calibration():
    for rule in RULES:
        found = coefficients(rule, (3, 6), 2, 1.0, 1e-6, ADD)
        assert found == [calibrate_set_cover(1.0, 1e-6, m, 2, ADD, rule).coefficient for m in (3, 6)]
    assert coefficients("paper_corrected", (3,), 2, 1.0, 1e-6, REPLACE) is None


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(cover_rules, "_EPSILONS", 4)


def test_no_bound_is_below_the_two_databases(few):
    lines = {line.name: dict(zip(line.x, line.y, strict=True)) for line in curves(0.3, 6, 2, 60.0, 1.5)}
    assert set(lines) == {"advanced", "zcdp", "noisy", "noise_free", "instance"}
    for epsilon, least in lines["instance"].items():
        assert all(least <= lines[rule][epsilon] * (1 + 1e-9) for rule in ("advanced", "zcdp", "noisy", "noise_free"))
    assert max(lines["instance"].values()) > 1e-2


@pytest.mark.slow
def test_a_figure_of_rules_carries_what_made_it(tmp_path, few):
    files = [plot_set_cover(tmp_path / name, ABOUT, (3, 6), 2, 1.0, 1e-6, 6, "Rules") for name in ("one", "two")]
    assert [path.suffix for path in files[0]] == [".png", ".svg"] and read_metadata(files[0][0]) == ABOUT
    assert [path.read_bytes() for path in files[0]] == [path.read_bytes() for path in files[1]]


D, X = 8, np.array([[1, 1], [7, 2], [3, 6], [6, 6], [4, 3]])
TARGET = np.array([True, False, True, False, False])


def direction(angle, distance):
    """The normal and the least product with it, in coordinates of the square, of a point of the picture."""
    normal = np.stack([np.cos(np.radians(angle)), np.sin(np.radians(angle))], axis=-1)
    return normal, D * distance + normal.sum(axis=-1) * D / 2


def test_a_piece_is_where_the_picture_says():
    """The middle of every piece that is not thin hits just the rows of its cell."""
    law = arrangement(X, TARGET, D, 2.0, 2, 1.0)
    turn = np.ptp(law.pieces[..., 0], axis=1)
    assert law.pieces[..., 0].min() >= -45.001 and law.pieces[..., 0].max() <= 315.001 and turn.max() <= 90.001
    checked = 0
    for corners, cell in zip(law.pieces, law.place, strict=True):
        normal, least = direction(*((corners[6] + corners[-7]) / 2))
        far = X @ normal - least
        if np.abs(far).min() > 1e-6:
            assert np.array_equal(far > 0, law.hit[cell])
            checked += 1
    assert checked > 0.9 * len(law.place)
    assert len(law.hit) == len(np.unique(law.hit, axis=0)) == 5 * 4 + 2  # in general position


@pytest.mark.statistical
def test_areas_and_probabilities(stats):
    """Against lines drawn from the measure: angle uniform, distance uniform in the range of its chart."""
    law, draws = arrangement(X, TARGET, D, 2.0, 2, 1.0), 40_000
    rng = np.random.default_rng(5)
    slope = np.tan(np.arcsin((2 * rng.random(draws) - 1) / np.sqrt(2)))  # density (1 + s**2)**(-3/2)
    offset, chart, sign = -1.25 * D + 3.5 * D * rng.random(draws), rng.random(draws) < 0.5, rng.random(draws) < 0.5
    rows = np.where(chart[:, None, None], X[None, :, ::-1], X[None])
    hits = (rows[..., 1] - slope[:, None] * rows[..., 0] < offset[:, None]) == sign[:, None]
    codes = law.hit @ (1 << np.arange(5))
    place = np.searchsorted(codes, hits @ (1 << np.arange(5)))
    stats.chi_square(np.bincount(place, minlength=len(codes)), law.area)
    quality = np.minimum(law.hit[:, TARGET].sum(axis=1) - 1.0, -law.hit[:, ~TARGET].sum(axis=1))
    np.testing.assert_allclose(law.chance, law.area * np.exp(quality) / (law.area @ np.exp(quality)), rtol=1e-12)


def test_a_figure_of_cells_carries_what_made_it(tmp_path):
    files = [plot_arrangement(X, TARGET, D, 2.0, 2, 1.0, tmp_path / name, ABOUT, "Law", "five rows") for name in "ab"]
    assert [path.suffix for path in files[0]] == [".png", ".svg"] and read_metadata(files[0][1]) == ABOUT
    assert [path.read_bytes() for path in files[0]] == [path.read_bytes() for path in files[1]]
    with pytest.raises(InputError, match="rows"):
        arrangement(np.zeros((21, 2), int), np.zeros(21, bool), D, 0.0, 1, 1.0)
