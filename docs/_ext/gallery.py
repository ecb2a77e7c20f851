"""The gallery: a card for every figure, a line for every page without one, and a page on how each figure was made.

What is said of a figure is read from its own metadata; what is said of a page is its first paragraph.
"""

import functools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import site_text
from PIL import Image
from site_text import code
from widths import size

from dpjax.plots import read_metadata
from dpjax.reports.study import as_toml

_ROOT = Path(__file__).resolve().parents[2]
_HERE = _ROOT / "docs/gallery"
FIGURES = sorted(_HERE.glob("figures/*.png"))
TOPICS = {
    "Which learner, and how many rows": ["exponents", "bns-multi", "ask", "slack", "multi-learners", "plans"],
    "One class of VC dimension 1": [
        "vc1-height",
        "vc1-proper",
        "vc1-subsample-size",
        "median-domains",
        "domains",
        "one-tree",
    ],
    "Conjunctions and shapes in the plane": [
        "conjunctions",
        "polygons",
        "set-cover",
        "boundary",
        "slab-wedges",
        "union-edges",
        "union-shapes",
        "dp-sgd",
    ],
    "Finite classes and generic learners": [
        "dimensions",
        "generic-learners",
        "representations",
        "multiclass",
        "boosting",
    ],
    "What no private learner can do": ["optimum", "atlas", "optimal-rule", "fingerprinting"],
    "Data and sanitizers": ["hospital", "mwem", "threshold-sanitizers"],
    "Audits": ["corrected-constants", "audits", "audit-power", "planted-bugs"],
    "Speed and devices": ["benchmarks", "gpu", "devices"],
}
"""Headings of the gallery, and the pages of measurements under each, by the names of their files."""
ALONE = {
    "composition": (
        "Which learner, and how many rows",
        "n* against k for two ways to add up privacy",
        "How n* grows with the number of concepts under basic and under zCDP composition; by `make demo`.",
    ),
    "four-learners": (
        "Which learner, and how many rows",
        "success probability against n, and n* against k",
        "How often four learners learn k point functions from n rows, and n* against k and epsilon; by `dpjax curve "
        "configs/demo.toml`.",
    ),
    "vc1-figure-one": (
        "One class of VC dimension 1",
        "a tree of eight concepts, with the votes of subsamples",
        "A small class drawn as its tree, with the votes that subsamples give to the nodes.",
    ),
}
"""Figures that no page of measurements shows: heading, the text that stands for the image, and a caption."""


def pages() -> dict[str, str]:
    """The pages by their paths: the gallery, and how the figures were made, one page for each."""
    found = {f"gallery/generated/{figure.stem}.md": _figure_page(figure) for figure in FIGURES}
    return {"gallery/index.md": _index(), "gallery/generated/index.md": _made()} | found


def shown_on(figure: Path) -> str | None:
    """The name of the page of measurements that shows a figure; None if none does."""
    return next((name for name in _names() if f"figures/{figure.name})" in _text(name)), None)


def command(figure: Path, about: Mapping[str, Any]) -> str | None:
    """The command that draws a figure: as it recorded it, else from the script or the study in its configuration.

    None if neither is known. Trials of a script are those of the figure, also where they are its default.
    """
    if "command" in about:
        return about["command"]
    config = about["config"]
    if "sweep" in config:
        return f"dpjax curve docs/gallery/figures/{figure.name} --out results/{figure.stem}"
    script = config.get("script") or next(iter(_drawn_by(figure)), None)
    if script is None:
        return None
    options = f" --seed {about['seed']}" * bool(about["seed"])
    options += f" --trials {config['trials']}" if "trials" in config else ""
    return f"python scripts/{script}.py{options}"


def title_of(figure: Path) -> str:
    """The title in a figure's file, in plain text: mathematics is written as in the pages."""
    with Image.open(figure) as image:
        title = image.info["Title"]
    return re.sub(r"\$([^$]*)\$", lambda found: re.sub(r"\\var|[\\{}]|(?<=n)\^", "", found[1]), title)


def summary(name: str) -> str:
    """The first paragraph of a page of measurements."""
    return " ".join(_text(name).split("\n\n")[1].split())


def heading(name: str) -> str:
    """The title of a page of measurements."""
    return _text(name).partition("\n")[0].removeprefix("# ")


def _index() -> str:
    parts = [_INTRODUCTION]
    for topic, names in TOPICS.items():
        alone = [name for name, (of_topic, *_) in ALONE.items() if of_topic == topic]
        cards = [_card(figure, None) for figure in FIGURES if figure.stem in alone]
        cards += [_card(figure, name) for name in names for figure in FIGURES if shown_on(figure) == name]
        tables = [_entry(name) for name in names if not any(shown_on(figure) == name for figure in FIGURES)]
        parts.append(f"## {topic}\n")
        if cards:
            parts.append(f"::::{{grid}} 1 1 2 2\n:gutter: 3\n\n{chr(10).join(cards)}::::\n")
        if tables:
            parts.append(("In tables:\n\n" if cards else "") + "\n".join(tables) + "\n")
    listed = [name for names in TOPICS.values() for name in names]
    parts.append("\n".join(["```{toctree}", ":hidden:", "", *listed, "generated/index", "```"]))
    return "\n".join(parts) + "\n"


def _made() -> str:
    rows = []
    for figure in FIGURES:
        about = read_metadata(figure)
        shown = code(command(figure, about) or "not recorded")
        rows.append((f"[{title_of(figure)}]({figure.stem}.md)", shown, _seconds(about)))
    toctree = "\n".join(["```{toctree}", ":hidden:", "", *(figure.stem for figure in FIGURES), "```"])
    return f"{_OF_ALL}\n{site_text.table(('figure', 'command', 'seconds'), rows)}\n{toctree}\n"


_OF_ALL = """\
# How the figures were made

All of this is read from the metadata of the figures. Scripts record their command and its seconds, for which trials may
have been in a store already; for older figures the command is that of the script or the study in the metadata.
"""


def _seconds(about: Mapping[str, Any]) -> str:
    return f"{about['seconds']:g}" if "seconds" in about else "not recorded"


_INTRODUCTION = """\
# Gallery

Pages of measurements are written by scripts of this repository (the one on speed by hand, from what `make bench`
prints), and every figure says [how it was made](generated/index.md): command, configuration, seed, versions and device.
`dpjax trial FIGURE` reruns a trial of one.
"""


def _card(figure: Path, name: str | None) -> str:
    """A figure's card: it leads to the page of measurements that shows it."""
    made = f"generated/{figure.stem}.md"
    target = made if name is None else f"{name}.md"
    alone = name is not None and sum(shown_on(other) == name for other in FIGURES) == 1
    title = heading(name) if name is not None and alone else title_of(figure)
    return f"""\
:::{{grid-item-card}}
```{{image}} figures/{figure.name}
:alt: {_alternative(figure)}
:loading: lazy
:class: dpjax-thumbnail {size(figure)}
:target: {Path(target).with_suffix(".html")}
```

**[{title}]({target})**

{_caption(figure, name, alone)}

[How the figure was made]({made})
:::
"""


def _caption(figure: Path, name: str | None, alone: bool) -> str:
    """What a card says of its figure; one figure of several on a page names the page."""
    if name is None:
        return ALONE[figure.stem][2]
    return _opening(summary(name)) if alone else f"From [{heading(name)}]({name}.md)."


def _entry(name: str) -> str:
    """A page without a figure."""
    return f"- [{heading(name)}]({name}.md): {_opening(summary(name))}"


def _opening(text: str) -> str:
    """The first sentence; of a question, with the answer's first sentence."""
    sentences = re.split(r"(?<=[.?])\s+(?=[A-Z])", text)
    return " ".join(sentences[: 2 if sentences[0].endswith("?") else 1])


def _alternative(figure: Path) -> str:
    """The text that stands for the image where it cannot be seen: that of the page of measurements."""
    if (name := shown_on(figure)) is None:
        return ALONE[figure.stem][1]
    return re.findall(rf"!\[([^\]]+)\]\(figures/{re.escape(figure.name)}\)", _text(name))[0]


def _figure_page(figure: Path) -> str:
    about, name = read_metadata(figure), shown_on(figure)
    script = about["config"].get("script")
    facts = {
        "command": code(command(figure, about) or "not recorded"),
        "seed": str(about["seed"]),
        "seconds": _seconds(about),
        "device": code(about["device"]),
        "versions": ", ".join(f"{package} {version}" for package, version in about["versions"].items()),
    }
    parts = [f"# {title_of(figure)}", f"![{_alternative(figure)}](../figures/{figure.name})"]
    where = [] if name is None else [f"It belongs to [{heading(name)}](../{name}.md)."]
    if (vector := figure.with_suffix(".svg")).exists():
        where.append(f"The same as {{download}}`SVG <../figures/{vector.name}>`.")
    parts.append(" ".join(where))
    parts.append(site_text.table(("what", "value"), facts.items()))
    settings = about["config"].get("settings", {})
    if script is None and "sweep" in about["config"]:
        text = as_toml(about["config"])
        parts += ["## Configuration", f":::{{dropdown}} The study as TOML\n```toml\n{text}```\n:::"]
    else:
        own = {key: value for key, value in about["config"].items() if key not in ("script", "settings", "seed")}
        if own:
            rows = ((code(key), code(str(value))) for key, value in own.items())
            parts += ["## Configuration", site_text.table(("key", "value"), rows)]
    if settings:
        rerun = f"dpjax trial docs/gallery/figures/{figure.name} --learners NAME"
        parts += ["## Points", f"`{rerun}` reruns a trial of one:"]
        parts.append(site_text.table(_OF_POINTS, _points(settings)))
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


_OF_POINTS = ("name", "learner", "k", "n", "epsilon", "delta", "alpha", "beta")


def _points(settings: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for name, point in settings.items():
        learner = point["learner"].get("use", "") if isinstance(point["learner"], Mapping) else point["learner"]
        yield code(name), code(learner), *(f"{point[key]:g}" for key in _OF_POINTS[2:])


@functools.cache
def _names() -> tuple[str, ...]:
    """The pages of measurements; the gallery itself is none."""
    return tuple(sorted(path.stem for path in _HERE.glob("*.md") if path.stem != "index"))


@functools.cache
def _text(name: str) -> str:
    return (_HERE / f"{name}.md").read_text(encoding="utf-8")


def _drawn_by(figure: Path) -> Iterator[str]:
    """Scripts that name a figure's file."""
    for path in sorted((_ROOT / "scripts").glob("*.py")):
        if f'"{figure.stem}"' in path.read_text(encoding="utf-8"):
            yield path.stem
