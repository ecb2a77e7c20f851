"""Text of figures: numbers, mathematics where there is some, and lines that fit."""

import matplotlib
import pytest
from matplotlib.figure import Figure
from packaging.version import Version

from dpjax.plots import files
from dpjax.plots.files import house_style
from dpjax.plots.lines import Line, Panel, plot_lines
from dpjax.plots.page import Page
from dpjax.plots.words import families_with, missing, number, typeset, width, wrapped

PAGES = [Page.of("column"), Page.of("page", font="serif", size=11), Page.of(8, font="DejaVu Serif", dark=True)]
FINE = Version(matplotlib.__version__) >= Version("3.11")  # before, drawn letters had widths of whole pixels


def test_numbers_are_short():
    expected = {1.0: "1", 0.5: "0.5", 1e-6: "10^{-6}", 2.5e-7: r"2.5 \cdot 10^{-7}", 0.0: "0", 2e7: r"2 \cdot 10^{7}"}
    assert {value: number(value) for value in expected} == expected


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain_name {", "plain_name {"),
        ("over $2^{32}$", "over $2^{32}$"),
        ("costs $5", r"costs \$5"),
        ("cost $5 & $6", r"cost \$5 & \$6"),
        ("$5-$6", r"\$5-\$6"),
        ("$x$ and $y$", "$x$ and $y$"),
        ("$k$", "$k$"),
        ("_KLN $a_{b$ 50%", r"_KLN \$a_{b\$ 50%"),
        (r"$\frac$ and", r"\$\frac\$ and"),
        (r"$\alpha$ for \$5", r"$\alpha$ for \$5"),
        ("a $ b $ c $", r"a \$ b \$ c \$"),
    ],
)
def test_what_is_no_mathematics_stands_as_it_is(text, shown):
    assert typeset(text) == shown
    with house_style():
        Figure().text(0, 0, typeset(text)).figure.draw_without_rendering()


@pytest.mark.parametrize("page", PAGES)
def test_lines_fit_and_lose_nothing(page):
    text = r"Words, $k = 1$, and $\varepsilon = 10^{-6}$ or \$5: " * 4 + "x" * 90 + " end\N{NO-BREAK SPACE}here"
    with house_style(page):
        lines = wrapped(text, 2.0, page, page.size)
        assert len(lines) > 4 and all(0 < width(line, page, page.size) <= 2.0 for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert all(line.count("$") % 2 == line.count(r"\$") % 2 for line in lines), "no line breaks inside mathematics"


@pytest.mark.parametrize("page", PAGES)
def test_a_width_is_that_of_the_drawn_text(page):
    with house_style(page):
        for text in ("some words", r"words and $k^{0.53}$", r"costs \$5"):
            drawn = Figure(dpi=600).text(0, 0, text, fontsize=page.size).get_window_extent().width / 600
            assert width(text, page, page.size) == pytest.approx(drawn, abs=0.01 if FINE else 0.02)


def test_letters_that_the_font_lacks_come_from_another_installed_one(tmp_path, caplog, monkeypatch):
    """STIX, which comes with matplotlib, has a letter that DejaVu Sans lacks."""
    letter = "\N{COMBINING LONG VERTICAL LINE OVERLAY}"
    line = Line(f"a{letter}b", f"a{letter}b", [1.0, 2.0], [1.0, 2.0])

    def drawn():
        plot_lines([Panel("", "x", "y", [line])], tmp_path / "a", {"versions": {}}, "A title", formats=("svg", "png"))
        return (tmp_path / "a.svg").read_text(encoding="utf-8")

    with house_style():
        assert missing(["plain \n", f"a{letter}"]) == {letter}
        (family,) = families_with({letter})
    assert family in drawn() and not caplog.records
    assert matplotlib.rcParams["font.family"] == ["sans-serif"], "the caller's style is as it was"
    monkeypatch.setattr(files, "families_with", lambda letters: [])
    assert family not in drawn() and f"no installed font has {letter}: " in caplog.text
