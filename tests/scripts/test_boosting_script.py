"""The script of the page on boosting, in short."""

from dataclasses import replace

import numpy as np
import pytest


@pytest.fixture(scope="module")
def script(scripts):
    return scripts("boosting")


@pytest.fixture
def short(script, monkeypatch):
    """Two folds, one inner split, and two settings of each method."""
    monkeypatch.setattr(script, "FOLDS", 2)
    monkeypatch.setattr(script, "INNER", 1)
    few = {name: (settings[:2], run) for name, (settings, run) in script.METHODS.items()}
    monkeypatch.setattr(script, "METHODS", few)
    monkeypatch.setattr(script, "ROWS", 120)
    return script


def test_folds_are_disjoint(script):
    parts = list(script.folds(569, 3))
    assert len(parts) == script.FOLDS and all(len(own) == 113 for _, own in parts)
    assert len(np.unique(np.concatenate([own for _, own in parts]))) == 565
    assert all(not set(train) & set(own) for train, own in parts)


def test_settings_are_chosen_without_the_fold(short):
    """Other labels in the fold change nothing; other labels outside of it do."""
    data = short.load()
    assert data.cube.shape == (569, 30) and data.fine.shape == (569, 30) and data.fine.max() < 2**short.FINE + 1
    train, own = next(short.folds(data.rows, 0))
    flipped = replace(data, y=data.y.at[own].set(~data.y[own]))
    for name in ("Boosted(KLN)", "DP-SGD"):
        settings = [short.choose(name, 1.0, one, train, 0) for one in (data, flipped)]
        assert settings[0] == settings[1] and settings[0] in short.METHODS[name][0]


def test_the_page(short, tmp_path):
    short.main(["--trials", "2", "--out", str(tmp_path)])
    page = (tmp_path / "boosting.md").read_text()
    for words in ("| 0.1 | 0.25 | 28 | 328 |", "78,090", "1.284 delta", "| Boosted(KLN) |", "DP-SGD without noise"):
        assert words in page
    assert "No theorem speaks about the errors here" in page and "nan" not in page
