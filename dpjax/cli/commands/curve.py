"""`dpjax curve`: a study, its result and its figure."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from dpjax.cli.arguments.studies import CurveCommand
from dpjax.cli.commands.plot import options_of
from dpjax.cli.exit_status import Status
from dpjax.cli.output import Answer
from dpjax.cli.output import console as screen
from dpjax.cli.signals import stopped_by_signals, watched
from dpjax.cli.study_of import study_of
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.commands import command as pasteable
from dpjax.core.logs import LOG
from dpjax.core.screen import Screen
from dpjax.core.screen import Table as Printed
from dpjax.experiments.run import engine
from dpjax.experiments.run.items import first_items
from dpjax.experiments.run.run import prepare, run_shard
from dpjax.experiments.run.run import run as measure
from dpjax.experiments.run.work import Rules, Worker, threads_for
from dpjax.experiments.statistics.sequential_search import TRIALS_SPENT
from dpjax.experiments.store.records import shard_of
from dpjax.experiments.store.store import Store
from dpjax.experiments.study.clusters import check_cluster, cluster
from dpjax.experiments.study.clusters import options_of as options_of_cluster
from dpjax.experiments.study.remote import taking
from dpjax.experiments.study.study import Study
from dpjax.experiments.sweep.sweep import Search
from dpjax.plots.files import check_formats


def run(command: CurveCommand) -> Answer:
    """Runs a study, writes result.json and the figure, and returns the result; ``failed`` lists points that raised."""
    formats = check_formats(command.formats)
    look = options_of(command)
    _start(command.devices, command.in_flight)
    for name in ("time_limit", "max_seconds"):
        if (value := getattr(command, name)) is not None and checks.number(name, value) <= 0:
            raise InputError(name, "a number of seconds > 0", repr(value), "leave it out for none")
    study = study_of(command)
    if study.search is None and set(command.panels) - {"curves"}:
        raise InputError("panels", "curves, since n* is not searched", " ".join(command.panels), "leave out the others")
    _check_where(command)
    if command.prepare:
        return _prepared(study, command.out)
    curves = f"{len(study.curves)} curve{'s' * (len(study.curves) > 1)}"
    LOG.info(f"{curves}; trials that {command.out} lacks are run once their programs are compiled")

    @contextmanager
    def watch(worker: Worker) -> Iterator[None]:
        with stopped_by_signals(worker), watched(worker, command.max_seconds):
            yield

    with ExitStack() as stack:
        machine = stack.enter_context(engine.Engine(command.in_flight))
        rules = Rules(command.time_limit, command.retry_failed, threads_for(len(machine.devices)))
        how: dict[str, Any] = {"engine": machine, "rules": rules, "watch": watch, "repair": command.repair}
        if command.shard is not None:
            return _shard_done(command, run_shard(study, command.out, shard_of(command.shard), **how), machine.trials)
        if elsewhere := command.cluster is not None or command.scheduler is not None:
            where = command.cluster, command.scheduler, command.workers, options_of_cluster(command.cluster_options)
            how["executor"] = stack.enter_context(cluster(*where))
            how["take"] = taking(study, command.out, command.imports, rules)
        result = measure(study, command.out, **how)
    drawn: list[Path] = []
    if formats and result.data["points"]:
        from dpjax.plots import plot_curve

        drawn = plot_curve(result.data, command.out / "curve", formats, **look)
    answer = result.data | {
        "computed": {"trials": machine.trials, "programs": machine.programs, "compiled": machine.compiled},
        "elsewhere": elsewhere,
        "figures": [str(path) for path in drawn],
        "failed": len(result.data["failures"]),
    }
    if answer["left"]:
        answer["status"] = Status.LEFT
    return answer, lambda: _show(answer, study)


def _show(answer: dict[str, Any], study: Study) -> None:
    console, search = screen(), study.search
    if search is not None and (answer["n_star"] or answer["n_within"]):
        _show_searches(answer, study, search, console)
    if search is None and answer["points"]:
        console.print(_success(answer["points"]))
    for line in dict.fromkeys(_growth(answer, study)):
        console.print(line, soft_wrap=False)
    for failure in answer["failures"]:
        at = "search" if failure["n"] is None else f"n = {failure['n']}"
        what = f"{failure['learner']}, k = {failure['k']}, epsilon = {failure['epsilon']:g}, {at}"
        console.print(f"failed: {what}: {failure['error']}", markup=False, highlight=False, soft_wrap=True)
    computed = answer["computed"]
    programs = f"by {computed['programs']} programs, of which {computed['compiled']} were compiled"
    where = "in this process, the others on the cluster" if answer["elsewhere"] else "now"
    console.print(f"{computed['trials']} trials computed {where}, {programs}")
    if answer["figures"]:
        console.print(f"figure: {' '.join(answer['figures'])}", highlight=False, soft_wrap=True)


def _show_searches(answer: dict[str, Any], study: Study, search: Search, console: Screen) -> None:
    """The brackets, and what they say."""
    stars, good = answer["n_star"], 1 - float(study.accuracy.beta)
    within, ends = f"n within gamma = {search.gamma:g}, not n*", ("fails_at", "passes_at")
    title, ends = (study.title or "Samples needed: n*", ("n_low", "n_high")) if stars else (within, ends)
    rows = Printed(title=title, box=None, pad_edge=False)
    for heading in ("learner", "k", "epsilon", f"({ends[0]}, {ends[1]}]", "theorem", "below", "trials"):
        rows.add_column(heading, justify="left" if heading == "learner" else "right")
    shown = []
    for star in stars or answer["n_within"]:
        low = star[ends[0]] if star[ends[0]] is not None else f"<{search.n_min}"
        high = star[ends[1]] if star[ends[1]] is not None else f">{search.n_max}"
        bounds = ("-" if star[name] is None else star[name] for name in ("theorem", "below"))
        epsilon = "-" if star["guarantee_delta"] is None else f"{star['epsilon']:g}"
        trials = f"{star['trials']}{'+' * (star['ended'] == TRIALS_SPENT)}"
        shown.append((star["learner"], str(star["k"]), epsilon, f"({low}, {high}]", *map(str, bounds), trials))
    for row in dict.fromkeys(shown):  # a learner that is not private is the same at every epsilon
        rows.add_row(*row)
    console.print(rows)

    def say(text: str) -> None:
        console.print(text, soft_wrap=False)

    if any(row[-1].endswith("+") for row in shown):
        say("+: all trials spent before the search came down to one step of its grid")
    least = f"at least {good:g}" if stars else f"above {good - search.gamma:g}"
    say(f"confidence {search.confidence:g} each: success is below {good:g} at {ends[0]}, {least} at {ends[1]}")
    for name in dict.fromkeys(star["below_by"] for star in stars if star["below_by"] is not None):
        say(f"below: no {'agnostic ' * bool(study.task.noise)}private learner on every distribution; {name}")
    for end, words in (
        ("n_low", f"<{search.n_min}: no n was found to be too small"),
        ("n_high", f">{search.n_max}: no n was found to be enough"),
    ):
        if any(star[end] is None for star in stars):
            say(words)


def _growth(answer: dict[str, Any], study: Study) -> Iterator[str]:
    """How n* grows with k, over the fitted k and, if these are others, over all k."""
    stars = answer["n_star"]
    free = {star["learner"] for star in stars if star["guarantee_delta"] is None}
    single = len({star["epsilon"] for star in stars}) == 1
    every = {end(star["k"] for star in stars) for end in (min, max) if stars}
    everywhere = answer["exponents_all_k"] if study.fit_from > 1 else []
    for fit in (*answer["exponents"], *everywhere):
        name = fit["learner"] if single or fit["learner"] in free else f"{fit['learner']}, epsilon {fit['epsilon']:g}"
        slope, low, high = (f"{fit[end]:z.2f}" for end in ("slope", "low", "high"))
        logs = "" if fit["claimed"] is None else f", k^{fit['claimed']:g} up to logs"
        theorem = "" if fit["theorem"] is None else f"; theorem k^{fit['theorem']:z.2f}{logs}"
        over = "" if {fit["k_from"], fit["k_to"]} == every else f" for k = {fit['k_from']} ... {fit['k_to']}"
        yield f"{name}: n* like k^{slope} [{low}, {high}]{over}{theorem}"


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


def _check_where(command: CurveCommand) -> None:
    """InputError for flags of where to compute that exclude one another, before anything is written."""
    elsewhere = [name for name in ("cluster", "scheduler") if getattr(command, name) is not None]
    for name in ("prepare", "shard"):
        if getattr(command, name) and (elsewhere or (name == "shard" and command.prepare)):
            others = " or ".join(f"--{other}" for other in elsewhere) or "--prepare"
            raise InputError(name, "no cluster beside it" if elsewhere else "alone", others, "leave one of them out")
    if elsewhere:
        options = options_of_cluster(command.cluster_options)
        check_cluster(command.cluster, command.scheduler, command.workers, options)
    elif command.workers is not None or command.cluster_options:
        name = "workers" if command.workers is not None else "cluster-option"
        raise InputError(name, "--cluster beside it", "no --cluster", "add for example --cluster local")
    if command.shard is not None:
        shard_of(command.shard)


def _shard_done(command: CurveCommand, counts: dict[str, Any], trials: int) -> Answer:
    status = Status.LEFT if not counts["complete"] else Status.FAILED if counts["failed"] else Status.DONE
    answer = {"store": str(command.out), "shard": command.shard, **counts, "trials": trials, "status": status}

    def show() -> None:
        ends = "all of it is done" if counts["complete"] else "work is left: run the same command to continue"
        console = screen()
        console.print(f"shard {command.shard}: {counts['done']} cells done, {counts['failed']} failed; {ends}")
        console.print(f"{trials} trials computed now")

    return answer, show


def _prepared(study: Study, out: Path) -> Answer:
    with Store(out):
        prepare(study, out)
    cells = sum(1 for _ in first_items(study))
    answer = {"store": str(out), "cells": cells, "curves": len(study.curves)}

    def show() -> None:
        screen().print(
            f"{out}: {len(study.curves)} curves, {cells} cells to begin with; compute them with", soft_wrap=True
        )
        screen().print(pasteable("curve", out, "--out", out, config=study.to_dict()))

    return answer, show


def _start(devices: int | None, in_flight: int | None) -> None:
    """Applies settings that JAX accepts only before it starts."""
    for name, value in (("devices", devices), ("in_flight", in_flight)):
        if value is not None:
            checks.integer(name, value, 1, 1024)
    engine.host_devices(devices)
