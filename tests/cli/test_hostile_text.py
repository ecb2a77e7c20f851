"""Text of people and files is printed as it is: without markup, emoji codes and control characters."""

import io
import json
import re
from pathlib import Path

import pytest

from dpjax import cli
from dpjax.core.logs import plain
from dpjax.core.screen import Screen, Table

ESCAPE = "\x1b[31mred\x1b[0m \u202e\x9b1m"
NAME = f"votes:bug: [bold]x[/bold] [/] {ESCAPE}"
PRINTABLE = "votes:bug: [bold]x[/bold] [/]"  # a learner's name has no control characters
SHOWN = r"votes:bug: [bold]x[/bold] [/] \x1b[31mred\x1b[0m \u202e\x9b1m"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("caf\u00e9 \u5b57 \u03b5", "caf\u00e9 \u5b57 \u03b5"),
        ("a\tb\nc", "a\tb\nc"),
        (ESCAPE, r"\x1b[31mred\x1b[0m \u202e\x9b1m"),
        ("a\rb\x00\x7f", r"a\rb\x00\x7f"),
        ("\ud800", r"\ud800"),
        ("\u2028\u2066", r"\u2028\u2066"),
        ("zero\u200dwidth joiner", "zero\u200dwidth joiner"),
    ],
)
def test_control_characters_are_written_out(text, shown):
    assert plain(text) == shown


def test_a_screen_prints_text_as_it_is():
    out = io.StringIO()
    screen = Screen(file=out, width=400, force_terminal=True)
    table = Table(NAME, title=NAME)
    table.add_row(NAME)
    screen.print(table)
    screen.print(NAME, style="bold")
    bare = re.sub(r"\x1b\[[\d;]*m", "", out.getvalue())  # the screen's own styles
    lines = [line for line in bare.splitlines() if SHOWN in line]
    assert len(lines) == 4 and len(lines[1]) == len(lines[2]), "columns are as wide as what is printed"
    Screen(file=out, width=40, soft_wrap=False).print(table)  # as lines
    bare = re.sub(r"\x1b\[[\d;]*m", "", out.getvalue())
    assert not re.search("[\x1b\x9b\u202e\U0001f41b]", bare)


def sources():
    return [path for path in Path(cli.__file__).parents[1].rglob("*.py") if "templates" not in path.parts]


def test_nothing_prints_but_the_screen_and_what_writes_plain_text():
    """rich's own console is made in one place, and standard error is written in one."""
    consoles = {path.name for path in sources() if re.search(r"import .*\bConsole\b", path.read_text())}
    errors = {path.name for path in sources() if re.search(r"print\([^#]*sys\.stderr", path.read_text())}
    assert consoles == {"screen.py"} and errors == {"logs.py", "predict.py", "audit.py"}


def test_a_study_with_hostile_names(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    study = tmp_path / "study.toml"
    words = json.dumps(NAME, ensure_ascii=True)  # TOML has the same escapes
    study.write_text(
        f'title = {words}\n[task]\nconcepts = "Points(16)"\n[learners]\n{json.dumps(PRINTABLE)} = "ERM"\n'
        "[sweep]\nn = [4]\ntrials = 8\n"
    )
    assert cli.main(["curve", str(study), "--out", "out", "--formats", "none"]) == 0
    assert cli.main(["plan", str(study)]) == 0
    assert cli.main(["trial", str(study), "--n", "4"]) == 0
    assert cli.main(["curve", str(study), "--learners", f"{ESCAPE}()"]) == 2
    said = capsys.readouterr()
    assert said.out.count(PRINTABLE) >= 3
    assert not re.search("[\x1b\x9b\u202e\U0001f41b]", said.out + said.err)
