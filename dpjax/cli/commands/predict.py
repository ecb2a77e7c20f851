"""`dpjax predict`: applies hypotheses learned from one table to another."""

import io
import sys
from collections.abc import Container
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv

from dpjax.cli.arguments.tables import PredictCommand
from dpjax.cli.output import Answer
from dpjax.core.files import replace_file, require_new
from dpjax.core.logs import plain
from dpjax.tables import learned
from dpjax.tables.columns import placed
from dpjax.tables.reading import complete, opened
from dpjax.tables.sources import Form

_CLIPPED = "values outside the bounds count as the nearest bound"


def run(command: PredictCommand) -> Answer:
    """Predicts the label of each row; the answer counts rows, ones and values outside the bounds."""
    model = learned.load(command.learned, command.imports)
    if command.out is not None:
        require_new(command.out, (command.learned, command.table))
    placing, form = model.placing, Form(command.delimiter, command.encoding, command.missing, command.comment)
    values, other = placed(opened(command.table, [*placing.places], form), placing)
    whole = complete({name: ~np.isnan(values[place]) for name, place in placing.places.items()}, command.drop_missing)
    values = [column[whole] for column in values]
    labels = model.predict(values)
    full = np.zeros((len(whole), len(model.names)), bool)
    full[whole] = labels
    predictions = {plain(name): pa.array(full[:, j].astype(np.int8), mask=~whole) for j, name in enumerate(model.names)}
    number = "row" if "row" not in predictions else "row number"  # CSV readers skip empty lines
    written = pa.table({number: pa.array(np.arange(1, len(whole) + 1)), **predictions})
    answer: dict[str, Any] = {
        "table": str(command.table),
        "rows": len(whole),
        "missing": int(np.sum(~whole)),
        "moved": {**placing.outside(values), **{name: int(mask.sum()) for name, mask in other.items()}},
        "positive": model.positive,
        "ones": dict(zip(model.names, labels.sum(axis=0).tolist(), strict=True)),
    }
    if command.out is None:
        answer["predictions"] = {name: written[plain(name)].to_pylist() for name in model.names}
    else:
        replace_file(command.out, _csv(written))
        answer["files"] = [str(command.out)]
    return answer, lambda: _show(answer, written, placing.categories)


def _csv(table: pa.Table) -> bytes:
    buffer = io.BytesIO()
    pa.csv.write_csv(table, buffer)
    return buffer.getvalue()


def _show(answer: dict[str, Any], table: pa.Table, texts: Container[str]) -> None:
    """texts: the columns of texts."""
    if "files" not in answer:
        print(_csv(table).decode(), end="", flush=True)
    notes = [f"{name}: 1 in {count} of {answer['rows']} rows" for name, count in answer["ones"].items()]
    notes += [
        f"{name}: {count} {'texts count as none of the categories' if name in texts else _CLIPPED}"
        for name, count in answer["moved"].items()
        if count
    ]
    if answer["missing"]:
        notes.append(f"no prediction for {answer['missing']} rows with missing values")
    if answer["positive"] is not None:
        notes.append(f"1 is {answer['positive']!r}")
    notes += [f"written: {path}" for path in answer.get("files", ())]
    print(*map(plain, notes), sep="\n", file=sys.stderr if "files" not in answer else sys.stdout)
