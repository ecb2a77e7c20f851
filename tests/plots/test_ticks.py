"""A logarithmic axis has a few labelled ticks, whatever its span."""

import pytest
from matplotlib.figure import Figure

from dpjax.plots import ticks
from dpjax.plots.ticks import at_values


@pytest.mark.grid(keep=24)
@pytest.mark.parametrize("low", [0.01, 0.9, 1, 7, 123, 99_999, 1e8])
@pytest.mark.parametrize("span", [1.2, 1.6, 3, 10, 50, 1e3, 1e6, 1e12])
@pytest.mark.parametrize("which", ["x", "y"])
def test_a_few_ticks_inside(low, span, which):
    axes = Figure().subplots()
    ticks.axis(axes, which, "log", low, low * span)
    axis = getattr(axes, f"{which}axis")
    places = axis.get_majorticklocs()
    labels = [axis.get_major_formatter()(place) for place in places]
    assert 2 <= len(places) <= 6
    assert len(places) <= 5 or span < 10
    assert all(low * 0.999 <= place <= low * span * 1.001 for place in places)
    assert len(set(labels)) == len(labels)


def test_labels_are_plain_until_they_would_be_long():
    axes = Figure().subplots()
    for values, expected in {
        (1, 4, 16, 64): ["1", "4", "16", "64"],
        (0.1, 0.5): ["0.1", "0.5"],
        (100, 20_000): ["100", "20000"],
        (100, 200_000): ["$10^{2}$", r"$2\cdot 10^{5}$"],
    }.items():
        at_values(axes, "x", values)
        assert [axes.xaxis.get_major_formatter()(value) for value in values] == expected
