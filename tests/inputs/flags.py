"""Nonsense for every flag of every command, made from the dataclasses of the commands themselves."""

from collections.abc import Iterator
from dataclasses import fields
from typing import Any, get_args, get_type_hints

from dpjax.cli.arguments import COMMANDS
from dpjax.cli.arguments.numbers import Real, Whole

TINY = ("--concepts", "Points(16)", "--learners", "KLN", "--n", "20", "--trials", "8")
COMPLETE = {
    "curve": (*TINY, "--formats"),
    "plan": TINY,
    "trial": ("{result}", "--learners", "KLN", "--n", "20"),
    "learn": ("{table}", "--features", "age", "--target", "ill", "--bounds", "age=0:100", "--trials", "3"),
    "export": ("{result}",),
    "status": ("{result}",),
    "table": ("bns-multi", "--rows", "points, PAC"),
    "audit": ("stability",),
    "list": (),
    "predict": ("{learned}", "{table}"),
    "plot": ("{result}", "--out", "{out}/figure.pdf"),
    "check": ("dpjax.learners:ERM",),
    "dimension": ("intervals(3)",),
    "new": ("learner", "mine"),
    "attack": ("ERM", "--trials", "3"),
    "optimum": ("thresholds(2)", "--n", "1"),
    "atlas": ("thresholds(2)",),
    "merge": ("{out}/merged", "{result}"),
    "report": ("{result}",),
    "compact": ("{result}",),
    "compare": ("{result}", "{result}"),
    "ask": ("Points(16)", "--theorems", "--only", "KLN"),
    "theorem": ("bns:3.12",),
}
"""Of each command, words that complete it; a wrong flag after them is refused before anything runs."""
WHOLES = ("-1", "1.5", "nan", "true", "", "ten", "1e400", "2**1000", "1_0_")
REALS = ("nan", "inf", "-inf", "-1", "", "half", "true", "1e999", "2**0.5")
WORDS = ("", "no such name", "KLN(", "../KLN", "'")
FREE = {"title", "imports", "out", "compile_cache", "rows", "missing", "comment"}
"""Flags of free text and of places to write to."""


def cases() -> Iterator[tuple[str, ...]]:
    """Words of a command line, with {result}, {table}, {learned} and {out} to be filled in."""
    for name, kind in COMMANDS.items():
        hints = get_type_hints(kind, include_extras=True)
        for field in fields(kind):
            flag = "--" + field.name.replace("_", "-")
            for word in _nonsense(field.name, hints[field.name]):
                if not _positional(hints[field.name]):
                    yield (name, *_without(COMPLETE[name], flag), flag, word)
        yield (name, *COMPLETE[name], "--no-such-flag", "3")


def _nonsense(name: str, hint: Any) -> tuple[str, ...]:
    if name in FREE or hint is bool:
        return ()
    if _holds(hint, Whole):
        return WHOLES
    if _holds(hint, Real):
        return REALS
    return WORDS if _holds(hint, str) else ()


def _holds(hint: Any, kind: Any) -> bool:
    return hint == kind or any(_holds(part, kind) for part in get_args(hint) if part is not hint)


def _positional(hint: Any) -> bool:
    return "ositional" in repr(getattr(hint, "__metadata__", ""))


def _without(words: tuple[str, ...], flag: str) -> list[str]:
    """The words without a flag and its values."""
    found, skip = [], False
    for word in words:
        skip = word == flag or (skip and not word.startswith("--"))
        found += [] if skip else [word]
    return found
