"""Flags of commands that measure: studies, tables of papers and the comparison of learners. Imports no JAX."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import tyro

from dpjax.cli.arguments.base import Command, FigureFlags, GoalFlags, MeasuredFlags, StudyFlags
from dpjax.cli.arguments.numbers import Real, Whole


@dataclass
class CurveCommand(FigureFlags, MeasuredFlags):
    """Measure the sample complexity of learners.

    Sweeps n for every learner, k and epsilon; finds n* with an error guarantee; draws success probability against n
    with simultaneous bands, n* against k, and the theorems' sample sizes. Results that are already in --out are not
    computed again: run the same command to continue after an interruption.

    Example: dpjax curve configs/demo.toml --out results/demo --epsilon 0.5 1
    Example: dpjax curve --concepts "Thresholds(2**20)" --learners KLN ThresholdMedian --k 1 8
    """

    compiles: ClassVar[bool] = True
    resumes: ClassVar[bool] = True
    out: Path = Path("results")
    """Directory of the store, the result and the figure."""
    devices: Whole | None = None
    """Split the CPU into this many devices; by default one per core. Does not affect results."""
    in_flight: Whole | None = None
    """Concurrent tiles; by default two per device. Does not affect results."""
    formats: tuple[str, ...] = ("png", "svg")
    """Formats of the figure: png, svg, pdf; none for no figure."""
    compile_cache: str | None = None
    """Folder for compiled programs, or off; by default in the user's cache folder, by versions and processor."""
    prepare: bool = False
    """Only write the study into --out, for `dpjax status`, and for shards that are given the folder as their study."""
    shard: str | None = None
    """i/N: only compute and store the cells of the i-th of N parts, i from 0 to N - 1, as a task of a job array does.
    The same command without it makes the result when all parts are done. Exit status: 0 all of it is done, 4 it is
    done and some cells failed, 5 work is left."""
    cluster: str | None = None
    """Compute on a Dask cluster: local, slurm or kubernetes (pip install 'dpjax[cluster]')."""
    scheduler: str | None = None
    """Compute on the Dask cluster with this address, such as tcp://host:8786."""
    workers: Whole | None = None
    """Workers of --cluster; by default one per core of this host."""
    cluster_options: Annotated[tuple[str, ...], tyro.conf.arg(name="cluster-option")] = ()
    """Further arguments of the cluster's constructor in dask.distributed, dask_jobqueue or dask_kubernetes, as
    name=value: queue=gpu, walltime=01:00:00, image=ghcr.io/me/dpjax."""
    time_limit: Real | None = None
    """Seconds that one cell may take; one that takes longer is recorded as failed."""
    max_seconds: Real | None = None
    """Seconds after which no more work is begun."""
    retry_failed: bool = False
    """Try cells again that failed before, also if the code has not changed."""
    repair: bool = False
    """Move broken files of the store into its folder "broken", so that their cells are computed again."""


@dataclass
class TrialCommand(StudyFlags):
    """Rerun one trial of a study from its key, and print its data, hypotheses and errors.

    A study or a figure alone prints a table of what can be chosen, and runs a trial of the first; a searched one at
    n_high of its bracket, if a result has one.

    Example: dpjax trial docs/gallery/figures/composition.png
    Example: dpjax trial results/demo --learners point --k 1 --epsilon 0.5 --n 512 --trial 7
    Example: dpjax trial docs/gallery/figures/four-learners.png --learners point --k 1 --epsilon 0.5 --n 512 --trial 7
    """

    compiles: ClassVar[bool] = True
    trial: Whole = 0
    """Index of the trial; the curve uses trials 0 to --trials minus 1."""


@dataclass
class PlanCommand(MeasuredFlags):
    """Print the theorems' sample sizes, the guarantees and the cost of a configuration.

    Trials, programs and memory are computed without running anything; with a search for n* they are estimates, whose
    assumption is printed.

    Example: dpjax plan configs/demo.toml --k 1 100
    Example: dpjax plan configs/demo.toml --time
    """

    compiles: ClassVar[bool] = True
    time: bool = False
    """Compile and time one tile of each learner, and estimate the time of the study."""


@dataclass
class TableCommand(Command):
    """Measure a paper's table of sample complexities: n* along every axis, and the exponents beside the claimed ones.

    Results that are already in --out are not computed again: run the same command to continue after an interruption.

    Example: dpjax table bns-multi --out results/bns-multi --rows parities "points, PAC"
    """

    compiles: ClassVar[bool] = True
    resumes: ClassVar[bool] = True
    name: tyro.conf.Positional[str] = "bns-multi"
    """bns-multi: Section 1.3 of Bun, Nissim, Stemmer 2016."""
    rows: tuple[str, ...] = ()
    """Substrings of the titles of the rows to measure; by default all rows."""
    out: Path = Path("results/table")
    """Directory of the store, table.json, table.md and the figure."""
    limit: Whole = 2**17
    """Largest sample size considered."""
    trials: Whole = 10_000
    """Trials of each search, unless its bracket is one grid step before."""
    confidence: Real = 0.95
    """Confidence of all brackets of a row together."""
    seed: Whole = 0
    """Root of all random keys."""
    devices: Whole | None = None
    """Split the CPU into this many devices; by default one per core. Does not affect results."""
    formats: tuple[str, ...] = ("png", "svg")
    """Formats of the figure: png, svg, pdf; none for no figure."""


@dataclass
class AskCommand(GoalFlags):
    """Which learner? Compare all private learners of a class, by their theorems and by measured n*.

    Names the learner with the smallest provable n and the one with the smallest measured n*, for realizable data, with
    both numbers and the lower bound of all learners. n* is measured on tasks that are hard for the class, and is the
    largest over them; learners whose n* is more than --within times the best one are not measured any further. With
    --verbose and --json, learners that refuse the class, the budget (many need a positive delta) or the relation are
    listed with the reason. Trials are stored in --store: the same question goes on where it was interrupted.
    The exit status is 4 if the code of a learner raised; the others are compared all the same.

    Example: dpjax ask "Points(2**32)" --k 16 --epsilon 1 --delta 1e-6 --alpha 0.2
    Example: dpjax ask "Thresholds(2**64)" --delta 0 --theorems
    Example: dpjax ask "Thresholds(2**10)" --distribution uniform --store results/ask
    Example: dpjax ask "mine:Intervals(64)" --import mine --learners "mine:Learner"
    """

    compiles: ClassVar[bool] = True
    resumes: ClassVar[bool] = True
    concepts: tyro.conf.Positional[str]
    """The concept class: "Points(2**32)", "caterpillar(20)", module:Class(...) of your own, a function of
    dpjax.dimensions.families such as "intervals(12)", or a CSV or .npy file of labels with a line per concept."""
    k: Whole = 1
    """Number of concepts that are learned at once; all of them have to be good."""
    relation: str = "replace-one"
    """Neighboring relation: replace-one or add-or-remove-one."""
    learners: Annotated[tuple[str, ...], tyro.conf.arg(aliases=["--learner"])] = ()
    """Further learners that compete: module:Name(...) of your own, or "Confident(KLN)"."""
    only: tuple[str, ...] = ()
    """Names of the public learners that compete; by default all."""
    task: tuple[str, ...] = ()
    """Tasks on which n* is measured: a function of dpjax.experiments.sweep.hard_tasks, such as "hard_points", or
    your own."""
    distribution: str | None = None
    """Instead, the distribution of the examples: uniform, "heavy(4, 0.23)", ..., or module:function(...)."""
    theorems: bool = False
    """Only compare theorems, and measure nothing."""
    verbose: bool = False
    """Also print the learners that do not compete, with the reasons, and all compositions."""
    trials: Whole = 5000
    """Trials for each learner and task, unless the bracket is one grid step before."""
    confidence: Real = 0.95
    """Confidence of each bracket of n*."""
    n_max: Whole = 2**17
    """Largest sample size considered."""
    within: Real = 2.0
    """Learners are measured up to this multiple of the best n* so far."""
    seed: Whole = 0
    """Root of all random keys."""
    store: Path = Path("results/ask")
    """Folder where trials are stored, from which the same question goes on; --theorems stores nothing."""
