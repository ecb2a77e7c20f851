"""DP-SGD on shapes at tiny size: rows, tuning, errors."""

from dataclasses import replace

import numpy as np
import pytest


@pytest.fixture
def script(scripts):
    return scripts("shape_networks")


def halves(n, rng):
    x, y = rng.random((2, n))
    return x, y, x < 0.5


def test_rows_are_those_of_the_other_families(script):
    data = script.Data.of(halves, 5, 1023, (8, 11, 3), [7])
    for trial in range(3):
        x, y, label = halves(5, np.random.default_rng([7, trial, 5]))
        np.testing.assert_array_equal(data.sample.x[trial, :5], np.floor(np.stack([x, y], 1) * 1023))
        np.testing.assert_array_equal(data.sample.y[trial, :5, 0], label)
        assert data.sample.mask[trial].tolist() == [True] * 5 + [False] * 3
        _, _, label = halves(11, np.random.default_rng([7, trial, 11]))
        np.testing.assert_array_equal(data.truth[trial, :, 0], label)


def test_the_better_configuration_is_kept(script, monkeypatch):
    monkeypatch.setattr(script, "STAGES", (2, 2, 3))
    data = script.Data.of(halves, 900, 1023, (1000, 400, 3), [1])
    good = replace(script.CHOICES[0], widths=(8,), steps=30, expected=128, learning_rate=0.2, clip=1.0)
    bad = replace(good, learning_rate=1e-6)
    assert script.tuned(data, 900, 1023, 4.0, [bad, good]) == good
    found = script.errors(data, 900, 1023, 4.0, [bad, good], 3)
    assert found.shape == (2, 3) and found[1].max() < 0.2 < found[0].mean()


def test_noise_is_calibrated_for_epsilon(script):
    choice = script.CHOICES[0]
    little, much = (script.multiplier(choice, 2000, epsilon) for epsilon in (4.0, 1.0))
    assert 0 < little < much
    assert script.network(choice, 1023).batch >= script.batch_for(choice.expected, choice.steps, 1.0, script.DELTA)
