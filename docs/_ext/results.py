"""The page of results: files of a store, and tables whose columns are those of `dpjax.experiments.results.columns`."""

from collections.abc import Iterable

import site_text
from site_text import code, markdown

from dpjax.experiments.results import columns
from dpjax.experiments.run import rows
from dpjax.experiments.store import error_bins
from dpjax.experiments.store.canonical import SCHEMA

FILES = {
    "study.json": "What was asked for: the study as a [configuration](configuration.md), every object by its fields.",
    "result.json": "What is measured so far, see [below](#resultjson).",
    "result.earlier.json": "The `result.json` of another study, or of other code, that was in the folder before.",
    "curve.png, curve.svg": "The figure, with its metadata, see [below](#metadata-of-figures).",
    "format.json": f'The format of the store, `{{"schema": {SCHEMA}}}`. A store of another one is refused.',
    "cells/HH/HASH-ROWS.parquet": "The trials of one point, see [below](#cells). HASH: the cell's name, 64 hexadecimal "
    "digits, HH the first two; ROWS: how many trials the file holds.",
    "broken/TIME-HASH-ROWS.parquet": "Files that were not what had been written, moved away by `--repair`.",
    "queue/items.json": "For each curve, or for each point if the sample sizes are given: its name, what it is, how "
    "many points follow it, and which.",
    "queue/code": "Digest of the code whose records the queue holds; other code removes them.",
    "queue/done/NAME": "Record of an item that is done, with the names of its cells.",
    "queue/failed/NAME": "Record of an item that failed, with the error and its traceback.",
}
"""Files in the folder of a study, by the pattern of their names, and what they hold."""
EXPORTED = {
    "TABLE.csv, TABLE.parquet": "One of the [tables](#tables), by `dpjax export`.",
    "result.nc": "The result as arrays over learner, k, epsilon and n, by `dpjax export --format netcdf`.",
    "trials.parquet": "All trials, a row each, see [below](#all-trials-in-one-file), by `dpjax compact`.",
    "report.html": "The report, by `dpjax report`.",
}
"""Files that other commands add."""
TABLES = {
    "curves": ("Success at each n.", columns.CURVES),
    "n_star": ("Brackets of n*, and the theorem's n.", columns.N_STAR),
    "n_within": ("Quick looks within a gamma > 0, in the place of n*.", columns.N_WITHIN),
    "errors": (f"Quantiles of the error at the levels {', '.join(map(str, rows.LEVELS))}.", columns.ERRORS),
    "exponents": ("Exponents of k in n*, where several k are measured.", columns.EXPONENTS),
    "failures": ("Points that raised an error.", columns.FAILURES),
    "differences": (
        "Paired differences of success rates, by `differences(between)` or `export --between`. Here between budgets.",
        columns.differences("epsilon"),
    ),
    "n_star_at": ("Brackets of n* for other alphas, by `n_star_at(alphas)` or `export --alphas`.", columns.N_STAR_AT),
}
"""The tables of a `Result`, and their columns."""
RESULT = {
    "title": "Title of the study.",
    "config": "The study, as in `study.json`.",
    "seed": "Root of all random keys.",
    "versions": "Minor series of dpjax, versions of jax and jaxlib.",
    "made_by": "Whole version of the dpjax that wrote the file; no result is found or refused by it.",
    "device": "Kind of device that computed the trials.",
    "points": "Rows of the table `curves` without `success`; each with `guarantee_delta`, the delta of the guarantee "
    "of the plan, which is 0 for pure differential privacy whatever the budget's delta, and null for a learner without "
    "privacy; `errors`, the quantiles by level; and `cell`, the name of the cell that holds its trials.",
    "n_star": "Rows of the table `n_star`, each with `guarantee_delta`, as in the points, of the plan for the "
    "theorem's n (without a theorem, for the largest n of the study); `exponent_of_k`, the exponent that the theorem "
    "claims; `below`, the number of rows below which no learner that is as private succeeds on every distribution, "
    "and `below_by`, which argument says so; and `cells`, the names of the search's cells by n.",
    "n_within": "Rows of the table `n_within`, with the same further keys; empty unless gamma > 0.",
    "exponents": "Rows of the table `exponents`, fitted over k >= fit_from.",
    "exponents_all_k": "The same, over all k.",
    "failures": "Rows of the table `failures`.",
    "left": "Number of curves that are not measured yet.",
    "sha256": "Digest of all other entries, also in `study.json`: a file with another digest is refused.",
}
"""Keys of result.json."""
CELL = {
    "trials": "What decides the trials' keys, with the seed: `task`, a digest of class, distribution, targets and "
    "noise; `purpose`, such as `curve`; for searches also `n`.",
    "seed": "Root of all random keys.",
    "n": "Number of rows.",
    "k": "Number of concepts.",
    "alpha": "Accuracy alpha: success is an error of at most this.",
    "capacity": "Rows of the buffer that holds the examples.",
    "tile": "Trials of one call of the program.",
    "block": "Trials that are computed at once.",
    "learner": "`class`, its qualified name, and `digest`, a digest of all its fields.",
    "plan": "Digest of the plan's numbers, through which epsilon, delta and beta enter.",
    "program": "Digest of the program that computes a trial.",
    "device": "Kind of device.",
    "versions": "Minor series of dpjax, versions of jax and jaxlib.",
}
"""Keys of the configuration of a cell, which its name is a digest of."""
TRIALS = {
    "cell": ("string", "Name of the cell."),
    "config": ("string", "Configuration of the cell, as JSON."),
    "versions": ("string", "Versions that computed it, as JSON."),
    "trial": ("int64", "Index of the trial."),
    "outcome": ("int64", "The byte of the trial."),
}
"""Columns of the file that `dpjax compact` writes."""
METADATA = {
    "config": "The configuration, `settings` by name for the points that `dpjax trial` reruns; of a script, `script`.",
    "seed": "Root of all random keys.",
    "versions": "Minor series of dpjax, versions of jax and jaxlib.",
    "device": "Kind of device that computed the numbers.",
    "title": "Title of a study.",
    "command": "The command that drew the figure; of figures by scripts.",
    "seconds": "Seconds from the start of that command to the figure; of figures by scripts.",
}
"""Keys of the metadata of a figure."""


def pages() -> dict[str, str]:
    """The page by its path."""
    parts = [_INTRODUCTION, _pairs("file", FILES), _ADDED, _pairs("file", EXPORTED), _RESULT, _pairs("key", RESULT)]
    parts += [_TABLES]
    for name, (what, own) in TABLES.items():
        lines = ((code(one.name), str(one.type), markdown(one.meaning)) for one in own)
        parts += [f"### {name}", markdown(what), site_text.table(("column", "type", "meaning"), lines)]
    parts += [_CELLS.format(edges=len(error_bins.edges(0.11)), invalid=error_bins.INVALID, silent=error_bins.SILENT)]
    parts += [_pairs("key", CELL), _TRIALS]
    parts += [site_text.table(("column", "type", "meaning"), ((code(a), b, c) for a, (b, c) in TRIALS.items()))]
    parts += [_FIGURES, _pairs("key", METADATA)]
    return {"reference/results.md": "\n\n".join(part.strip("\n") for part in parts) + "\n"}


def _pairs(what: str, meanings: dict[str, str]) -> str:
    return site_text.table((what, "meaning"), ((_codes(name.split(", ")), text) for name, text in meanings.items()))


def _codes(words: Iterable[str]) -> str:
    return ", ".join(map(code, words))


_INTRODUCTION = """\
# Results

[`dpjax curve`](commands/curve.md) and `Study.run` keep everything about a study in one folder. Any number of processes
may write to it at the same time; each file appears whole, by a rename of a file `.tmp-...`, or not at all. How such a
folder is used: [guide](../guide/commands.md#what-if-a-run-is-interrupted-or-a-point-fails).

## Files of a study
"""
_ADDED = "Other commands add files, by default in the same folder:"
_RESULT = """\
## result.json

One object. `Result.load(folder)` reads it.
"""
_TABLES = """\
## Tables

A `Result` has its tables as Arrow's: `result.curves`, `result.n_star`, and so on; `dpjax export` writes them as CSV or
Parquet. An entry without a value is null.
"""
_CELLS = """\
## Cells

A cell is one point of a study: a learner, a task, n, k, a plan. Its file has one column, `outcome`, `uint8`: one byte
for each of the trials 0, 1, 2, ... Bits 0 to 6 are the bin of the largest error among the k concepts, bit 7
({silent}) is set if the learner abstained on some concept. Bins are those of a fixed grid of errors with alpha as one
more edge, {edges} edges in all (`dpjax.experiments.store.error_bins.edges`): an error lies in bin i if it is
above edge i - 1 and at most edge i.
Bin {invalid} is an error that is not a number in \\[0, 1\\]; its point is recorded as failed. Trials are computed in
whole blocks, so a cell may hold more of them than were asked for; results count the first ones.

The metadata of the Parquet file has `dpjax.config`, the configuration as canonical JSON (keys sorted, floats by
`float.hex`), `dpjax.versions`, and `dpjax.content`, a SHA-256 of these and of the rows, by which a broken file is
found. The name of the cell is the SHA-256 of the format and the configuration, so results are found by what they are.
The configuration has these keys:
"""
_TRIALS = """\
## All trials in one file

[`dpjax compact`](commands/compact.md) writes one Parquet file, ordered by cell and trial:
"""
_FIGURES = """\
## Metadata of figures

Every figure says how it was made, as JSON: in the text `Description` of a PNG file, in `dc:description` of an SVG file,
in `Keywords` of a PDF file. `dpjax.plots.read_metadata` reads it, and a figure is accepted wherever a configuration is.
"""
