"""Printed commands can be pasted, whatever things are called."""

import shlex
from pathlib import Path

import pytest

from dpjax.cli.parsing import parse
from dpjax.core.commands import command, imports, modules


def test_names_that_begin_with_a_dash():
    words = command("trial", Path("-a b"), "--learners", "--it's", "--k", 3, "--trial", 7)
    assert words == "dpjax trial './-a b' '--learners=--it'\"'\"'s' --k 3 --trial 7"
    found = parse(shlex.split(words)[1:])
    assert (found.config, found.learners, found.k, found.trial) == (Path("-a b"), ("--it's",), (3,), 7)
    assert command("curve", "s.toml", "--out", Path("-o"), "--prepare") == "dpjax curve s.toml --out=-o --prepare"


@pytest.mark.parametrize("odd", ["my module", "it's", "-odd", "a-b", "x\x1b\ny"])
def test_modules_that_no_flag_takes_are_left_out(odd):
    """A study in Python may have them; the end of their name is no module."""
    for config in (
        {"learners": {"a": f"{odd}:Mine", "b": "Independent(own.two:Mine)"}},
        {"learners": {"a": {"use": f"{odd}:Mine", "arguments": [{"use": "own.two:Mine"}]}}},
    ):
        assert modules(config) == ["own.two"]
        words = command("curve", Path("r"), config=config)
        line, comment = words.split("    # cannot run: ")
        assert line == "dpjax curve r" and ascii(odd) in comment and "\n" not in words and "\x1b" not in words
    plain = {"task": {"concepts": "Points(16)"}, "learners": {"a": "own.one:Mine(of.two:X)", "b": "dpjax.x:Y"}}
    assert imports(plain) == " --import of.two own.one" and imports(None) == ""
