"""`dpjax curve`: a study, its result and its figure."""

from pathlib import Path
from typing import Any

import jax

from dpjax.cli import Answer
from dpjax.cli.arguments import CurveCommand
from dpjax.cli.flags import study_of
from dpjax.cli.plot import options_of
from dpjax.cli.printing import Table as Printed
from dpjax.cli.printing import console as screen
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.experiments import engine
from dpjax.experiments.study import Study
from dpjax.plots.files import check_formats


def run(command: CurveCommand) -> Answer:
    """Runs a study, writes result.json and the figure, and returns the result; ``failed`` lists points that raised."""
    check_formats(command.formats)
    look = options_of(command)
    _start(command.devices, command.in_flight, command.compile_cache)
    study = study_of(command)
    if study.search is None and set(command.panels) - {"curves"}:
        raise InputError("panels", "curves, since n* is not searched", " ".join(command.panels), "leave out the others")
    with engine.Engine(command.in_flight) as machine:
        result = study.run(command.out, engine=machine)
    drawn: list[Path] = []
    if command.formats and result.data["points"]:
        from dpjax.plots import plot_curve

        drawn = plot_curve(result.data, command.out / "curve", command.formats, **look)
    answer = result.data | {
        "computed": {"trials": machine.trials, "programs": machine.programs}, "figures": [str(path) for path in drawn],
        "failed": len(result.data["failures"]),
    }  # fmt: skip
    return answer, lambda: _show(answer, study)


def _show(answer: dict[str, Any], study: Study) -> None:
    console, rows = screen(), Printed(title=study.title or "Samples needed: n*")
    for heading in ("learner", "k", "epsilon", "n* in", "theorem", "no learner below", "trials of the search"):
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
        for name in dict.fromkeys(star["below_by"] for star in answer["n_star"] if star["below_by"] is not None):
            kind = "agnostic " * bool(study.task.noise)
            console.print(f"no {kind}learner below, on every distribution: {name}", highlight=False)
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
    console.print(f"{computed['trials']} trials computed now, {computed['programs']} programs compiled")
    for path in answer["figures"]:
        console.print(f"figure: {path}")


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


def _start(devices: int | None, in_flight: int | None, compile_cache: Any) -> None:
    """Applies settings that JAX accepts only before it starts."""
    for name, value in (("devices", devices), ("in_flight", in_flight)):
        if value is not None:
            checks.integer(name, value, 1, 1024)
    engine.host_devices(devices)
    if compile_cache is not None:
        jax.config.update("jax_compilation_cache_dir", str(compile_cache))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
