"""Warnings about results on a table: too few rows, or no better than a constant."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Privacy


@dataclass(frozen=True)
class Needed:
    """rows: the theorem's sample size, or None. asked: the accuracy it is for. why: the reason if there is none."""

    rows: int | None
    asked: str
    why: str = ""

    def warnings(self, rows: int) -> list[str]:
        """Warnings for a table with this number of rows."""
        if self.rows is None:
            return [f"no number of rows is proved to be sufficient for {self.asked} ({self.why})"] if self.why else []
        if rows >= self.rows:
            return []
        return [
            f"{rows} rows are fewer than the {self.rows} for which the theorem guarantees {self.asked} if a concept "
            "fits all rows: nothing is proved about the error here"
        ]


def rows_needed(learner: Any, privacy: Privacy, accuracy: Accuracy) -> Needed:
    """The learner's ``sample_size``, if a theorem says it."""
    goal = f"alpha = {float(accuracy.alpha):g}, beta = {float(accuracy.beta):g}"
    try:
        return Needed(learner.sample_size(privacy, accuracy), goal)
    except InputError as error:
        return Needed(None, goal, str(error))


_GAIN = 0.1  # fraction of the constant's errors; a learner that avoids fewer is hardly better


def of_errors(concepts: Sequence[Mapping[str, Any]], advice: Callable[[int], str] = lambda j: "") -> list[str]:
    """A warning for each concept whose mean held-out error is above nine tenths of that of the best constant; with its
    advice."""
    warnings = []
    for j, row in enumerate(concepts):
        mean = {name: spread["mean"] for name, spread in row.items() if name.startswith("error_")}
        mine, constant = mean.pop("error_private"), mean.pop("error_constant")
        if mine >= constant or mine > (1 - _GAIN) * constant:
            how = "no" if mine >= constant else "hardly"
            others = ", ".join(
                f"{name.removeprefix('error_').replace('_', ' ')}: {other:.3f}" for name, other in mean.items()
            )
            warnings.append(
                f"{row['concept']}: {how} better than the best constant, which errs on {constant:.3f} of the held-out "
                f"rows; the learner errs on {mine:.3f} ({others}){advice(j) and '; '}{advice(j)}"
            )
    return warnings
