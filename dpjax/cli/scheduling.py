"""Arguments of the command that writes job scripts: a dataclass, whose docstrings are the help. Imports no JAX."""

from dataclasses import dataclass
from pathlib import Path

import tyro

from dpjax.cli.drawing import Command
from dpjax.cli.kinds import Real, Whole


@dataclass
class ClusterScriptCommand(Command):
    """Write the files that compute a prepared study on a cluster: a Slurm job array, or a Kubernetes Indexed Job.

    `dpjax curve STUDY.toml --out STORE --prepare` prepares the store. Its cells are divided into shards, one a task;
    each runs `dpjax work` until its cells are stored. Nothing is submitted: the files say what to do, and the command
    prints the steps.

    Example: dpjax cluster-script slurm results/demo --out jobs --seconds-per-cell 40 --partition short
    Example: dpjax cluster-script slurm results/demo --out jobs --total-hours 300 --gpus 1 --memory 16G
    Example: dpjax cluster-script kubernetes results/demo --out jobs --seconds-per-cell 40 --image me/dpjax:1 --volume-claim data
    """  # noqa: E501

    scheduler: tyro.conf.Positional[str]
    """slurm or kubernetes."""
    store: tyro.conf.Positional[Path]
    """The prepared store, on a file system that all nodes see; for kubernetes, to be copied to the volume."""
    out: Path = Path("jobs")
    """Output folder, for slurm on a file system that all nodes see."""
    seconds_per_cell: Real | None = None
    """Estimated seconds of one cell on one core, or on the GPU; `dpjax plan STUDY.toml --time` measures it."""
    total_hours: Real | None = None
    """Instead: estimated hours of all cells together on one core, or on one GPU."""
    cells: Whole | None = None
    """Number of cells; by default those that `dpjax status` says are left."""
    shard_minutes: Real = 30.0
    """Minutes that a shard shall take, 15 to 60: schedulers dislike shorter jobs, and longer ones wait longer."""
    array_limit: Whole = 500
    """Largest number of shards (Slurm: MaxArraySize; see `scontrol show config`)."""
    at_once: Whole | None = None
    """Largest number of shards that run at the same time; by default 50."""
    cpus_per_task: Whole = 4
    """CPUs of a shard: as many workers of one thread each; with a GPU, one worker of as many threads."""
    gpus: Whole = 0
    """GPUs of a shard: 0, or 1, which is checked before JAX starts."""
    memory: str | None = None
    """Memory of a shard, such as 16G or 900M; by default 2G for each CPU."""
    grace: Whole = 120
    """Seconds between the signal to stop and the end, in which the worker finishes its tile; 60 to 3600."""
    retries: Whole = 10
    """How often a shard is started again: after it was stopped (slurm), after crashes (kubernetes)."""
    time: str | None = None
    """Slurm: time limit of a shard, HH:MM:SS or D-HH:MM:SS; by default twice the estimate, at least 30 minutes."""
    partition: str | None = None
    """Slurm: partition."""
    account: str | None = None
    """Slurm: account."""
    activate: str | None = None
    """Slurm: shell line after which `dpjax` is found, such as "source ~/venv/bin/activate"; by default the folder of
    this command's Python goes to the front of PATH."""
    image: str | None = None
    """Kubernetes: container image with dpjax."""
    namespace: str | None = None
    """Kubernetes: namespace; by default default."""
    volume_claim: str | None = None
    """Kubernetes: name of the PersistentVolumeClaim that holds the store."""
