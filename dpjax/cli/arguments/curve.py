"""Flags of `dpjax curve`. Imports no JAX."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import tyro

from dpjax.cli.arguments.base import FigureFlags, MeasuredFlags
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
