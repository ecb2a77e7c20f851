"""Pages of the commands: each flag on them is accepted, each default is the one that the command takes."""

import dataclasses
import re

import commands
import pytest
import site_text

from dpjax.cli.arguments import COMMANDS
from dpjax.cli.parsing import parse

SAMPLES = {"whole number": "3", "number": "0.5", "text": "word", "path": "a.file"}


@pytest.fixture(scope="module")
def pages():
    return commands.pages()


def words_of(one, values):
    return values if one.positional else [one.names[0], *values]


def required(name):
    """A command line with the required arguments alone."""
    ours = [one for one in commands.arguments(COMMANDS[name]) if one.required]
    return [name, *(word for one in ours for word in words_of(one, [SAMPLES[one.kind]]))]


def test_a_page_for_each_command(pages):
    assert pages.keys() == {f"reference/commands/{name}.md" for name in (*COMMANDS, "index")}
    index = pages["reference/commands/index.md"]
    assert set(re.findall(r"^\| \[`([\w-]+)`\]\(\1\.md\) \|", index, re.MULTILINE)) == COMMANDS.keys()
    assert commands.pages() == pages, "an unchanged build writes nothing"


@pytest.mark.parametrize("name", COMMANDS)
def test_defaults_and_flags_are_those_of_the_command(name, pages):
    page, plain = pages[f"reference/commands/{name}.md"], parse(required(name))
    every = commands.arguments(COMMANDS[name])
    assert len(every) == len(dataclasses.fields(COMMANDS[name])) and all(one.meaning for one in every)
    defaults, others = [], []
    for one in every:
        heads = [f"`{word}`" for word in one.names]
        assert f"\n{', '.join(heads)} · *{one.kind}" in page
        if one.required or one.positional:
            continue
        if one.kind == "yes or no":
            defaults.append(one.names[0] if one.default == "yes" else one.names[1])
            others.append([one.names[1] if one.default == "yes" else one.names[0]])
        else:
            values = [] if one.default is None else one.default.split() if one.several else [one.default]
            defaults += [one.names[0], *values] if one.default is not None else []
            others += [[word, SAMPLES[one.kind]] for word in one.names]
    assert parse([*required(name), *defaults]) == plain
    changed = parse([*required(name), *(word for words in others for word in words)])
    flags = [one for one in every if not one.positional and not one.required]
    assert sum(a != b for a, b in zip(dataclasses.astuple(changed), dataclasses.astuple(plain), strict=True)) == len(
        flags
    )


def test_a_flag_that_no_page_has_is_refused(capsys):
    for name in COMMANDS:
        with pytest.raises(SystemExit):
            parse([*required(name), "--no-such-flag"])
    capsys.readouterr()


def test_examples_are_those_of_the_docstring(pages):
    for name, command in COMMANDS.items():
        for example in re.findall(r"Example: (.*)", command.__doc__):
            assert f"\n{example}\n" in pages[f"reference/commands/{name}.md"]
            assert example.startswith(f"dpjax {name}")


def test_text_is_not_markup():
    said = site_text.markdown('n* of "Points(2**32)", --out, docs/guide/vc1.md and a < b in [0, 1]\n\nthen [x]', "../")
    code, rest = r"`Points(2**32)`, `--out`, [`docs/guide/vc1.md`](../guide/vc1.md)", r" and a \< b in \[0, 1\]"
    assert said == rf"n\* of {code}{rest}" + "\n\n" + r"then \[x\]"
    assert site_text.table(["a"], [["x | y"]]).endswith("| x \\| y |\n")
