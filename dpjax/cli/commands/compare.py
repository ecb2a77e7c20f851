"""`dpjax compare`: the trials of one study on two kinds of devices."""

from dataclasses import asdict
from typing import Any

from dpjax.cli.arguments.results import CompareCommand
from dpjax.cli.exit_status import Status
from dpjax.cli.output import Answer
from dpjax.cli.output import console as screen
from dpjax.core.screen import Table
from dpjax.experiments.run.compare_devices import compare_stores

_COUNTS = ("trials", "identical", "differ", "near", "successes")


def run(command: CompareCommand) -> Answer:
    """Counts identical and different outcomes, point by point and in all."""
    tally = compare_stores(command.first, command.second)
    answer: dict[str, Any] = {"trials": tally.trials, "identical": tally.trials - tally.differ}
    answer |= {"differ": tally.differ, "near": tally.near} | {
        "integers_identical": all(pair.integers for pair in tally.pairs),
        "at_most": tally.at_most,
        "alone": list(tally.alone),
        "points": [asdict(pair) for pair in tally.pairs],
        "status": Status.DONE if tally.same else Status.REFUTED,
    }

    def show() -> None:
        console = screen()
        printed = Table("learner", "epsilon", "k", "n", "for", *_COUNTS, "program", "cell")
        for pair in tally.pairs:
            epsilon = "" if pair.epsilon is None else f"{pair.epsilon:g}"
            counts = pair.trials, pair.trials - pair.differ, pair.differ, pair.near
            program = "same" if pair.same_program else "differs"
            ends = "{} / {}".format(*pair.successes), program, pair.cells[0][:12]
            printed.add_row(pair.learner, epsilon, str(pair.k), str(pair.n), pair.purpose, *map(str, counts), *ends)
        for devices in sorted({pair.devices for pair in tally.pairs}):
            console.print(" and ".join(devices))
        console.print(printed)
        identical = tally.trials - tally.differ
        kinds = f"{tally.differ} differ, {tally.near} of them by one bin of the error"
        said = [f"{identical} of {tally.trials} trials are identical; {kinds}"]
        if tally.at_most is not None:
            said.append(f"at each point, with 95% confidence, at most {tally.at_most:.2g} of all trials differ")
        if not all(pair.integers for pair in tally.pairs):
            said.append("columns of integers differ")
        for count, root in zip(tally.alone, (command.first, command.second), strict=True):
            if count:
                said.append(f"{count} cells are in {root} only")
        for line in said:
            console.print(line)

    return answer, show
