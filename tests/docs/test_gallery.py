"""The gallery: every figure says how it was made, and every page of measurements what it shows."""

import re
import shlex

import gallery
import pytest
from pages import write_page

from dpjax.cli.arguments import COMMANDS
from dpjax.papers.pages import about, command_of
from dpjax.plots import read_metadata
from dpjax.plots.lines import Line, Panel, plot_lines


@pytest.fixture(scope="module")
def pages():
    return gallery.pages()


@pytest.mark.parametrize("figure", gallery.FIGURES, ids=lambda path: path.stem)
def test_a_figure_says_how_it_was_made(figure, root, pages):
    data = read_metadata(figure)
    assert {"config", "seed", "versions", "device"} <= data.keys()
    words = shlex.split(gallery.command(figure, data))
    if words[0] == "dpjax":
        assert words[1] in COMMANDS and (root / words[2]).samefile(figure)
    else:
        assert words[0] == "python" and f'"{figure.stem}"' in (root / words[1]).read_text()
    page = pages[f"gallery/generated/{figure.stem}.md"]
    assert page.startswith(f"# {gallery.title_of(figure)}\n") and "$" not in gallery.title_of(figure)
    for row in (f"| command | `{gallery.command(figure, data)}` |", f"| seed | {data['seed']} |", "| seconds | "):
        assert row in page
    assert f"| device | `{data['device']}` |" in page and data["versions"]["jax"] in page
    assert figure.stem in gallery.ALONE or gallery.shown_on(figure) is not None
    for name in data["config"].get("settings", {}):
        assert f"| `{name.replace('|', chr(92) + '|')}` |" in page


def test_every_figure_and_every_page_has_a_card(pages):
    index = pages["gallery/index.md"]
    listed = [name for names in gallery.TOPICS.values() for name in names]
    assert sorted(listed) == list(gallery._names()) and len(set(listed)) == len(listed)
    for figure in gallery.FIGURES:
        assert index.count(f"```{{image}} figures/{figure.name}\n") == 1
        assert index.count(f"(generated/{figure.stem}.md)") >= 1
    for name in listed:
        assert f":link: {name}\n" in index or f"]({name}.md)" in index
    assert gallery.pages() == pages


@pytest.mark.parametrize("name", gallery._names())
def test_a_page_says_what_it_shows_as_its_script_does(name, root):
    """Without numbers: those are in the tables, which the script writes."""
    text = gallery.summary(name)
    assert len(text) > 150 and text.endswith(".") and not text.startswith(("Written by", "Made by"))
    assert not re.search(r"\d", re.sub("dimension 1|64-bit", "", text)), text
    start = (root / f"docs/gallery/{name}.md").read_text().partition("\n\n")
    top = f"{start[0]}\n\n{start[2].partition(chr(10) * 2)[0]}\n\n"
    scripts = [text for path in (root / "scripts").glob("*.py") if f'"""{top}' in (text := path.read_text())]
    assert len(scripts) == (name != "benchmarks") and all(f'"{name}.md"' in text for text in scripts)


@pytest.mark.parametrize("name", [name for name in gallery._names() if name != "benchmarks"])
def test_a_page_is_wrapped_as_a_script_wraps_it(name, root, tmp_path):
    text = (root / f"docs/gallery/{name}.md").read_text()
    write_page(tmp_path / "page.md", text)
    assert (tmp_path / "page.md").read_text() == text


def test_titles_in_plain_text():
    titles = {figure.stem: gallery.title_of(figure) for figure in gallery.FIGURES}
    assert titles["one-tree"] == "n* over k" and titles["vc1-proper"] == "Examples over 1/alpha, epsilon = 4"
    assert titles["dp-sgd"].startswith("Convex polygons, epsilon = 1, delta = 10^-6: median")


def test_a_script_records_its_command(monkeypatch, tmp_path):
    plain = about({"script": "polygons"}, 3)
    assert plain.keys() == {"config", "seed", "versions", "device"}
    monkeypatch.setattr(
        "sys.argv", ["/a/folder/polygons.py", "--out", "/b", "--trials", "9", "--store=/c d", "--seed=3"]
    )
    found = about({"script": "polygons"}, 3)
    assert found["command"] == "python scripts/polygons.py --trials 9 --seed=3" and found["seconds"]() > 0
    assert about({"script": "another"}, 3) == about({}, 3) | {"config": {"script": "another"}}
    assert command_of(["plans.py", "--title", "two words"]) == "python scripts/plans.py --title 'two words'"
    line = Line("k", "k", [1.0, 2.0], [1.0, 2.0])
    plot_lines([Panel("", "n", "n", [line])], tmp_path / "figure", found, "nothing")
    recorded = read_metadata(tmp_path / "figure.png")
    assert 0 < recorded["seconds"] <= found["seconds"]()
    assert gallery.command(tmp_path / "figure.png", recorded) == found["command"]
