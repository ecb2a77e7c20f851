"""The style sheet of a report: light and dark, for a screen of any width and for A4 paper."""

from importlib import resources

from dpjax.plots.page import Page
from dpjax.plots.styles import DARK, LIGHT

_SHADES = ("paper", "ink", "grey", "grid", "shade")
_OWN = {
    "link": ("#0b5394", "#8ab8ff"),
    "bad": ("#a8071a", "#ff8f87"),
    "wash": ("#fdecec", "#3b1a1c"),
    "notice": ("#fff6dd", "#332b14"),
    "rule": ("#8a6d1a", "#d9b64a"),
}


def variables(dark: bool) -> str:
    """The colors of the page and of the lines of its figures, as CSS variables."""
    shades, lines = Page(dark=dark).colors, DARK if dark else LIGHT
    named = {name: shades[name] for name in _SHADES} | {name: pair[dark] for name, pair in _OWN.items()}
    named |= {f"line{place}": color for place, color in enumerate(lines)}
    scheme = "dark" if dark else "light"
    return f"color-scheme: {scheme}; " + " ".join(f"--{name}: {color};" for name, color in named.items())


def names_of_colors() -> dict[str, str]:
    """The variable of each color of a light figure."""
    shades = Page(dark=False).colors
    lines = {color: f"var(--line{place})" for place, color in enumerate(LIGHT)}
    return lines | {shades[name]: f"var(--{name})" for name in _SHADES}


def style_sheet() -> str:
    """The CSS of a page."""
    rules = (resources.files("dpjax.reports") / "report.css").read_text("utf-8")
    return (
        f":root {{ {variables(False)} }}\n"
        f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {variables(True)} }} }}\n\n{rules}"
    )
