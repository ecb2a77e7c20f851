"""Flags of `dpjax audit`. Imports no JAX."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import tyro

from dpjax.cli.arguments.base import Command
from dpjax.cli.arguments.numbers import Real, Whole


@dataclass
class AuditCommand(Command):
    """Audit a privacy claim: exactly if the output law is finite, else by a test with a stated confidence.

    Prints the claim, the result, the evidence, and the two databases that differ most. The exit status is 0 if the
    evidence is consistent with the claim, 1 if it refutes it, and 2 if the target cannot be audited or nothing is
    tested: there is only one outcome, or only one law on each pair.

    A function of your own (module:function) is a mechanism: one parameter is the data, the other its randomness. A
    parameter named key is a JAX key, and the function is traced by JAX; one named rng or generator is a NumPy
    generator, one named seed an integer, and the function runs on the host. Its claim is --epsilon, --delta,
    --relation; the databases are those of --pairs or --histograms.

    Example: dpjax audit stability --calibration printed
    Example: dpjax audit my_module:my_learner --method statistical --trials 10000000
    Example: dpjax audit my_module:noisy_sum --epsilon 1 --delta 0 --pairs my_module:pairs
    Example: dpjax audit my_module:noisy_counts --epsilon 1 --relation add-or-remove-one --histograms 4,2
    Example: dpjax audit "Independent(KLN(Points(3)), composition=zcdp)" --method tracing --k 1000 --epsilon 9
    Example: dpjax audit --all --out results/audit
    """

    compiles: ClassVar[bool] = True
    target: tyro.conf.Positional[str | None] = None
    """A name in the report of --all; a learner over a domain of two to four elements, "KLN(Thresholds(3))"; or your
    own module:object: a dpjax.audit.Target, a Learner, a function of concepts and k that returns a Learner, or a
    function of key and data."""
    all: bool = False
    """Audit everything that dpjax exports."""
    calibration: str = "corrected"
    """corrected, or printed for a paper's constants."""
    epsilon: Real | None = None
    """Privacy parameter epsilon of the claim; by default 1. Required for a function of your own."""
    delta: Real = 1e-6
    """Privacy parameter delta of the claim."""
    pairs: str | None = None
    """Databases for a function of your own: module:function, which returns or yields pairs of neighbors."""
    histograms: str | None = None
    """Alternatively ROWS,CELLS: all histograms of at most this many rows on this many cells; the function receives
    the counts of the cells, not rows."""
    data: str = "rows"
    """Type of the arrays of --pairs: rows along the first axis, or counts, for which the relation of every pair is
    checked; or other, for which it is your responsibility."""
    kind: str | None = None
    """Type of a function's randomness if its parameter names do not tell, by default of the first parameter: key,
    generator, seed; or own for a function of the data alone with its own generator."""
    method: str = "auto"
    """exact, statistical, sequential (a statistical test that stops at the first refutation), bitwise (a test of the
    low bits of floats, too), replay (compares queries to mechanisms on two neighbors under one key with their
    sensitivities), one-run (one run with many canaries, for targets with a score for each), tracing (of a learner of
    --k concepts on --rows rows: guesses one row from all answers together), or auto: exact if the law is finite."""
    k: Whole | None = None
    """Concepts, for tracing; by default those of the learner, or 100."""
    rows: Whole | None = None
    """Rows of the databases, for tracing; by default 16."""
    trials: Whole | None = None
    """Runs on each database, for statistical audits and, on average, for tracing; canaries, for one-run. By default
    1000000, with --all 100000, for tracing 10000."""
    confidence: Real = 0.95
    """Confidence of statistical audits: a correct claim is refuted with probability at most 1 - confidence; with --all,
    this holds for all correct claims together."""
    relation: str = "replace-one"
    """Neighboring relation: replace-one or add-or-remove-one."""
    distance: Whole = 1
    """Number of neighboring steps between the compared databases; the claim is amplified accordingly."""
    search: Whole = 0
    """Number of random neighbors that a statistical audit considers in addition to the target's pairs."""
    seed: Whole = 0
    """Root of all random keys; with --all each row has a separate seed, a digest of this seed and the row."""
    out: Path | None = None
    """Directory for audit.json, audit.md and the figure of the privacy curve; none by default."""
