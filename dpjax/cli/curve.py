"""`dpjax curve`: a study, its result and its figure."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dpjax.cli import Answer
from dpjax.cli.arguments import CurveCommand
from dpjax.cli.flags import study_of
from dpjax.cli.plot import options_of
from dpjax.cli.printing import Table as Printed
from dpjax.cli.printing import console as screen
from dpjax.cli.statuses import Status
from dpjax.cli.watching import stopped_by_signals, watched
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.experiments import engine
from dpjax.experiments.items import first_items
from dpjax.experiments.run import prepare
from dpjax.experiments.run import run as measure
from dpjax.experiments.store import Store
from dpjax.experiments.study import Search, Study
from dpjax.experiments.work import Rules, threads_for
from dpjax.plots.files import check_formats


def run(command: CurveCommand) -> Answer:
    """Runs a study, writes result.json and the figure, and returns the result; ``failed`` lists points that raised."""
    formats = check_formats(command.formats)
    look = options_of(command)
    _start(command.devices, command.in_flight)
    if command.time_limit is not None and checks.number("time_limit", command.time_limit) <= 0:
        raise InputError("time_limit", "a number of seconds > 0", repr(command.time_limit), "leave it out for none")
    study = study_of(command)
    if study.search is None and set(command.panels) - {"curves"}:
        raise InputError("panels", "curves, since n* is not searched", " ".join(command.panels), "leave out the others")
    if command.prepare:
        if command.cluster is not None or command.scheduler is not None:
            raise InputError("prepare", "no cluster beside it", "--cluster or --scheduler", "leave one of them out")
        return _prepared(study, command.out)
    with engine.Engine(command.in_flight) as machine:
        rules = Rules(command.time_limit, command.retry_failed, threads_for(len(machine.devices)))
        elsewhere = _cluster(command, rules)
        result = measure(
            study, command.out, engine=machine, rules=rules, elsewhere=elsewhere, watch=_watched, repair=command.repair
        )
    drawn: list[Path] = []
    if formats and result.data["points"]:
        from dpjax.plots import plot_curve

        drawn = plot_curve(result.data, command.out / "curve", formats, **look)
    answer = result.data | {
        "computed": {"trials": machine.trials, "programs": machine.programs, "compiled": machine.compiled},
        "elsewhere": elsewhere is not None,
        "figures": [str(path) for path in drawn],
        "failed": len(result.data["failures"]),
    }  # fmt: skip
    if answer["left"]:
        answer["status"] = Status.LEFT
    return answer, lambda: _show(answer, study)


def _show(answer: dict[str, Any], study: Study) -> None:
    console, rows = screen(), Printed(title=study.title or "Samples needed: n*")
    for heading in ("learner", "k", "epsilon", "bracket (n_low, n_high]", "theorem", "no private learner below",
                    "trials of the search"):  # fmt: skip
        rows.add_column(heading, justify="left" if heading == "learner" else "right")
    if (search := study.search) is not None and answer["n_star"]:
        for star in answer["n_star"]:
            low = star["n_low"] if star["n_low"] is not None else f"<{search.n_min}"
            high = star["n_high"] if star["n_high"] is not None else f">{search.n_max}"
            cells_of_row = star["learner"], star["k"], f"{star['epsilon']:g}", f"({low}, {high}]"
            theorem = "-" if star["theorem"] is None else star["theorem"]
            below = "-" if star["below"] is None else star["below"]
            rows.add_row(*map(str, (*cells_of_row, theorem, below, star["trials"])))
        console.print(rows)
        console.print(_bracket(study, search), highlight=False, soft_wrap=True)
        for name in dict.fromkeys(star["below_by"] for star in answer["n_star"] if star["below_by"] is not None):
            kind = "agnostic " * bool(study.task.noise)
            console.print(f"no {kind}private learner below, on every distribution: {name}", highlight=False)
        for end, words in (("n_low", f"<{search.n_min}: no n was found to be too small"),
                           ("n_high", f">{search.n_max}: no n was found to be enough")):  # fmt: skip
            if any(star[end] is None for star in answer["n_star"]):
                console.print(words)
    if search is None and answer["points"]:
        console.print(_success(answer["points"]))
    everywhere = answer["exponents_all_k"] if study.fit_from > 1 else []
    for fit in (*answer["exponents"], *everywhere):
        claim = "" if fit["claimed"] is None else f", claimed {fit['claimed']:g}"
        console.print(
            f"{fit['learner']}, epsilon {fit['epsilon']:g}: n* grows like k^{fit['slope']:.3f} "
            f"[{fit['low']:.3f}, {fit['high']:.3f}] for k >= {fit['k_from']}"
            + ("" if fit["theorem"] is None else f" (the theorem's numbers: k^{fit['theorem']:.3f}{claim})")
        )
    for failure in answer["failures"]:
        at = "search" if failure["n"] is None else f"n = {failure['n']}"
        what = f"{failure['learner']}, k = {failure['k']}, epsilon = {failure['epsilon']:g}, {at}"
        console.print(f"failed: {what}: {failure['error']}", markup=False, highlight=False, soft_wrap=True)
    computed = answer["computed"]
    programs = f"by {computed['programs']} programs, of which {computed['compiled']} were compiled"
    where = "in this process, the others on the cluster" if answer["elsewhere"] else "now"
    console.print(f"{computed['trials']} trials computed {where}, {programs}")
    for path in answer["figures"]:
        console.print(f"figure: {path}")


def _bracket(study: Study, search: Search) -> str:
    """What a bracket says."""
    low, gamma = 1 - float(study.accuracy.beta), search.gamma
    return (
        f"each bracket, with confidence {search.confidence:g}: success is below {low:g} at n_low and above "
        f"{low - gamma:g} at n_high (gamma = {gamma:g}); n* itself may be above n_high"
    )


def _success(points: list[dict[str, Any]]) -> Printed:
    """Success at each n, with its simultaneous band."""
    rows = Printed(title="Success probability")
    for heading in ("learner", "k", "epsilon", "n", "success", "band"):
        rows.add_column(heading, justify="left" if heading == "learner" else "right")
    for point in points:
        place = point["learner"], str(point["k"]), f"{point['epsilon']:g}", str(point["n"])
        success, band = point["successes"] / point["trials"], f"[{point['lower']:.3f}, {point['upper']:.3f}]"
        rows.add_row(*place, f"{success:.3f}", band)
    return rows


@contextmanager
def _watched(worker: Any) -> Iterator[None]:
    with stopped_by_signals(worker), watched(worker):
        yield


def _cluster(command: CurveCommand, rules: Rules) -> Any:
    """What computes elsewhere; None if nothing does."""
    if command.cluster is None and command.scheduler is None:
        if command.workers is not None or command.cluster_options:
            name = "workers" if command.workers is not None else "cluster-option"
            raise InputError(name, "--cluster beside it", "no --cluster", "add for example --cluster local")
        return None
    from dpjax.experiments.cluster import Dask, options_of

    return Dask(command.cluster, command.scheduler, command.workers, options_of(command.cluster_options),
                command.imports, rules, _told())  # fmt: skip


def _told(say: Any = lambda text: print(text, file=sys.stderr, flush=True), every: float = 30.0) -> Any:
    """A line about progress, at most every 30 seconds."""
    last = [time.monotonic()]

    def tell(done: int, known: int) -> None:
        if time.monotonic() - last[0] > every:
            last[0] = time.monotonic()
            say(f"dpjax: {done} of {known} cells done")

    return tell


def _prepared(study: Study, out: Path) -> Answer:
    with Store(out):
        prepare(study, out)
    cells = sum(1 for _ in first_items(study))
    answer = {"store": str(out), "cells": cells, "curves": len(study.lines)}

    def show() -> None:
        screen().print(
            f"{out}: {len(study.lines)} curves, {cells} cells to begin with; compute them with", soft_wrap=True
        )
        screen().print(f"dpjax work {out}", markup=False, highlight=False, soft_wrap=True)

    return answer, show


def _start(devices: int | None, in_flight: int | None) -> None:
    """Applies settings that JAX accepts only before it starts."""
    for name, value in (("devices", devices), ("in_flight", in_flight)):
        if value is not None:
            checks.integer(name, value, 1, 1024)
    engine.host_devices(devices)
