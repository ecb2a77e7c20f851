"""Nonsense in configurations and in stores of results."""

import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

STUDY: dict[str, Any] = {
    "title": "t",
    "seed": 0,
    "task": {"concepts": "Points(16)", "distribution": {"use": "heavy", "atoms": 2, "mass": 0.3}, "noise": 0.1},
    "learners": {"kln": "KLN", "many": {"use": "Independent", "learner": "KLN", "composition": "zcdp"}},
    "sweep": {
        "k": [1],
        "epsilon": [1.0],
        "delta": 1e-6,
        "alpha": 0.1,
        "beta": 0.1,
        "trials": 8,
        "points": 3,
        "fit_from": 1,
    },
    "search": {"n_min": 4, "n_max": 64, "gamma": 0.1, "confidence": 0.9, "steps_per_doubling": 4, "most_trials": 500},
}
JUNK = (True, "x", "", -1, -0.5, [], {}, float("nan"), float("inf"), [[1]], "1", {"use": "KLN"})
_KLN = {"use": "KLN"}
WELCOME = {("title",): ["x", "", "1"], ("learners", "kln"): [_KLN], ("learners", "many", "learner"): [_KLN]}


def studies() -> Iterator[tuple[str, dict[str, Any]]]:
    """(what is wrong, a study with one value replaced, one key too many, or one table gone)."""
    for path in _places(STUDY):
        for junk in JUNK:
            if junk not in WELCOME.get(path, []):
                yield f"{'.'.join(path)} = {junk!r}", _with(path, junk)
    for table in ((), ("task",), ("sweep",), ("search",), ("task", "distribution"), ("learners", "many")):
        yield f"{'.'.join(table)}.nonsense = 1", _with((*table, "nonsense"), 1)
    for path in (("task",), ("learners",), ("task", "concepts")):
        made = copy.deepcopy(STUDY)
        inner = made
        for part in path[:-1]:
            inner = inner[part]
        del inner[path[-1]]
        yield f"no {'.'.join(path)}", made
    for text in (
        "Points(",
        "Points(0)",
        "Points(2**2049)",
        "Points(1, 2)",
        "Points(size=3)",
        "os.system",
        "KLN",
        "__import__('os')",
        "Points(16).domain",
        "lambda: 1",
        "mine:Points",
    ):
        yield f"concepts = {text}", _with(("task", "concepts"), text)
    for text in (
        "PointLearner(3, 4)",
        "Independent",
        "Independent(KLN, composition=mine)",
        "Points(16)",
        "klm",
        "Independent(KLN(KLN))",
        "ParityLearner",
        "mine:Learner",
        "KLN(concepts=Points(8))",
    ):
        yield f"learner = {text}", _with(("learners", "kln"), text)


def stores() -> Iterator[tuple[str, Callable[[Path, Path], Any]]]:
    """(what is wrong, what makes it wrong: called with the folder and one of its cells)."""
    yield "an old format", lambda folder, cell: (folder / "format.json").write_text('{"schema": 1}')
    yield "a newer format", lambda folder, cell: (folder / "format.json").write_text('{"schema": 99}')
    yield "no format", lambda folder, cell: (folder / "format.json").unlink()
    yield "a format of nonsense", lambda folder, cell: (folder / "format.json").write_text("[]")


def broken_cells() -> Iterator[tuple[str, Callable[[Path, Path], Any]]]:
    """The same for cells, each of which is a failure of its own point."""
    yield "an empty cell", lambda folder, cell: cell.write_bytes(b"")
    yield "half a cell", lambda folder, cell: cell.write_bytes(cell.read_bytes()[:200])
    yield "a cell of noise", lambda folder, cell: cell.write_bytes(b"PAR1" + bytes(range(256)) + b"PAR1")
    yield "a cell of text", lambda folder, cell: cell.write_text("trials")
    yield "a folder for a cell", lambda folder, cell: (cell.unlink(), cell.mkdir())


RESULTS = (
    "",
    "[]",
    "{}",
    "null",
    "1",
    '{"points": 3}',
    '{"config": {}, "seed": 0, "versions": {}, "points": []}',
    "\x00",
)
"""Texts that are no result.json."""


def _places(table: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _places(value, (*path, key))
        else:
            yield (*path, key)


def _with(path: tuple[str, ...], value: Any) -> dict[str, Any]:
    made = copy.deepcopy(STUDY)
    inner = made
    for part in path[:-1]:
        inner = inner[part]
    inner[path[-1]] = value
    return made


TABLES = {
    "nothing": "",
    "no rows": "age,ill\n",
    "one row": "age,ill\n3,1\n",
    "no header": "1,0\n2,1\n3,1\n",
    "a column twice": "age,age,ill\n1,2,0\n",
    "no such column": "years,ill\n1,0\n2,1\n",
    "a missing value": "age,ill\n1,0\n,1\n3,1\n",
    "infinity": "age,ill\n1,0\ninf,1\n3,1\n",
    "nan": "age,ill\nnan,0\n2,1\n",
    "words": "age,ill\nold,0\nyoung,1\n",
    "labels 0, 1, 2": "age,ill\n1,0\n2,1\n3,2\n",
    "labels as words": "age,ill\n1,no\n2,yes\n",
    "labels missing": "age,ill\n1,0\n2,\n3,1\n",
    "a row too long": "age,ill\n1,0\n2,1,5\n3,1\n",
    "a row too short": "age,ill\n1,0\n2\n3,1\n",
    "out of bounds": "age,ill\n1,0\n1000,1\n3,1\n",
    "thousands": 'age,ill\n"1,234",0\n2,1\n',
    "decimal comma": "age;ill\n1,5;0\n2,5;1\n",
    "bytes": "age,ill\n\x00\x01,0\n",
}
"""Tables that `dpjax learn --features age --target ill --bounds age=0:100` refuses."""
