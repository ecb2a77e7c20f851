"""What each command does: (answer for --json, a function that prints it for a person)."""

import importlib
import inspect
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from rich.console import Console
from rich.table import Table as Printed

from dpjax import baselines, mechanisms
from dpjax.concepts import Domain, Points, Thresholds, areas
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Privacy
from dpjax.experiments import catalog, cells, engine, sweep
from dpjax.experiments.progress import Progress
from dpjax.experiments.reports import about
from dpjax.experiments.store import Store, replace_file
from dpjax.tables import columns as table
from dpjax.tables import places as shapes

if TYPE_CHECKING:
    from dpjax import cli

Answer = tuple[dict[str, Any], Callable[[], None]]
_TRIALS, _SHAPE_TRIALS = 1000, 20
_LOOSE = 10.0  # the epsilon at which a shape's learner is compared with itself


def curve(command: "cli.CurveCommand") -> Answer:
    """Runs a sweep, writes result.json and the figure, and returns the result."""
    from dpjax.plots import plot_curve

    for name in command.formats:
        checks.choice("formats", name, ("png", "svg", "pdf"))
    _start(command.devices, command.in_flight, command.compile_cache)
    sweep.lines(command.measure)
    with Store(command.out) as store, engine.Engine(command.in_flight) as machine, Progress() as progress:
        counter = cells.Cells(store, machine, command.measure.seed, progress.trials)
        result = sweep.run(command.measure, counter, progress.step)
        result["computed"] = {"trials": machine.trials, "programs": machine.programs}
        kept = {name: part for name, part in result.items() if name != "computed"}
        replace_file(command.out / "result.json", json.dumps(kept, indent=1).encode())
        figures = plot_curve(kept, command.out / "curve", command.formats) if command.formats else []
    result["figures"] = [str(path) for path in figures]

    def show() -> None:
        console, rows = Console(), Printed(title=command.measure.title or "Samples needed: n*")
        for heading in ("learner", "k", "epsilon", "n* in", "theorem", "trials"):
            rows.add_column(heading, justify="left" if heading == "learner" else "right")
        for star in result["n_star"]:
            low = star["n_low"] if star["n_low"] is not None else f"<{command.measure.search.n_min}"
            high = star["n_high"] if star["n_high"] is not None else f">{command.measure.search.n_max}"
            cells_of_row = star["learner"], star["k"], f"{star['epsilon']:g}", f"({low}, {high}]"
            rows.add_row(*map(str, (*cells_of_row, star["theorem"], star["trials"])))
        if result["n_star"]:
            console.print(rows)
        everywhere = result["exponents_all_k"] if command.measure.sweep.fit_from > 1 else []
        for fit in (*result["exponents"], *everywhere):
            claim = "" if fit["claimed"] is None else f", claimed {fit['claimed']:g}"
            console.print(
                f"{fit['learner']}, epsilon {fit['epsilon']:g}: n* grows like k^{fit['slope']:.3f} "
                f"[{fit['low']:.3f}, {fit['high']:.3f}] for k >= {fit['k_from']}"
                f" (the theorem's numbers: k^{fit['theorem']:.3f}{claim})"
            )
        console.print(f"{machine.trials} trials computed now, {machine.programs} programs compiled")
        for path in result["figures"]:
            console.print(f"figure: {path}")

    return result, show


def learn(command: "cli.LearnCommand") -> Answer:
    """Learns from a table; the answer holds hypotheses, guarantee and held-out errors."""
    privacy = Privacy(checks.epsilon(command.epsilon), checks.delta(command.delta))
    accuracy = Accuracy(checks.probability("alpha", command.alpha), checks.probability("beta", command.beta))
    checks.probability("test_share", command.test_share)
    checks.integer("seed", command.seed, 0, 2**32 - 1)
    trials = command.trials
    if trials is not None:
        checks.integer("trials", trials, 1)
    if ":" not in command.learner:
        checks.choice("learner", command.learner, catalog.learner_names())
    kind = command.concepts or (f"{command.learner}s" if f"{command.learner}s" in shapes.CLASSES else "thresholds")
    shape = checks.choice("concepts", kind, ("points", "thresholds", *shapes.CLASSES)) in shapes.CLASSES
    data, concepts, extra = (_places if shape else _columns)(command, kind)
    rows, k = data.y.shape
    chosen = catalog.learner(command.learner, concepts, k, privacy, accuracy)
    if data.own_points:
        table.require_own_points(chosen, command.learner)
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
        console, printed = Console(), Printed(title=title)
        beside = list(errors)[1]
        against = beside.replace("_", " ")
        for heading in ("concept", "hypothesis (all rows)", "held-out error", "5% - 95%", against, "5% - 95%"):
            printed.add_column(heading)
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


def _columns(command: "cli.LearnCommand", kind: str) -> tuple[table.Table, Any, dict[str, Any]]:
    """The table, the class of each concept, and nothing more to say."""
    if command.box is not None:
        raise InputError("box", f"none for {kind}", repr(command.box), "give --bounds for every feature")
    placed = table.grids(command.features, command.bounds, command.bits, command.flip)
    data = table.read(command.table, command.features, command.target, placed, command.clip)
    return data, (Points if kind == "points" else Thresholds)(Domain(2**command.bits)), {}


def _places(command: "cli.LearnCommand", kind: str) -> tuple[table.Table, Any, dict[str, Any]]:
    """The table of places, the class of the shape, and the public box with what was moved into it."""
    if command.bounds or command.flip:
        raise InputError("bounds and flip", f"none for {kind}", "some", "give --box X0 Y0 X1 Y1")
    if command.out is not None:
        areas.shapely_module()
    placing = shapes.grids(command.box, command.bits)
    known, parts = shapes.CLASSES[kind]
    concepts = known(2**command.bits - 1, parts if command.parts is None else command.parts)
    data, moved = shapes.read(command.table, command.features, command.target, placing)
    return data, concepts, {"box": list(command.box or ()), "moved": moved}


def _kept(
    command: "cli.LearnCommand", answer: dict[str, Any], concepts: Any, hypothesis: Any, data: table.Table
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


def plan(command: "cli.PlanCommand") -> Answer:
    """The theorem's n and the guarantee of every curve of a configuration."""
    found = sweep.lines(command.measure)
    rows = []
    for line in found:
        guarantee = line.guarantee()
        tree = None if guarantee is None else guarantee.to_dict()
        rows.append({**line.labels(), "theorem": line.theorem(), "guarantee": tree, "text": str(guarantee)})

    def show() -> None:
        console = Console()
        for row in rows:
            console.print(f"{row['learner']}, k = {row['k']}: theorem's n = {row['theorem']}", style="bold")
            text = row["text"] if row["guarantee"] is not None else "not private"
            console.print(text, markup=False, highlight=False, soft_wrap=True)

    return {"plan": rows}, show


def list_(command: "cli.ListCommand") -> Answer:
    """Learners at epsilon 1, delta 1e-6 and 100 concepts; mechanisms with the Privacy line of their docstrings."""
    rows = []
    for name in catalog.learner_names():
        kind, k = catalog.fitting(name)
        learner = catalog.learner(name, catalog.CLASSES[kind](Domain(2**10)), k)
        guarantee = learner.guarantee(learner.plan(*catalog.REFERENCE))
        text = "none" if guarantee is None else f"(epsilon, delta), {guarantee.neighboring.value}: {guarantee.why}"
        if guarantee is not None and guarantee.delta == 0:
            text = text.replace("(epsilon, delta)", "(epsilon, 0)")
        rows.append({"kind": "learner", "name": name, "guarantee": text})
    for name, function in inspect.getmembers(mechanisms, inspect.isfunction):
        if not name.endswith(("_guarantee", "_sample")):
            rows.append({"kind": "mechanism", "name": name, "guarantee": _privacy_line(function)})

    def show() -> None:
        printed = Printed()
        for heading in ("kind", "name", "guarantee"):
            printed.add_column(heading)
        for row in rows:
            printed.add_row(row["kind"], row["name"], row["guarantee"])
        Console().print(printed)

    return {"entries": rows}, show


def status(command: "cli.StatusCommand") -> Answer:
    """Counts cells and trials of a store and names its broken files."""
    with Store(command.out, read_only=True) as store:
        found = store.status()
    answer = {"cells": found.cells, "tiles": found.tiles, "trials": found.trials, "broken": list(found.broken)}

    def show() -> None:
        console = Console()
        console.print(f"{found.cells} cells, {found.tiles} tiles, {found.trials} trials")
        for path in found.broken:
            console.print(f"broken: {path} (move it away or delete it; the next run computes it again)")

    return answer, show


def bench(command: "cli.BenchCommand") -> Answer:
    """Ratios against peers, by the package ``benchmarks`` of a checkout, which is not installed."""
    try:
        benchmarks = importlib.import_module("benchmarks")
    except ImportError as error:
        raise InputError(
            "bench", "a checkout of the repository as the working directory", str(error),
            "clone it, or run `python -m benchmarks` there",
        ) from error  # fmt: skip

    rows = benchmarks.run(command.rows or None, quick=command.quick)

    def show() -> None:
        printed = Printed()
        for heading in ("row", "dpjax", "peer", "its value", "ratio", "goal"):
            printed.add_column(heading)
        for row in rows:
            goal = "" if row["goal"] is None else f"{row['goal']:g}"
            printed.add_row(
                row["name"], f"{row['value']:.3g}", row["peer"], f"{row['peer_value']:.3g}", f"{row['ratio']:.2f}", goal
            )
        Console().print(printed)

    return {"rows": rows}, show


def _start(devices: int | None, in_flight: int | None, compile_cache: Any) -> None:
    """Settings that JAX takes only before it starts."""
    for name, value in (("devices", devices), ("in_flight", in_flight)):
        if value is not None:
            checks.integer(name, value, 1, 1024)
    engine.host_devices(devices)
    if compile_cache is not None:
        jax.config.update("jax_compilation_cache_dir", str(compile_cache))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


def _privacy_line(function: Callable) -> str:
    lines = (inspect.getdoc(function) or "").splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith("Privacy:")), None)
    if start is None:
        return ""
    text = [lines[start].removeprefix("Privacy:").strip()]
    for line in lines[start + 1 :]:
        if not line.startswith(" "):
            break
        text.append(line.strip())
    return " ".join(text)
