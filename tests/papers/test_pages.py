"""Pages of docs/: prose is wrapped, everything else stays."""

from functools import partial
from pathlib import Path

import pytest
from pages import folder, options, write_page

pytestmark = pytest.mark.site

KEPT = (
    "# A title of one line",
    "| a | b |\n|---|---|\n| 1 | 2 |",
    "    dpjax table bns-multi",
    "- a point\n  goes on",
    "1. first\n2. second",
    "![a figure](figures/a.png)",
    "```python\na = 1\n\nb =\\\n2\n```",
    "> a\n> quotation",
    "$$\na = b\n$$",
    "+ one\n+ two",
    "<div>\na\n</div>",
    "[a]: b\n[c]: d",
    "A title\n=======",
    "a  \nb",
)


def test_a_page_is_wrapped_where_it_is_prose(tmp_path):
    words = " ".join(["word"] * 20)
    prose = f"{words}\nshort,\n{words} `a-b-c` 400 of them\n51\n{words}"
    write_page(tmp_path / "a.md", "\n\n".join([prose, *KEPT, prose]) + "\n\n\n")
    found = (tmp_path / "a.md").read_text()
    assert found.endswith("word\n") and not found.endswith("\n\n")
    assert max(map(len, found.splitlines())) <= 120
    assert all(f"\n\n{part}\n\n" in found for part in KEPT)
    first = found.split("\n\n")[0]
    assert first.split() == prose.split() and len(first.splitlines()) == 3
    signs = " ".join(["a - b > c + 1 * d # e"] * 30)
    write_page(tmp_path / "c.md", signs)
    lines = (tmp_path / "c.md").read_text().splitlines()
    assert len(lines) > 4 and " ".join(lines) == signs and not [one for one in lines if one[0] in "->+*#"]
    write_page(tmp_path / "new" / "folder" / "b.md", found)
    assert (tmp_path / "new" / "folder" / "b.md").read_text() == found


def test_options_of_scripts(tmp_path, capsys):
    out = tmp_path / "new" / "folder"
    assert folder("A page.", ["--out", str(out)]) == out and out.is_dir()
    given = options("A page.", 3, 7, ["--out", str(out), "--short"], flags={"short": "few of them", "long": "more"})
    assert (given.seed, given.trials, given.short, given.long) == (3, 7, True, False)
    for ask in (partial(folder, "A page."), partial(options, "A page.", 0, 1, flags={"short": "few of them"})):
        with pytest.raises(SystemExit, match="0"):
            ask(arguments=["--help"])
    assert "few of them" in capsys.readouterr().out


def test_no_script_takes_an_option_for_a_file():
    """Else `--help` would be written as a page."""
    for script in (Path(__file__).parents[2] / "scripts").glob("*.py"):
        assert "Path(sys.argv" not in script.read_text(), script.name
