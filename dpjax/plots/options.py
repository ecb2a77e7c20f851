"""Options of the figure of a result, validated before anything is drawn."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.plots.page import SCREEN, Page
from dpjax.plots.styles import check_styles

PANELS = ("curves", "k", "epsilon", "slack")
"""Success against n; n* against k; n* against epsilon; the theorem's n divided by n*."""
AXES = {"n": "log", "success": "linear", "k": "log", "epsilon": "log", "n_star": "log", "slack": "log"}
"""The axes of all panels, and their default scales."""
SCALES = ("linear", "log")


@dataclass(frozen=True)
class Options:
    """Options of the figure of a result.

    page: see `Page.of`. lines: learners to draw, in this order; None for all. styles: of some learners, see
    `styles.styles`. panels: some of `PANELS`; None for all that have data (slack only if there is one epsilon). k,
    epsilon: values to draw; None for all. scale, limits: of some of `AXES`. title: above the figure; None for the
    study's on a screen and none elsewhere, "" for none. caption: whether to draw the caption.
    """

    page: Page = SCREEN
    lines: tuple[str, ...] | None = None
    styles: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    panels: tuple[str, ...] | None = None
    k: tuple[int, ...] | None = None
    epsilon: tuple[float, ...] | None = None
    scale: Mapping[str, str] = field(default_factory=lambda: AXES)
    limits: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    title: str | None = None
    caption: bool = True

    @staticmethod
    def of(**how: Any) -> "Options":
        """Options from keyword arguments: fields of this class, and those of `Page.of` instead of ``page``.

        InputError for an unknown name or an invalid value.
        """
        looks = {"width", "font", "size", "dark", "dpi"}
        names = {entry.name for entry in fields(Options)} - {"page"}
        for name in how:
            checks.choice("option", name, names | looks)
        page = Page.of(**{name: value for name, value in how.items() if name in looks})
        values = {name: _CHECKS[name](how[name]) for name in names if how.get(name) is not None}
        values["scale"] = AXES | values.get("scale", {})
        for name, (low, _) in values.get("limits", {}).items():
            if values["scale"][name] == "log" and low <= 0:
                advice = "choose positive ends, or the scale linear"
                raise InputError(f"limits[{name!r}]", "positive ends on a logarithmic axis", f"{low:g}", advice)
        return Options(page, **values)


def _names(name: str, known: Sequence[str] | None = None) -> Any:
    def check(values: Any) -> tuple[str, ...]:
        words = _several(name, values)
        for word in words:
            if known is not None:
                checks.choice(name, word, known)
            checks.instance(name, word, str, "give names", "names")
        return words

    return check


def _several(name: str, values: Any) -> tuple[Any, ...]:
    """A list of at least one value, without duplicates."""
    if isinstance(values, str) or not isinstance(values, Sequence) or not values:
        raise InputError(name, "a list of one or more", repr(values), "leave it out for all")
    if len({*map(repr, values)}) < len(values):
        raise InputError(name, "each value once", repr(list(values)), "remove what is there twice")
    return tuple(values)


def _axes(name: str, values: Any, check: Any) -> dict[str, Any]:
    checks.instance(name, values, Mapping, f"give axes of {', '.join(AXES)} and their values", "axes and their values")
    return {checks.choice(name, axis, AXES): check(f"{name}[{axis!r}]", value) for axis, value in values.items()}


def _scale(where: str, value: Any) -> str:
    if "'success'" in where and value != "linear":
        raise InputError(where, "linear", repr(value), "a probability has a linear axis here")
    return checks.choice(where, value, SCALES)


def _limits(where: str, value: Any) -> tuple[float, float]:
    ends = list(value) if isinstance(value, Sequence) and not isinstance(value, str) else []
    if len(ends) != 2 or not checks.number(where, ends[0]) < checks.number(where, ends[1]):
        raise InputError(where, "two numbers, the smaller one first", repr(value), "give for example (100, 1000)")
    return float(ends[0]), float(ends[1])


def _title(value: Any) -> str:
    checks.instance("title", value, str, 'give the words, or "" for none')
    return value


def _caption(value: Any) -> bool:
    checks.instance("caption", value, bool, "give True or False")
    return value


_CHECKS: dict[str, Any] = {
    "lines": _names("lines"),
    "panels": _names("panels", PANELS),
    "styles": check_styles,
    "k": lambda values: tuple(checks.integer("k", value, 1) for value in _several("k", values)),
    "epsilon": lambda values: tuple(checks.epsilon(value) for value in _several("epsilon", values)),
    "scale": lambda values: _axes("scale", values, _scale),
    "limits": lambda values: _axes("limits", values, _limits),
    "title": _title,
    "caption": _caption,
}
