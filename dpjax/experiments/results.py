"""What a study found: tables, a figure, and the file that holds both."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from dpjax.core.checks import InputError

LABELS = ("learner", "k", "epsilon", "delta", "alpha", "beta")


class Result:
    """The measurements of a study.

    data: JSON-ready, see `run.measure`; what result.json holds.
    """

    def __init__(self, data: Mapping[str, Any]):
        missing = [name for name in ("config", "seed", "versions", "points", "n_star") if name not in data]
        if missing:
            raise InputError("result", "what a study saved as result.json", f"no {missing[0]}", "give that file")
        self.data = dict(data)

    @staticmethod
    def load(path: str | Path) -> "Result":
        """From result.json, or from the folder that holds it."""
        path = Path(path)
        path = path / "result.json" if path.is_dir() else path
        try:
            return Result(json.loads(path.read_text()))
        except (OSError, ValueError) as error:
            raise InputError("result", "a result.json or its folder", f"{path}: {error}", "check the path") from error

    @property
    def curves(self) -> pa.Table:
        """Success at each n, with the simultaneous band of its curve."""
        names = (*LABELS, "n", "trials", "successes", "no_answers", "lower", "upper")
        return _table(self.data["points"], names)

    @property
    def n_star(self) -> pa.Table:
        """Brackets of n* and the theorem's n."""
        return _table(self.data["n_star"], (*LABELS, "n_low", "n_high", "theorem", "confidence", "gamma", "trials"))

    @property
    def errors(self) -> pa.Table:
        """Quantiles of the largest error of a trial: upper ends of the bins in which they lie."""
        rows = [row | {"quantile": float(level), "error": error}
                for row in self.data["points"] for level, error in row["errors"].items()]  # fmt: skip
        return _table(rows, (*LABELS, "n", "quantile", "error"))

    @property
    def exponents(self) -> pa.Table:
        """Fitted exponents of k in n*."""
        names = ("learner", "epsilon", "k_from", "k_to", "slope", "low", "high", "confidence", "theorem", "claimed")
        return _table(self.data["exponents"], names)

    @property
    def failures(self) -> pa.Table:
        """Points that raised, with their tracebacks."""
        return _table(self.data.get("failures", []), (*LABELS, "n", "error", "traceback"))

    def plot(self, path: str | Path, **how: Any) -> list[Path]:
        """Draws the result into ``path``, whose suffix is its format; without one as PNG and SVG. Returns the paths.

        how: arguments of `plots.plot_curve`: width ("column", "page", "screen" or inches), font, size, dark, dpi,
        lines, styles, panels, k, epsilon, scale, limits, title, caption.
        """
        from dpjax.plots import plot_curve

        path = Path(path)
        formats = (path.suffix[1:],) if path.suffix else ("png", "svg")
        return plot_curve(self.data, path.with_suffix(""), formats, **how)

    def __repr__(self) -> str:
        points, stars, failed = (len(self.data.get(name, ())) for name in ("points", "n_star", "failures"))
        return f"Result({points} points, {stars} n*, {failed} failures)"


def _table(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> pa.Table:
    return pa.table({name: [row.get(name) for row in rows] for name in names})
