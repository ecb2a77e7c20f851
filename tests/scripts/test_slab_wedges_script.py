"""The page of times of slab wedges, with a selection that takes no time; its rows and exponents."""

import numpy as np
import pytest


@pytest.fixture
def slabs(scripts, monkeypatch):
    """The script, on small sizes."""
    module = scripts("slab_wedges")
    monkeypatch.setattr(module, "ROWS", (8, 16))
    monkeypatch.setattr(module, "SIZES", (4, 64))
    monkeypatch.setattr(module, "EVERY", 16)
    monkeypatch.setattr(module, "MANY", 16)
    for name, value in {"FINE": 6, "LEARNED": (16,), "TEST": 200}.items():
        monkeypatch.setattr(module, name, value)
    nothing = lambda key, sample, plan: sample, lambda found, x: np.zeros(len(x), bool)
    monkeypatch.setattr(module, "programs", lambda by, n, plan: (*nothing, plan))
    monkeypatch.setattr(module, "program", lambda n, d: lambda key, points, label, score: 7)
    return module


def test_the_page(slabs, tmp_path):
    slabs.main(["--out", str(tmp_path)])
    text = (tmp_path / "slab-wedges.md").read_text()
    assert text.count("| exponent |") == 2 and "| 2^64 - 1 |" in text
    lines = [line.split(" | ") for line in text.splitlines() if line.startswith("| 16 | ") and line.count("|") == 7]
    share = [np.mean(law(200, np.random.default_rng([3, 0, 200]))[2]) for law in (slabs.beside_an_edge, slabs.star)]
    assert [line[2] for line in lines] == ["2", "2"] and all(0.1 < one < 0.7 for one in share)
    assert all(abs(float(line[5].split(",")[0]) - one) < 0.1 for line, one in zip(lines, share, strict=True))
    assert text.count("| 7 |") == 2 * 2 * 2 + 9 + 5


def test_rows_are_on_the_grid(slabs):
    for law in (slabs.star, slabs.ring, slabs.beside_an_edge, slabs.coins, slabs.checkerboard, *slabs.LINES):
        x, y, label = law(500, np.random.default_rng(0))
        assert 0.1 < label.mean() < 0.9 and ((x >= 0) & (x < 1) & (y >= 0) & (y < 1)).all()
        small, large = slabs.encoded((x, y), 1023), slabs.encoded((x, y), 2**64 - 1)
        np.testing.assert_array_equal(small, np.floor(np.stack([x, y], 1) * 1023))
        np.testing.assert_allclose(large[:, [0, 2]] / 2.0**32, np.stack([x, y], 1), atol=2.0**-31)


def test_exponent(slabs):
    assert slabs.exponent([10, 100, 1000], [2.0, 20.0, 200.0]) == pytest.approx(1)
