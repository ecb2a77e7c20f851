"""`dpjax learn`: hypotheses, guarantee and held-out errors of a person's own table."""

import json
from typing import Any

import numpy as np

from dpjax import baselines
from dpjax.cli import Answer
from dpjax.cli.arguments import LearnCommand
from dpjax.cli.printing import Table as Printed
from dpjax.cli.printing import console as screen
from dpjax.concepts import Domain, areas
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.files import replace_file
from dpjax.core.types import Accuracy, Privacy
from dpjax.experiments.build import CONCEPTS, LEARNERS, Builder, call, concepts_of, parameters
from dpjax.experiments.reports import about
from dpjax.learners.columns import for_concepts
from dpjax.tables import columns as table
from dpjax.tables import places as shapes

_TRIALS, _SHAPE_TRIALS = 1000, 20
_LOOSE = 10.0  # the epsilon at which a shape's learner is compared with itself


def run(command: LearnCommand) -> Answer:
    """Learns from a table; the answer holds hypotheses, guarantee and held-out errors."""
    privacy = Privacy(checks.epsilon(command.epsilon), checks.delta(command.delta))
    accuracy = Accuracy(checks.probability("alpha", command.alpha), checks.probability("beta", command.beta))
    checks.probability("test_share", command.test_share)
    checks.integer("seed", command.seed, 0, 2**32 - 1)
    trials = command.trials
    if trials is not None:
        checks.integer("trials", trials, 1)
    builder = Builder(command.imports)
    learner = builder.find("learner", call("learner", command.learner)["use"], LEARNERS)
    kind = command.concepts or concepts_of(learner) or "Thresholds"
    shape = "d" in parameters(builder.find("concepts", call("concepts", kind)["use"], CONCEPTS))
    data, within, extra = (_places if shape else _columns)(command, builder)
    concepts = within.build("concepts", kind, CONCEPTS)
    rows, k = data.y.shape
    chosen = for_concepts(within.knowing(concepts=concepts, k=k).build("learner", command.learner, LEARNERS), k)
    if data.own_points:
        table.require_own_points(chosen)
    guarantee = chosen.guarantee(chosen.plan(privacy, accuracy, rows))
    hypothesis = table.learn_all(chosen, data, privacy, accuracy, command.seed)
    found = (shapes.summary if shape else table.summary)(chosen, hypothesis, data)
    trials = trials or (_SHAPE_TRIALS if shape else _TRIALS)
    test_rows = min(rows - 1, max(1, round(command.test_share * rows)))
    asked = accuracy, command.seed, trials, test_rows
    if shape:
        budgets = {"private": privacy, f"epsilon_{_LOOSE:g}": Privacy(_LOOSE, privacy.delta)}
        errors = {name: table.held_out({name: chosen}, data, budget, *asked)[name] for name, budget in budgets.items()}
    else:
        errors = table.held_out({"private": chosen, "not_private": baselines.ERM(concepts)}, data, privacy, *asked)
    for j, row in enumerate(found):
        for name, counts in errors.items():
            share = counts[:, j] / test_rows
            row[f"error_{name}"] = {"mean": float(share.mean()), "q05": float(np.quantile(share, 0.05)),
                                    "q95": float(np.quantile(share, 0.95))}  # fmt: skip
    answer = {
        "table": str(command.table), "rows": rows, "k": k, "learner": command.learner, "trials": trials,
        "test_rows": test_rows, "bits": command.bits, "seed": command.seed, "concepts": found,
        "guarantee": None if guarantee is None else guarantee.to_dict(), **extra,
    }  # fmt: skip
    if command.out is not None:
        answer["files"] = _kept(command, answer, chosen.concepts, hypothesis, data)

    def show() -> None:
        title = f"{command.learner} on {rows} rows, {k} concept{'s' if k > 1 else ''}"
        beside, console = list(errors)[1], screen()
        headings = ("concept", "hypothesis (all rows)", "held-out error", "5% - 95%", beside.replace("_", " "))
        printed = Printed(*headings, "5% - 95%", title=title)
        for row in found:
            mine, other = row["error_private"], row[f"error_{beside}"]
            printed.add_row(
                row["concept"], row["rule"], f"{mine['mean']:.3f}", f"{mine['q05']:.3f} - {mine['q95']:.3f}",
                f"{other['mean']:.3f}", f"{other['q05']:.3f} - {other['q95']:.3f}",
            )  # fmt: skip
        console.print(printed)
        console.print(f"errors: means over {trials} keyed splits, {test_rows} rows held out; they are not private")
        if shape:
            console.print(f"moved to the edge of the box: {extra['moved']} of {rows} rows; this is not private")
        for path in answer.get("files", ()):
            console.print(f"written: {path}")
        text = str(guarantee) if guarantee is not None else "no privacy guarantee"
        console.print(text, markup=False, highlight=False, soft_wrap=True)

    return answer, show


def _columns(command: LearnCommand, builder: Builder) -> tuple[table.Table, Builder, dict[str, Any]]:
    """The table, a builder that knows its domain, and nothing more to say."""
    if command.box is not None:
        raise InputError("box", "none for a class over a line", repr(command.box), "give --bounds for every feature")
    placed = table.grids(command.features, command.bounds, command.bits, command.flip)
    data = table.read(command.table, command.features, command.target, placed, command.clip)
    return data, builder.knowing(domain=Domain(2**command.bits)), {}


def _places(command: LearnCommand, builder: Builder) -> tuple[table.Table, Builder, dict[str, Any]]:
    """The table of places, a builder that knows the grid, and the public box with what was moved into it."""
    if command.bounds or command.flip:
        raise InputError("bounds and flip", "none for a shape", "some", "give --box X0 Y0 X1 Y1")
    if command.out is not None:
        areas.shapely_module()
    placing = shapes.grids(command.box, command.bits)
    data, moved = shapes.read(command.table, command.features, command.target, placing)
    return data, builder.knowing(d=2**command.bits - 1), {"box": list(command.box or ()), "moved": moved}


def _kept(
    command: LearnCommand, answer: dict[str, Any], concepts: Any, hypothesis: Any, data: table.Table
) -> list[str]:  # fmt: skip
    """Writes the answer and, of a shape, its region and a picture; returns the paths."""
    from dpjax.plots.polygons import plot_polygon

    assert command.out is not None
    files, path = [], command.out / "learned.json"
    if "box" in answer:
        answer |= shapes.geometry(concepts, hypothesis, data)
        error = answer["concepts"][0]["error_private"]["mean"]
        config = {name: answer[name] for name in ("learner", "rows", "bits", "box")}
        config |= {name: getattr(command, name) for name in ("epsilon", "delta", "alpha", "beta")}
        files = plot_polygon(
            (concepts, hypothesis), data.sample(), command.out / "learned", about(config, command.seed),
            f"{command.learner}: {data.names[0]}", f"{answer['rows']} rows, epsilon = {command.epsilon:g}: held-out "
            f"error {error:.3f}. Rows are shown: not private", box=shapes.box_of(data.grids),
        )  # fmt: skip
    replace_file(path, json.dumps(answer, indent=1, allow_nan=False).encode())
    return [str(one) for one in (path, *files)]
