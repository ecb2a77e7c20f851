"""Repair of a store beside the records that rest on it."""

from pathlib import Path

from dpjax.experiments.store.cell_file import parsed
from dpjax.experiments.store.records import Records
from dpjax.experiments.store.store import Store


def repair(store: Store, records: Records) -> list[Path]:
    """`Store.repair`, and the records of what is computed again are removed; returns the files' new paths."""
    moved = store.repair()
    names = (parsed(path.name.partition("-")[2]) for path in moved)
    records.forget_cells({name[0] for name in names if name is not None})
    return moved
