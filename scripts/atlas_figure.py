"""A figure of n* against the parameters of classes: an SVG file that is read without scripts and without a network.

Each mark stands for all classes with one bracket and one value of the parameter; its title, which a browser shows when
the pointer is on it, names them. A dot is a known n*, a bar with ends a bracket.
"""

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from atlas_data import DIMENSIONS, ends

from dpjax.plots.styles import DARK, LIGHT

PANELS = {"log2 size": "log2 of the number of concepts"} | {
    name: DIMENSIONS[name] for name in ("VC", "LD", "threshold", "star", "TD")
}
_WIDTH, _HEIGHT, _LEFT, _TOP, _GAP = 260, 190, 56, 84, 26
_COLUMNS = 2  # a phone shows them without a loss of small letters
_NAMED = 6  # classes in a title
_STYLE = """
text {{ font: 11px 'DejaVu Sans', Verdana, sans-serif; fill: var(--ink); }}
.title {{ font-size: 13px; font-weight: bold; }}
.axis {{ stroke: var(--line); stroke-width: 1; }}
.bar {{ opacity: 0.75; }}
.mark:hover circle {{ stroke: var(--ink); stroke-width: 2; }}
.mark:hover .bar {{ stroke: var(--ink) !important; }}
svg {{ max-width: 100%; height: auto; background: var(--paper); }}
svg {{ --paper: #ffffff; --ink: #222222; --line: #bbbbbb; {light} }}
@media (prefers-color-scheme: dark) {{ svg {{ --paper: #14181e; --ink: #dddddd; --line: #555555; {dark} }} }}
"""


def write_figure(records: Sequence[dict[str, Any]], epsilon: float, path: Path) -> None:
    """Small panels, one for each parameter: n* at ``epsilon`` from below, a bar for each bracket that is open."""
    some = [one for one in records if ends(one, epsilon)[1] is not None]
    top = max(high for one in some if (high := ends(one, epsilon)[1]))
    width, height = _COLUMNS * (_WIDTH + _GAP) + _LEFT, -(-len(PANELS) // _COLUMNS) * (_HEIGHT + 2 * _GAP) + _TOP
    colors = [f"--of{i}: {{}};" for i in range(4)]
    style = _STYLE.format(
        light=" ".join(text.format(color) for text, color in zip(colors, LIGHT, strict=False)),
        dark=" ".join(text.format(color) for text, color in zip(colors, DARK, strict=False)),
    )
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img">',
        f"<title>Rows of the best private learner at epsilon = {epsilon:g}, against parameters of classes</title>",
        f'<style>{style}</style><rect width="{width}" height="{height}" style="fill: var(--paper)"/>',
        f'<text class="title" x="{_LEFT}" y="22">Rows n* of the best private learner, epsilon = {epsilon:g}</text>',
        f'<text x="{_LEFT}" y="42">dot: n* is known; bar: n* is between its ends (thicker for more classes)</text>',
    ]
    for points in range(1, 5):
        x = _LEFT + 110 * (points - 1)
        parts.append(f'<circle cx="{x + 4}" cy="58" r="5" style="fill: var(--of{points - 1})"/>')
        parts.append(f'<text x="{x + 14}" y="62">{points} point{"s" * (points > 1)}</text>')
    for place, name in enumerate(PANELS):
        row, column = divmod(place, _COLUMNS)
        x, y = _LEFT + column * (_WIDTH + _GAP), _TOP + row * (_HEIGHT + 2 * _GAP)
        parts += _panel(some, epsilon, name, top, x, y)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([*parts, "</svg>"]) + "\n", encoding="utf-8")


def _panel(some: Sequence[dict[str, Any]], epsilon: float, name: str, top: int, left: int, up: int) -> list[str]:
    values = sorted({one[name] for one in some})
    first, last = values[0] - 0.5, values[-1] + 0.5

    def across(value: float) -> float:
        return round(left + (value - first) / (last - first) * (_WIDTH - 20), 1)

    def down(n: float) -> float:
        return round(up + _HEIGHT - n / top * (_HEIGHT - 24), 1)

    parts = [f'<text class="title" x="{left}" y="{up + 12}">{escape(PANELS[name])}</text>']
    base, middle = up + _HEIGHT, up + _HEIGHT // 2
    parts.append(f'<text transform="translate({left - 32} {middle}) rotate(-90)" text-anchor="middle">n*</text>')
    parts.append(f'<path class="axis" fill="none" d="M{left} {up + 20} V{base} H{left + _WIDTH - 20}"/>')
    for n in range(0, top + 1, 5):
        parts.append(f'<text x="{left - 6}" y="{down(n) + 4}" text-anchor="end">{n}</text>')
    for value in range(int(values[0]), int(values[-1]) + 1):
        parts.append(f'<text x="{across(value)}" y="{base + 15}" text-anchor="middle">{value}</text>')
    groups: dict[Any, list[str]] = {}
    for one in some:
        groups.setdefault((one["points"], one[name], *ends(one, epsilon)), []).append(one["class"])
    for (points, value, low, high), names in sorted(groups.items()):
        x = across(value + (points - 2.5) * 0.12)
        shown = str(low) if low == high else f"{low} to {high}"
        more = f" and {len(names) - _NAMED} more" * (len(names) > _NAMED)
        kind = f"{len(names)} class{'es' * (len(names) > 1)} on {points} point{'s' * (points > 1)}"
        text = f"{kind} with {name} {value:g}: n* is {shown}. {'; '.join(names[:_NAMED])}{more}"
        color = f"var(--of{points - 1})"
        if low == high:
            radius = round(min(3 + 0.6 * len(names) ** 0.5, 9), 1)
            mark = f'<circle cx="{x}" cy="{down(low)}" r="{radius}" style="fill: {color}"/>'
        else:
            line = f"M{x - 4} {down(low)} h8 m-4 0 V{down(high)} m-4 0 h8"
            thick = round(min(1 + 0.25 * len(names) ** 0.5, 4), 1)
            mark = f'<path class="bar" fill="none" style="stroke: {color}; stroke-width: {thick}" d="{line}"/>'
        parts.append(f'<g class="mark"><title>{escape(text)}</title>{mark}</g>')
    return parts
