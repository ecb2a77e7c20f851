"""The figure of an audit's privacy curve."""

import pytest

from dpjax.plots import privacy
from dpjax.plots.files import house_style
from dpjax.plots.page import Page


@pytest.mark.parametrize(("delta", "label"), [(0.0, "0"), (1e-20, "1e-20"), (0.25, None)])
def test_the_claim_is_within_the_figure(delta, label):
    """At the lower edge, with its delta in words, if a logarithmic axis cannot show that; also right of the curve."""
    report = {
        "target": "t",
        "calibration": "corrected",
        "verdict": "consistent",
        "confidence": 1.0,
        "claim": {"epsilon": 3.0, "delta": delta},
        "curve": [[0.0, 0.4], [1.0, 0.1], [2.0, 0.0]],
    }
    page = Page.of()
    with house_style(page):
        (axes,) = [axes for part in privacy._figure(report, page).subfigs for axes in part.axes if axes.lines]
    claimed = axes.lines[-1]
    (epsilon,), (at,) = claimed.get_data()
    (low, high), (left, right) = axes.get_ylim(), axes.get_xlim()
    assert epsilon == 3.0 and left <= epsilon <= right and low <= at <= high and not claimed.get_clip_on()
    assert at == (low if label else delta)
    assert [text.get_text() for text in axes.texts] == ([label] if label else [])
