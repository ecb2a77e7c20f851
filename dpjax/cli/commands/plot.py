"""`dpjax plot`: the figure of a result, drawn anew for a paper or a talk."""

import re
from collections.abc import Sequence
from typing import Any

from dpjax.cli.arguments.results import PlotCommand
from dpjax.cli.output import Answer, console
from dpjax.core.checks import InputError
from dpjax.experiments.results.result import Result
from dpjax.plots.files import check_formats
from dpjax.plots.options import Options
from dpjax.plots.styles import FIELDS

_ALWAYS = ("width", "font", "size", "dark", "dpi", "panels")
_OF_PLOT = ("lines", "k", "epsilon", "title", "caption")


def run(command: PlotCommand) -> Answer:
    """Draws one file per name in ``out``; all are validated before the first is written."""
    folder = command.result if command.result.is_dir() else command.result.parent
    paths = command.out or (folder / "curve.pdf",)
    check_formats([path.suffix[1:] for path in paths])
    how = options_of(command)
    result = Result.load(command.result)
    drawn = [str(drawn) for path in paths for drawn in result.plot(path, **how)]

    def show() -> None:
        screen = console()
        for path in drawn:
            screen.print(f"figure: {path}")

    return {"figures": drawn}, show


def options_of(command: Any) -> dict[str, Any]:
    """A command's flags as keyword arguments of `plots.plot_curve`, checked."""
    how = {name: getattr(command, name) for name in _ALWAYS}
    how["width"] = _number("width", command.width) if re.match(r"[\d.+-]", command.width) else command.width
    if isinstance(command, PlotCommand):
        how |= {name: getattr(command, name) for name in _OF_PLOT}
        how["styles"] = _styles(command.styles)
        how["scale"] = dict(_pair("scale", word) for word in command.scale)
        limits = (_pair("limits", word) for word in command.limits)
        how["limits"] = {axis: [_number("limits", end) for end in ends.split(":")] for axis, ends in limits}
    how = {name: value for name, value in how.items() if value not in (None, (), {})}
    Options.of(**how)
    return how


def _pair(name: str, word: str) -> tuple[str, str]:
    axis, equals, value = word.partition("=")
    if not equals:
        raise InputError(name, "AXIS=VALUE", repr(word), "give for example n=linear or n=100:1000")
    return axis, value


def _styles(words: Sequence[str]) -> dict[str, dict[str, Any]]:
    styles: dict[str, dict[str, Any]] = {}
    for word in words:
        match = re.fullmatch(rf"(.+)\.({'|'.join(FIELDS)})=(.*)", word)
        if match is None:
            advice = "give for example KLN.color=black"
            raise InputError("styles", f"NAME.FIELD=VALUE with a field of {', '.join(FIELDS)}", repr(word), advice)
        name, field, value = match.groups()
        lengths = field == "dashes" and re.fullmatch(r"[\d., ]+", value)
        styles.setdefault(name, {})[field] = (
            [_number("styles", length) for length in re.split(r"[, ]+", value)] if lengths else value
        )
    return styles


def _number(name: str, word: str) -> float:
    try:
        return float(word)
    except ValueError:
        raise InputError(name, "a number", repr(word), "give for example 3.3") from None
