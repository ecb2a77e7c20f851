"""`dpjax merge`: joins stores."""

from dpjax.cli import Answer
from dpjax.cli.arguments import MergeCommand
from dpjax.cli.printing import console as screen
from dpjax.core.checks import InputError
from dpjax.core.files import read_file, replace_file
from dpjax.experiments.store import Store

STUDY = "study.json"


def run(command: MergeCommand) -> Answer:
    """Copies the cells of other stores; all of these are opened before anything is written."""
    if not command.others:
        raise InputError("others", "at least one store to read", "none", "name the stores after the first one")
    sources = [Store(path, read_only=True) for path in command.others]
    with Store(command.into) as into:
        copied = {str(source.root): [into.add(cell) for cell in source.iter_cells()] for source in sources}
        cells, trials = into.counts()
    rows = {name: {"cells": len(added), "new": sum(added)} for name, added in copied.items()}
    study = _study(command)
    answer = {"cells": cells, "trials": trials, "from": rows, "study": study is not None}

    def show() -> None:
        for name, row in rows.items():
            screen().print(f"{name}: {row['new']} of {row['cells']} cells have new trials", soft_wrap=True)
        screen().print(f"{command.into}: {cells} cells, {trials} trials", soft_wrap=True)
        if study is not None:
            text = f"the result: dpjax curve {command.into} --out {command.into}"
            screen().print(text, markup=False, highlight=False, soft_wrap=True)

    return answer, show


def _study(command: MergeCommand) -> bytes | None:
    """The study of the joined store; where it has none, that of the others if they agree, which is then written."""
    place = command.into / STUDY
    if (own := read_file(place)) is not None:
        return own
    found = {read_file(path / STUDY) for path in command.others}
    study = found.pop() if len(found) == 1 else None
    if study is not None:
        replace_file(place, study)
    return study
