"""How far a study is, from the names of files alone: what is done, what failed, how fast."""

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpjax.core.documents import unsealed
from dpjax.core.files import StoreError, names_in, read_file
from dpjax.core.schemas import check
from dpjax.experiments.store.file_schemas import ListingFile
from dpjax.experiments.store.records import LISTING, Records

_AGAIN = "run the study again, or prepare it again"
_WINDOW = 600.0
"""Seconds over which the rate is taken."""


@dataclass(frozen=True)
class Standing:
    """Cells of a study by state. A search counts as one; points that a search has still to name count as well.

    waiting: texts of some that are left. per_hour: cells that were finished in the last ten minutes, as a rate; None if
    there were none. seconds_left: at this rate.
    """

    total: int
    done: int
    failed: int
    waiting: tuple[str, ...]
    per_hour: float | None

    @property
    def left(self) -> int:
        """Cells that are neither done nor failed."""
        return self.total - self.done - self.failed

    @property
    def seconds_left(self) -> float | None:
        """See `Standing`."""
        return None if self.per_hour is None else 3600 * self.left / self.per_hour


def standing(root: Path, examples: int = 6) -> Standing | None:
    """The standing of the study in a store's folder; None if no study was written there."""
    records = Records(root)
    if (listed := _listed(records.root / LISTING)) is None:
        return None
    done, failed = records.names()
    total = finished = broken = 0
    waiting: list[str] = []
    for item in listed:
        name, more = item["name"], item["more"]
        total += 1
        if name in done:
            finished += 1
        elif name in failed:
            broken += 1
            continue  # its points are never named
        elif len(waiting) < examples:
            waiting.append(item["text"])
        if more:
            record = (records.done(name) or {}) if name in done else {}
            points = record.get("points", []) if record.get("asked") == item["asked"] else [""] * more  # not named yet
            total += len(points)
            finished += sum(point in done for point in points)
            broken += sum(point in failed and point not in done for point in points)
    return Standing(total, finished, broken, tuple(waiting), _rate(records.root / "done"))


def _listed(path: Path) -> list[dict[str, Any]] | None:
    try:
        if (data := read_file(path)) is None:
            return None
        check(ListingFile, "items", listing := unsealed(data), _AGAIN)
    except (OSError, ValueError) as error:
        message = f"{path}: {getattr(error, 'strerror', None) or error}"
        raise StoreError("store", "a study's list of items", message, _AGAIN) from error
    return listing["items"]


def _rate(folder: Path) -> float | None:
    """Files per hour that were added to the folder in the last ten minutes; None for fewer than two."""
    times = []
    for name in names_in(folder):
        try:
            times.append(os.stat(folder / name).st_mtime)
        except OSError:
            continue
    if not times:
        return None
    last = max(times)
    late = [moment for moment in times if moment > last - _WINDOW]
    span = max(last - min(late), 1.0) if len(late) > 1 else None
    return None if span is None or time.time() - last > _WINDOW else 3600 * (len(late) - 1) / span
