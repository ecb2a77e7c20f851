"""Colors of a report: every text can be read on its ground, in light and in dark (WCAG 2.1, AA)."""

import re

import pytest

from dpjax.reports.style import variables

TEXTS = [
    ("ink", "paper"),
    ("grey", "paper"),
    ("link", "paper"),
    ("bad", "paper"),
    ("ink", "shade"),
    ("ink", "wash"),
    ("bad", "wash"),
    ("ink", "notice"),
]


def luminance(color):
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("dark", [False, True])
def test_text_has_contrast(dark):
    colors = dict(re.findall(r"--(\w+): (#\w{6})", variables(dark)))
    for text, ground in TEXTS:
        low, high = sorted(luminance(colors[name]) for name in (text, ground))
        assert (high + 0.05) / (low + 0.05) >= 4.5, (text, ground)
