"""What there is to do in a study, in pieces that any process can take: the search of a curve, and its points."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dpjax.core.documents import sealed
from dpjax.experiments.store.canonical import canonical
from dpjax.experiments.store.records import OWNER
from dpjax.experiments.sweep.sweep import Curve, Sweep

Record = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Item:
    """One piece: a point of a curve, or with n None the search for n*.

    name: 40 hexadecimal digits, of all that the study says about it; the same in every process. Points that follow from
    a search share the beginning of its name.
    """

    study: Sweep
    curve: Curve
    n: int | None

    @cached_property
    def name(self) -> str:
        """See `Item`."""
        study, setting = self.study, self.curve.setting
        request: Any = {"trials": study.trials} if self.n is not None else vars(study.search)
        goal = {name: float(getattr(setting, name)) for name in ("epsilon", "delta", "alpha", "beta")}
        about = {"task": setting.task.digest, "learner": setting.learner_digest, "seed": study.seed, "k": setting.k}
        about |= goal | {"n": self.n, "asked": request}
        digest = hashlib.sha256(canonical(about).encode()).hexdigest()
        search = digest if self.n is None or study.n != "search" else Item(study, self.curve, None).name
        return search[:OWNER] + digest[: 40 - OWNER]

    def __str__(self) -> str:
        return f"{self.curve}, {'search' if self.n is None else f'n = {self.n}'}"


def first_items(study: Sweep) -> Iterator[Item]:
    """The items that can be named before anything ran: searches, or all points if the sample sizes are given."""
    for curve in study.curves:
        yield from first_of(study, curve)


def first_of(study: Sweep, curve: Curve) -> Iterator[Item]:
    """`first_items` of one curve."""
    if study.search is not None:
        yield Item(study, curve, None)
    if study.n != "search":
        yield from (Item(study, curve, n) for n in study.sizes())


def following(item: Item, found: Record) -> Iterator[Item]:
    """The points of the curve that a search makes known; none for other items."""
    if item.n is None and item.study.n == "search":
        middle = found.get("n_high") or found.get("n_low")
        yield from (Item(item.study, item.curve, n) for n in item.study.sizes(middle))


def points_of(item: Item, found: Record) -> Record:
    """What the record of a search says of its points: their names, and `asked_of` the study."""
    return {"points": [point.name for point in following(item, found)], "asked": asked_of(item.study)}


def asked_of(study: Sweep) -> str:
    """What a study asks of the points that follow from a search."""
    return f"{study.points} points of {study.trials} trials" if study.n == "search" else ""


def listing(study: Sweep) -> bytes:
    """The content of the file `records.LISTING`, see `file_schemas.ListingFile`."""
    searched = {"more": study.points, "asked": asked_of(study)} if study.n == "search" else {}
    rows = [
        {"name": item.name, "text": str(item), "more": 0, "asked": ""} | (searched if item.n is None else {})
        for item in first_items(study)
    ]
    return sealed({"items": rows})
