"""`dpjax curve`: a sweep, its result and its figure."""

import json
from typing import Any

import jax
from rich.console import Console
from rich.table import Table as Printed

from dpjax.cli import Answer
from dpjax.cli.arguments import CurveCommand
from dpjax.core import checks
from dpjax.experiments import cells, engine, sweep
from dpjax.experiments.progress import Progress
from dpjax.experiments.store import Store, replace_file


def run(command: CurveCommand) -> Answer:
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
