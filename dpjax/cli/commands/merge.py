"""`dpjax merge`: joins stores."""

from typing import Any

from dpjax.cli.arguments.results import MergeCommand
from dpjax.cli.exit_status import Status
from dpjax.cli.output import Answer
from dpjax.cli.output import console as screen
from dpjax.core.checks import InputError
from dpjax.core.commands import command as pasteable
from dpjax.core.documents import sealed
from dpjax.core.files import StoreError, replace_file
from dpjax.experiments.store.cell_file import BrokenCell
from dpjax.experiments.store.file_schemas import read_study
from dpjax.experiments.store.store import Store

STUDY = "study.json"


def run(command: MergeCommand) -> Answer:
    """Copies the cells of other stores; all stores are opened before anything is written.

    A cell that is broken, or that holds other outcomes than the same cell elsewhere, is named and left where it is.
    """
    if not command.others:
        raise InputError("others", "at least one store to read", "none", "name the stores after the first one")
    sources = [Store(path, read_only=True) for path in command.others]
    study = _study(command)
    with Store(command.into) as into:
        rows = {str(source.root): _joined(into, source) for source in sources}
        cells, trials = into.counts()
    if study is not None:
        replace_file(command.into / STUDY, sealed(study))
    refused = [line for row in rows.values() for line in row["refused"]]
    answer = {"cells": cells, "trials": trials, "from": rows, "study": study is not None}
    answer |= {"status": Status.FAILED} if refused else {}

    def show() -> None:
        for name, row in rows.items():
            screen().print(f"{name}: {row['new']} of {row['cells']} cells have new trials")
        for line in refused:
            screen().print(f"not joined: {line}")
        screen().print(f"{command.into}: {cells} cells, {trials} trials")
        if study is not None:
            text = f"the result: {pasteable('curve', command.into, '--out', command.into, config=study)}"
        else:
            again = pasteable("curve", "STORE", "--out", command.into)
            text = f"the stores' studies differ; the result of each: {again}"
        screen().print(text)

    return answer, show


def _joined(into: Store, source: Store) -> dict[str, Any]:
    """Adds all cells of a store that can be added: how many there are and have new trials, and why others could not."""
    new, refused, names = 0, [], sorted(source.names())
    for name in names:
        try:
            cell = source.cell(name)
        except StoreError as error:
            refused.append(f"cell {name[:12]} of {source.root}: {error}")
            continue
        try:
            new += into.add(cell)
        except BrokenCell as error:
            refused.append(f"cell {name[:12]} of {source.root}: {error}")
        except StoreError:  # no room, for example
            raise
        except InputError as error:  # other outcomes
            refused.append(f"cell {name[:12]} of {source.root}, {len(cell)} trials: {error}")
    return {"cells": len(names), "new": new, "refused": refused}


def _study(command: MergeCommand) -> dict[str, Any] | None:
    """The study of the joined store; where it has none, that of the others if they agree."""
    if (study := read_study(command.into)) is not None:
        return study
    first, *others = map(read_study, command.others)
    return first if all(other == first for other in others) else None
