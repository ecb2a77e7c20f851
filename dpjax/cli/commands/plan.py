"""`dpjax plan`: theorems, guarantees and cost of a configuration, without running it."""

from typing import Any

from dpjax.cli.arguments.studies import PlanCommand
from dpjax.cli.output import Answer, console
from dpjax.cli.study_of import study_of
from dpjax.experiments.run import forecast
from dpjax.experiments.run.forecast import CurveForecast


def run(command: PlanCommand) -> Answer:
    """The theorem's n, the guarantee, and the trials of every curve; programs, memory and time of all."""
    study = study_of(command)
    what = forecast.forecast(study)
    rows = []
    for entry in what.curves:
        guarantee = entry.curve.guarantee()
        tree = None if guarantee is None else guarantee.to_dict()
        assumes = entry.curve.setting.learner.assumes
        theorem = {"theorem": entry.curve.theorem(), "why_no_theorem": entry.curve.why_no_theorem(), "assumes": assumes}
        row = {**entry.curve.labels(), **theorem, "guarantee": tree, "text": str(guarantee)}
        if (below := entry.curve.below()) is not None:
            row |= {"below": below.n, "below_by": below.name, "below_agnostic": below.agnostic}
        rows.append(row | _trials(entry))
    answer: dict[str, Any] = {"plan": rows, "trials": what.trials, "programs": what.programs, "bytes": what.bytes}
    answer |= {"cells": what.cells, "estimate": forecast.RULE if what.estimated else None, "seconds": None}
    if command.time:
        rates = forecast.timed(study, what)
        each = forecast.seconds_per_cell(what, rates)
        answer |= {"seconds": forecast.seconds(what, rates), "seconds_per_cell": each}
        answer["rates"] = [vars(rate) for rate in rates]

    def show() -> None:
        out = console()
        for row in rows:
            n = "no theorem for these numbers" if row["theorem"] is None else f"theorem's n = {row['theorem']}"
            n += f", for {row['assumes']}" if row["theorem"] is not None and row["assumes"] else ""
            title = f"{row['learner']}, k = {row['k']}, epsilon = {row['epsilon']:g}: {n}"
            out.print(title, style="bold")
            if row["why_no_theorem"]:
                out.print(row["why_no_theorem"])
            out.print(row["text"] if row["guarantee"] is not None else "not private")
            if "below" in row:
                kind = "agnostic " * row["below_agnostic"]
                below = f"no private {kind}learner below n = {row['below']}: {row['below_by']}"
                out.print(below)
            out.print(_sentence(row))
        about, tiles = "about " * what.estimated, "counted in whole tiles, as if nothing were stored"
        out.print(f"\nin all      {about}{what.trials} trials, {tiles}")
        out.print(f"programs    {about}{what.programs}, each compiled once a device")
        beside = "for the examples of concurrent trials; the learners' own memory is not included"
        out.print(f"memory      {what.bytes / 1e6:.1f} MB {beside}")
        if what.estimated:
            out.print(f"estimate    {forecast.RULE}")
        if answer["seconds"] is None:
            out.print("time        run again with --time: it compiles and times one tile of each learner")
            return
        out.print(f"time        about {answer['seconds']:.0f} s on this machine, from")
        for rate in rates:
            speed = f"{rate.compile_seconds:.1f} s a program, {rate.per_second:.3g} rows x concepts a second"
            at = f"one tile at n = {rate.n}, k = {rate.k}"
            out.print(f"            {rate.learner}: {speed} ({at})")
        each = f"about {answer['seconds_per_cell']:.2g} s each"
        out.print(f"cells       {what.cells}, {each}")

    return answer, show


def _trials(one: CurveForecast) -> dict[str, Any]:
    search = {"visits": len(one.search), "trials": sum(visit.computed for visit in one.search)} if one.search else None
    sizes = [visit.setting.n for visit in one.points]
    curve = {"n": sizes, "trials": sum(visit.computed for visit in one.points)}
    return {"search": search, "curve": curve, "shared": one.shared}


def _sentence(row: dict[str, Any]) -> str:
    parts = []
    if row["search"] is not None:
        parts.append(f"about {row['search']['trials']} trials at {row['search']['visits']} sample sizes to find n*")
    around = " around n*" * (row["search"] is not None)
    parts.append(f"{row['curve']['trials']} trials at {len(row['curve']['n'])} sample sizes{around} for the curve")
    return "; ".join(parts) + "; the same points as of a line above" * row["shared"]
