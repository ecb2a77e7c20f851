"""Pages of docs/: prose is wrapped, everything else stays."""

from dpjax.experiments.reports import write_page

KEPT = (
    "# A title of one line", "| a | b |\n|---|---|\n| 1 | 2 |", "    dpjax table bns-multi", "- a point\n  goes on",
    "1. first\n2. second", "![a figure](figures/a.png)", "```python\na = 1\n\nb =\\\n2\n```", "> a\n> quotation",
    "$$\na = b\n$$", "+ one\n+ two", "<div>\na\n</div>", "[a]: b\n[c]: d", "A title\n=======", "a  \nb",
)  # fmt: skip


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
