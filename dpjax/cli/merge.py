"""`dpjax merge`: joins stores."""

from dpjax.cli import Answer
from dpjax.cli.arguments import MergeCommand
from dpjax.cli.printing import console as screen
from dpjax.core.checks import InputError
from dpjax.experiments.store import Store


def run(command: MergeCommand) -> Answer:
    """Copies the cells of other stores; all of these are opened before anything is written."""
    if not command.others:
        raise InputError("others", "at least one store to read", "none", "name the stores after the first one")
    sources = [Store(path, read_only=True) for path in command.others]
    with Store(command.into) as into:
        copied = {str(source.root): [into.add(cell) for cell in source.iter_cells()] for source in sources}
        cells, trials = into.counts()
    rows = {name: {"cells": len(added), "new": sum(added)} for name, added in copied.items()}
    answer = {"cells": cells, "trials": trials, "from": rows}

    def show() -> None:
        for name, row in rows.items():
            screen().print(f"{name}: {row['new']} of {row['cells']} cells have new trials", soft_wrap=True)
        screen().print(f"{command.into}: {cells} cells, {trials} trials", soft_wrap=True)

    return answer, show
