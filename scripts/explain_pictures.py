"""Draws the pictures of docs/explain as SVG: boxes, arrows and words on a light ground of their own.

They are legible on light and dark pages. The curve of the bracket is 1 - exp(-n / 100), and its ends are those of
docs/explain/bracket.md.

Run: python scripts/explain_pictures.py [--out FOLDER]
"""

import argparse
import math
from html import escape
from pathlib import Path

INK, FAINT, GROUND, BLUE, RED, YELLOW = "#1c2733", "#8a96a3", "#ffffff", "#cfe0f5", "#f5d5cf", "#f7ebc3"
BAND = "#efcf6e"
"""Strong enough to be seen where dark mode turns light and dark around."""


class Picture:
    """Parts of one SVG, with a title that is read aloud."""

    def __init__(self, width: int, height: int, title: str):
        self.width, self.height, self.title, self.parts = width, height, title, list[str]()

    def text(self, x: float, y: float, words: str, *, size: int = 14, anchor: str = "middle") -> None:
        """One line of words, centered on x unless anchored elsewhere; y is its base line."""
        style = f'font-size="{size}" text-anchor="{anchor}" fill="{INK}"'
        self.parts.append(f'<text x="{x:g}" y="{y:g}" {style}>{escape(words)}</text>')

    def box(self, x: float, y: float, width: float, height: float, *lines: str, fill: str = BLUE) -> None:
        """A rounded box with lines of words: the first large, the others small."""
        where = f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"'
        self.parts.append(f'<rect {where} rx="6" fill="{fill}" stroke="{INK}" stroke-width="1"/>')
        first = y + height / 2 + 5 - 8.5 * (len(lines) - 1)
        for number, line in enumerate(lines):
            self.text(x + width / 2, first + 17 * number, line, size=14 if number == 0 else 12)

    def line(self, *points: tuple[float, float], ink: str = INK, width: float = 1.5, dashed: bool = False) -> None:
        """A line through points."""
        path = " ".join(f"{x:g},{y:g}" for x, y in points)
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        self.parts.append(f'<polyline points="{path}" fill="none" stroke="{ink}" stroke-width="{width:g}"{dash}/>')

    def arrow(self, *points: tuple[float, float]) -> None:
        """A line with a head at its last point."""
        self.line(*points)
        (x0, y0), (x1, y1) = points[-2:]
        angle = math.atan2(y1 - y0, x1 - x0)
        ends = [(x1 - 9 * math.cos(angle + turn), y1 - 9 * math.sin(angle + turn)) for turn in (0.4, -0.4)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in ((x1, y1), *ends))
        self.parts.append(f'<polygon points="{path}" fill="{INK}"/>')

    def svg(self) -> str:
        """The file."""
        head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" width="{self.width}"'
        ground = f'<rect width="{self.width}" height="{self.height}" rx="8" fill="{GROUND}"/>'
        parts = "\n".join(self.parts)
        style = f'{head} font-family="sans-serif" role="img">\n<title>{escape(self.title)}</title>'
        return f"{style}\n{ground}\n{parts}\n</svg>\n"


def law() -> Picture:
    """A database becomes a law, and the law is read in three ways."""
    drawn = Picture(760, 250, "One law, three readings")
    drawn.box(20, 95, 120, 60, "database", "rows, masked", fill=YELLOW)
    drawn.box(190, 95, 130, 60, "mechanism", "epsilon", fill=GROUND)
    drawn.box(370, 95, 110, 60, "law", "a pytree")
    drawn.arrow((140, 125), (188, 125))
    drawn.arrow((320, 125), (368, 125))
    readings = (
        ("sample(key)", "one outcome: trials"),
        ("support(limit)", "all outcomes: exact audits"),
        ("log_prob(outcome)", "two databases compared"),
    )
    for number, (name, use) in enumerate(readings):
        y = 20 + 75 * number
        drawn.arrow((480, 125), (538, y + 30))
        drawn.box(540, y, 200, 60, name, use, fill=RED)
    return drawn


def plan() -> Picture:
    """What runs on the host and what in the program."""
    drawn = Picture(760, 250, "A plan is computed on the host and read by learn and guarantee")
    drawn.text(150, 26, "on the host, in float64", size=13)
    drawn.text(590, 26, "in the program, traced, float32", size=13)
    drawn.line((380, 15), (380, 235), ink=FAINT, width=1, dashed=True)
    drawn.box(20, 45, 110, 70, "budget", "epsilon, delta", "alpha, beta, n", fill=YELLOW)
    drawn.arrow((130, 80), (178, 80))
    drawn.box(180, 45, 160, 70, "plan", "leaves: float32", "static: sizes, rounds")
    drawn.arrow((340, 80), (448, 80))
    drawn.box(450, 45, 110, 70, "learn", "key, sample", fill=GROUND)
    drawn.arrow((560, 80), (608, 80))
    drawn.box(610, 45, 130, 70, "hypotheses", "k of them", fill=RED)
    drawn.arrow((260, 115), (260, 163))
    drawn.box(180, 165, 160, 60, "guarantee", "adds up the leaves", fill=RED)
    drawn.text(450, 160, "another budget: the same program", size=13, anchor="start")
    drawn.text(450, 182, "another static field: another program", size=13, anchor="start")
    return drawn


def trial() -> Picture:
    """Trials in blocks, blocks in a tile, bytes in a cell."""
    drawn = Picture(760, 240, "Trials, blocks, a tile and a cell")
    for block in range(4):
        x = 20 + 118 * block
        drawn.box(x, 40, 108, 66, fill=GROUND)
        for row in range(3):
            for column in range(8):
                where = f'x="{x + 8 + 12 * column}" y="{48 + 18 * row}" width="9" height="14"'
                drawn.parts.append(f'<rect {where} fill="{BLUE}" stroke="{INK}" stroke-width="0.5"/>')
    drawn.text(74, 30, "a block: at once, vmap", size=13)
    drawn.text(310, 30, "blocks of a tile, one after the other", size=13)
    drawn.line((20, 118), (20, 126), (482, 126), (482, 118))
    drawn.text(251, 146, "a tile: one call of the program, on one device", size=13)
    drawn.arrow((492, 73), (548, 73))
    drawn.box(550, 30, 190, 86, "a cell", "one Parquet file", "a byte for each trial", "of one point", fill=YELLOW)
    drawn.box(20, 170, 720, 52, "one trial: key → targets, sample → hypotheses → exact error → one byte", fill=RED)
    return drawn


def bracket() -> Picture:
    """Success against n, and what the bracket says."""
    drawn = Picture(760, 330, "Success against n, the level and the bracket")
    left, right, top, bottom, most = 70, 740, 20, 280, 400

    def at(n: float, p: float) -> tuple[float, float]:
        return round(left + (right - left) * n / most, 1), round(bottom - (bottom - top) * p, 1)

    low, high = at(197, 0)[0], at(256, 0)[0]
    where = f'x="{low}" y="{top}" width="{high - low:.1f}" height="{bottom - top}"'
    drawn.parts.append(f'<rect {where} fill="{BAND}"/>')
    drawn.line((left, top), (left, bottom), (right, bottom))
    drawn.line(at(0, 0.9), at(most, 0.9), ink=FAINT, width=1, dashed=True)
    drawn.text(left + 8, at(0, 0.9)[1] - 6, "1 - beta", size=12, anchor="start")
    drawn.line(*(at(n, 1 - math.exp(-n / 100)) for n in range(0, most + 1, 5)), ink="#003b80", width=2.5)
    for n, words, shift in ((197, "n_low", -14), (256, "n_high", 14), (231, "n*", 0)):
        drawn.line(at(n, 0), (at(n, 0)[0], bottom + 6))
        drawn.text(at(n, 0)[0] + shift, bottom + 22, words, size=13)
    drawn.line(at(231, 0), at(231, 0.9), ink=FAINT, width=1, dashed=True)
    drawn.text(right - 10, bottom - 10, "n", anchor="end")
    for number, words in enumerate(("p(n) = probability that", "all k hypotheses are good")):
        drawn.text(left + 145, bottom - 52 + 18 * number, words, size=13, anchor="start")
    drawn.text(405, 322, "p is below 1 - beta at n_low and at least 1 - beta at n_high: n* is between them", size=12)
    return drawn


def neighbors() -> Picture:
    """The two relations."""
    drawn = Picture(760, 260, "Replace-one and add-or-remove-one")
    rows = (("3", "1"), ("17", "0"), ("20", "1"), ("8", "0"))

    def table(x: float, shown: tuple[tuple[str, str], ...], changed: int | None) -> None:
        for number, (element, label) in enumerate(shown):
            fill = RED if number == changed else BLUE
            drawn.box(x, 55 + 34 * number, 100, 28, f"{element}, {label}", fill=fill)

    drawn.text(170, 28, "replace-one: n is public")
    table(45, rows, None)
    table(195, (*rows[:2], ("5", "1"), rows[3]), 2)
    drawn.arrow((145, 137), (193, 137))
    drawn.text(170, 220, "n = 4 on both sides", size=13)
    drawn.line((380, 20), (380, 235), ink=FAINT, width=1, dashed=True)
    drawn.text(570, 28, "add-or-remove-one: n is private")
    table(445, rows[:3], None)
    table(595, rows, 3)
    drawn.arrow((545, 171), (593, 171))
    drawn.text(570, 220, "n = 3 and n = 4", size=13)
    return drawn


def keys() -> Picture:
    """From the seed to the streams of a trial, from top to bottom, as narrow as a phone."""
    drawn = Picture(360, 392, "How the key of a trial is derived")
    steps = (
        (14, 48, ("root", "the seed")),
        (94, 66, ("point", "task, purpose", "(searches: n)")),
        (192, 48, ("trial", "its number, t")),
    )
    for number, (y, height, lines) in enumerate(steps):
        drawn.box(105, y, 150, height, *lines, fill=BLUE if number else YELLOW)
        if number:
            drawn.arrow((180, y - 32), (180, y - 2))
            drawn.text(190, y - 12, "fold_in", size=12, anchor="start")
    for x, width, words in ((71, 110, '"data"'), (256, 90, '"learner"')):
        drawn.arrow((180, 240), (x + width / 2, 270))
        drawn.box(x, 272, width, 40, words, fill=GROUND)
    for number, words in enumerate(('"target"', '"sample"', '"noise"')):
        drawn.arrow((126, 312), (47 + 80 * number, 342))
        drawn.box(10 + 80 * number, 344, 73, 34, words, fill=RED)
    drawn.arrow((301, 312), (301, 342))
    drawn.box(264, 344, 74, 34, "draws", fill=RED)
    return drawn


PICTURES = {one.__name__: one for one in (law, plan, trial, bracket, neighbors, keys)}


def main() -> None:
    """Writes all pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/explain/figures"), help="folder of the SVG files")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    for name, make in PICTURES.items():
        (out / f"{name}.svg").write_text(make().svg(), encoding="utf-8")


if __name__ == "__main__":
    main()
