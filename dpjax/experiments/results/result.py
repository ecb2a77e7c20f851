"""The result of a study: tables, a figure, and the file with its data."""

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.commands import command
from dpjax.core.documents import unsealed
from dpjax.core.files import read_bytes, replace_file
from dpjax.core.schemas import check
from dpjax.experiments.results import columns, comparisons
from dpjax.experiments.store import error_bins
from dpjax.experiments.store.cell_file import outcomes_of
from dpjax.experiments.store.file_schemas import ResultFile
from dpjax.experiments.store.store import Store, require_schema


class Result:
    """The measurements of a study. Its tables are Arrow's: ``table.to_pandas()``, ``polars.from_arrow(table)``.

    data: JSON-ready, as in result.json, see `rows.rows_of`. folder: with the store of its trials, None if it is
    not at hand; `differences` and `n_star_at` read it.
    """

    def __init__(self, data: Mapping[str, Any], folder: str | Path | None = None):
        checks.instance("result", data, Mapping, "use Result.load(folder)", "what a study saved")
        check(ResultFile, "result", data, "give result.json as a study saved it, or run the study again")
        self.data, self.folder = _present(data), None if folder is None else Path(folder)

    @staticmethod
    def load(path: str | Path) -> "Result":
        """Reads result.json, given its path or its folder."""
        checks.instance("path", path, (str, Path), "give result.json or its folder", "a path")
        path = Path(path)
        if path.is_dir():
            require_schema(path)
            path = path / "result.json"
        if path.suffix in (".png", ".svg", ".pdf"):
            advice = f"measure it again: {command('curve', path, '--out', 'FOLDER')}"
            raise InputError(
                "result", "a result.json or its folder", f"{path}, a figure, which holds no counts", advice
            )
        try:
            data = unsealed(read_bytes(path))
        except (OSError, ValueError) as error:
            message = f"{path}: {getattr(error, 'strerror', None) or error}"
            raise InputError("result", "a result.json or its folder", message, "check the path") from error
        return Result(data, path.parent)

    @property
    def curves(self) -> pa.Table:
        """Success at each n, with the simultaneous band of its curve."""
        rows = [row | {"success": row["successes"] / row["trials"]} for row in self.data["points"]]
        return columns.table(rows, columns.CURVES)

    @property
    def n_star(self) -> pa.Table:
        """Brackets of n* and the theorem's n."""
        return columns.table(self.data["n_star"], columns.N_STAR)

    @property
    def n_within(self) -> pa.Table:
        """What a search with gamma > 0 has instead of n*; brackets of earlier versions are among these."""
        return columns.table(self.data["n_within"], columns.N_WITHIN)

    @property
    def errors(self) -> pa.Table:
        """Quantiles of the largest error of a trial: upper ends of their bins."""
        rows = [
            row | {"quantile": float(level), "error": error}
            for row in self.data["points"]
            for level, error in row.get("errors", {}).items()
        ]
        return columns.table(rows, columns.ERRORS)

    @property
    def exponents(self) -> pa.Table:
        """Fitted exponents of k in n*."""
        return columns.table(self.data.get("exponents", []), columns.EXPONENTS)

    @property
    def failures(self) -> pa.Table:
        """Points that raised an error, with tracebacks."""
        return columns.table(self.data.get("failures", []), columns.FAILURES)

    def differences(self, between: str = "learner", confidence: float = 0.95) -> pa.Table:
        """Differences of success rates between points that differ in ``between`` alone: learner, epsilon or n.

        Trial t has the same data and keys at both points, so differences are measured in pairs: second's rate less
        first's, with exact intervals that hold all at once with probability ``confidence``. ratio: of an interval's
        width to the width that independent trials would give. InputError where nothing can be compared.
        """
        rows = comparisons.differences(self.data["points"], self._outcomes(), between, confidence)
        return columns.table([*rows], columns.differences(between))

    def n_star_at(self, alphas: Sequence[float], confidence: float = 0.95) -> pa.Table:
        """Brackets of n* for other alphas, from the trials of the curves; see `comparisons.brackets_at`."""
        levels = list(alphas) if isinstance(alphas, Iterable) else [alphas]
        rows = comparisons.brackets_at(self.data["points"], self._outcomes(), levels, confidence)
        return columns.table([*rows], columns.N_STAR_AT)

    def plot(self, path: str | Path, **how: Any) -> list[Path]:
        """Draws the result into ``path``, whose suffix is its format; without one as PNG and SVG. Returns the paths.

        how: arguments of `plots.plot_curve`: width ("column", "page", "screen" or inches), font, size, dark, dpi,
        lines, styles, panels, k, epsilon, scale, limits, title, caption.
        """
        from dpjax.plots import plot_curve

        path = Path(path)
        formats = (path.suffix[1:],) if path.suffix else ("png", "svg")
        return plot_curve(self.data, path.with_suffix(""), formats, **how)

    def report(self, path: str | Path) -> Path:
        """Writes one HTML file with the result's figures, tables and configuration, and returns its path.

        It refers to nothing outside itself; equal results give equal files. InputError if it cannot be written.
        """
        from dpjax.reports import study_page

        checks.instance("path", path, (str, Path), "give the file to write", "a path")
        if (path := Path(path)).suffix not in (".html", ".htm"):
            raise InputError("path", "a name that ends in .html", repr(str(path)), "give for example report.html")
        source = "result.json" if self.folder is None else str(self.folder)
        replace_file(path, study_page(self.data, source).encode())
        return path

    def to_xarray(self) -> Any:
        """The result as an `xarray.Dataset` over learner, k, epsilon and n; needs the extra dpjax[export].

        success, lower, upper, successes, trials, no_answers, and error by quantile, on (learner, k, epsilon, n); n_low,
        n_high, theorem and below on (learner, k, epsilon); NaN where nothing was measured. Variables have long_name and
        units. delta, alpha, beta are attributes. InputError if xarray is missing, or if delta, alpha or beta vary.
        """
        from dpjax.experiments.results.to_xarray import to_xarray

        return to_xarray(self.data)

    def _repr_png_(self) -> bytes | None:
        """The figure, which a notebook shows, as wide as its page; none before a curve is measured."""
        if not self.data["points"]:
            return None
        how = {"width": 8, "size": 9, "dpi": 200, "title": str(self.data.get("title") or "")}
        with tempfile.TemporaryDirectory() as folder:
            return self.plot(Path(folder) / "figure.png", **how)[0].read_bytes()

    def _outcomes(self) -> dict[str, Any]:
        """The bytes of the trials of every point, by the name of its cell."""
        if self.folder is None:
            advice = "load it from its folder: Result.load(folder)"
            raise InputError("result", "a result with the folder of its trials", "none", advice)
        with Store(self.folder, read_only=True) as store:
            names = {row.get("cell", "") for row in self.data["points"]}
            outcomes = {name: outcomes_of(store.cell(name).rows) for name in names}
        for row in self.data["points"]:
            seen = outcomes[row["cell"]][: row["trials"]]
            if len(seen) < row["trials"] or error_bins.successes(seen, row["alpha"]).sum() != row["successes"]:
                actual = f"other trials in cell {row['cell']} of {self.folder}"
                raise InputError("result", "the trials that it counts", actual, "run the study again in this folder")
        return outcomes

    def __str__(self) -> str:
        """The curves and the brackets of n* as text."""
        shown = (
            (self.curves, ("learner", "k", "epsilon", "n", "success", "lower", "upper")),
            (self.n_star, ("learner", "k", "epsilon", "n_low", "n_high", "theorem", "ended")),
            (self.n_within, ("learner", "k", "epsilon", "gamma", "fails_at", "passes_at")),
        )
        texts = [
            table.select(names).to_pandas().to_string(index=False, float_format="%.4g")
            for table, names in shown
            if table.num_rows
        ]
        return "\n\n".join(texts) or repr(self)

    def __repr__(self) -> str:
        points, stars, failed = (len(self.data.get(name, ())) for name in ("points", "n_star", "failures"))
        return f"Result({points} points, {stars} n*, {failed} failures)"


def _present(data: Mapping[str, Any]) -> dict[str, Any]:
    """The data with the brackets of earlier versions, which hold within a gamma, and not for n*, in n_within."""
    within = [row for row in data["n_star"] if row.get("gamma")]
    rows = [{**row, "fails_at": row["n_low"], "passes_at": row["n_high"]} for row in within]
    present = {**data, "n_within": [*data.get("n_within", ()), *rows]}
    if within:
        present |= {
            "n_star": [row for row in data["n_star"] if row not in within],
            "exponents": [],
            "exponents_all_k": [],
        }
    return present
