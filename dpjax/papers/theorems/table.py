"""The table of each paper's numbered items, read from its TOML file."""

import difflib
import re
import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any

from dpjax.core.checks import InputError

RULES = {
    "have": "The code does what the item states, or more, with constants where the paper has O(.).",
    "corrected": "The printed form has a fault, which is named beside the status; the code has a form without it.",
    "partly": "The code does a part of it, or a weaker form; the remark says what is left out.",
    "missing": "There is no code that does it, and the page says why.",
}
"""What each status means."""
STATUSES = tuple(RULES)
FAULTS = {
    "statement": "The printed statement or algorithm is false: it does not hold as it stands.",
    "proof": "The printed statement holds; its printed proof, or the algorithm in it, does not give it.",
    "open": "The printed proof does not give the printed statement, and we do not know whether it holds.",
    "use": "The printed form stands, but is not enough for what the paper uses it for.",
    "slip": "A wrong sign, symbol, name or boundary case; what is meant is clear.",
}
"""What is wrong with the printed form of an item, and what each of these means."""
_NAMED = ("audit", "simulation", "figure", "page", "proof")


@dataclass(frozen=True)
class Item:
    """A definition, theorem, algorithm, ... of a paper.

    key: "bns:3.12", or "bns:algorithm-2" where kinds are numbered apart. kind and number: "Theorem" and "3.12"; the
    number is empty for an item that has a name only. says: what it states, in our words; about: the same in brief.
    status: one of `RULES`. fault: of an item with a wrong print, one of `FAULTS`. printed, right: what is printed, and
    what holds. why: of a missing item, or a remark. name: that the paper gives it. first: kind and number in the
    paper's first version, if they differ.
    audit: targets of `dpjax audit`. simulation: files of tests and scripts. figure, page, proof: files in docs.
    """

    key: str
    kind: str
    number: str
    about: str
    says: str
    status: str
    name: str = ""
    first: str = ""
    fault: str = ""
    printed: str = ""
    right: str = ""
    why: str = ""
    audit: tuple[str, ...] = ()
    simulation: tuple[str, ...] = ()
    figure: tuple[str, ...] = ()
    page: tuple[str, ...] = ()
    proof: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """The status, of a corrected item with the fault: "corrected (proof)"."""
        return self.status + f" ({self.fault})" * (self.status == "corrected")

    @property
    def title(self) -> str:
        """As the paper calls it: "Theorem 3.12", "Algorithm 2 (GenericLearner)"."""
        if not self.number:
            return f"{self.kind} {self.name}"
        return f"{self.kind} {self.number}" + f" ({self.name})" * bool(self.name)

    @property
    def heading(self) -> str:
        """The title with what it is about: "Theorem 3.12: ParityLearner"."""
        return f"{self.title}: {self.about}"


@dataclass(frozen=True)
class Paper:
    """One paper. key: "bns". cite: a regular expression of how docstrings cite it.

    sections: their numbers. figures: how many there are. names: of the authors in full. venue: where it appeared.
    arxiv, doi: identifiers, empty if there is none that is known to be right.
    """

    key: str
    authors: str
    year: int
    title: str
    note: str
    cite: str
    sections: tuple[str, ...]
    figures: int
    items: Mapping[str, Item]
    names: str
    venue: str
    arxiv: str
    doi: str = ""

    @property
    def citation(self) -> str:
        """Authors, title, venue, year and identifiers, in plain text."""
        known = [f"arXiv:{self.arxiv}"] * bool(self.arxiv) + [f"doi:{self.doi}"] * bool(self.doi)
        year = "" if str(self.year) in self.venue else f", {self.year}"
        return ". ".join([f"{self.names}. {self.title}. {self.venue}{year}", *known]) + "."

    @property
    def counts(self) -> dict[str, int]:
        """The number of items of each status."""
        tally = Counter(item.status for item in self.items.values())
        return {status: tally[status] for status in STATUSES}

    def find(self, kind: str, number: str) -> Item | None:
        """The item of this kind and number, or of this kind and name."""
        return next((i for i in self.items.values() if i.kind == kind and number in (i.number or i.name, i.name)), None)


@cache
def papers() -> Mapping[str, Paper]:
    """All papers by key."""
    files = {f.name: f for f in resources.files(__package__).iterdir() if f.name.endswith(".toml")}
    entries = [
        _paper(name.removesuffix(".toml"), tomllib.loads(files[name].read_text("utf-8"))) for name in sorted(files)
    ]
    return MappingProxyType({paper.key: paper for paper in entries})


def search(key: str) -> Paper | Item:
    """A paper by "bns", an item by "bns:3.12", "bns:algorithm-2" or "bns:theorem-3.12", in capitals or not.

    A space may be in place of the colon: "bns 3.12", "bns theorem 3.12".

    InputError, with keys that are near, if there is none.
    """
    before, colon, after = re.sub(r"^([^\s:]+)\s*[\s:]\s*", r"\1:", key.strip().lower()).partition(":")
    after = re.sub(r"\s+", "-", after.strip())
    words = before + colon + after
    paper = papers().get(before)
    if paper is not None and not colon:
        return paper
    if paper is None:
        expected = f"one of the papers {', '.join(papers())}, or PAPER:NUMBER"
        raise InputError("theorem", expected, repr(key), "see `dpjax theorem`")
    names = {item.key.lower(): item for item in paper.items.values()}
    for item in paper.items.values():
        names.setdefault(f"{paper.key}:{item.kind}-{item.number or item.name}".lower(), item)
    if words in names:
        return names[words]
    same = [item.key for item in paper.items.values() if after and item.number == after.rpartition("-")[2]]
    near = [names[name].key for name in difflib.get_close_matches(words, names, 5, 0.75)]
    close = [*dict.fromkeys(same + near)][:6]
    advice = f"did you mean {', '.join(close)}?" if close else f"see `dpjax theorem {paper.key}`"
    raise InputError("theorem", f"the number of an item of {paper.key}", repr(key), advice)


def _paper(key: str, data: dict[str, Any]) -> Paper:
    about = data.pop("paper")
    items = {name: _item(key, name, fields) for name, fields in data.items()}
    return Paper(key, sections=tuple(about.pop("sections").split()), items=MappingProxyType(items), **about)


def _item(paper: str, name: str, fields: dict[str, Any]) -> Item:
    """name: "3.12" or "theorem-11"; a name without a number is that of an item that has none."""
    kind, _, number = name.rpartition("-")
    lists: dict[str, Any] = {field: tuple(fields.pop(field, ())) for field in _NAMED}
    number = number if re.fullmatch(r"[A-Z]?\d*(\.\d+)*", number) else ""
    fields.setdefault("kind", kind.capitalize())
    return Item(f"{paper}:{name}", number=number, **{"status": "have", **fields}, **lists)
