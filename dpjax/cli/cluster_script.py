"""`dpjax cluster-script`: the files that compute a prepared study on a cluster."""

import hashlib
import re
import shlex
import sys
from collections.abc import Callable, Mapping
from importlib import resources
from pathlib import Path

from dpjax.cli import Answer
from dpjax.cli.arguments import ClusterScriptCommand
from dpjax.cli.printing import console as screen
from dpjax.cli.shards import LONGEST, Shards, divide, seconds_of, time_limit
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.files import replace_file

_SLURM_ONLY = ("time", "partition", "account", "activate")
_KUBERNETES_ONLY = ("image", "namespace", "volume_claim")
_WORD = r"[A-Za-z0-9][\w.+-]*"
_LABEL = r"[a-z0-9]([a-z0-9.-]{0,250}[a-z0-9])?"
_PATTERNS = {
    "partition": (rf"{_WORD}(,{_WORD})*", "a name such as short"), "account": (_WORD, "a name such as physics"),
    "image": (r"[a-zA-Z0-9][\w./:@-]*", "an image such as registry.org/me/dpjax:1"),
    "namespace": (_LABEL, "lower-case letters, digits, - and ."),
    "volume_claim": (_LABEL, "lower-case letters, digits, - and ."),
    "memory": (r"[1-9]\d{0,6}[MG]", "a number with M or G, such as 16G"), "activate": (r"[^\n\r\0]+", "one line"),
}  # fmt: skip
_MODULE = r"[A-Za-z_][\w.]*"
_PATH = r"[\w./+=:,~-]+"


def run(command: ClusterScriptCommand) -> Answer:
    """Writes the files; the answer holds their paths, the shards and the steps."""
    scheduler = checks.choice("scheduler", command.scheduler, _TEXTS)
    _check(command, scheduler)
    workers = 1 if command.gpus else command.cpus_per_task
    cells = command.cells if command.cells is not None else _cells_left(command.store)
    shards = divide(
        cells, command.seconds_per_cell, command.total_hours, workers, command.shard_minutes, command.array_limit
    )
    values, files, steps = _TEXTS[scheduler](command, shards)
    folder = _absolute(command.out)
    texts = {folder / file: _filled(scheduler, file, values) for file in files}
    for path in texts:
        if path.exists():
            given = f"{path.parent}: {path.name} exists, and jobs may be using it"
            raise InputError("out", "a folder without job files", given, "choose another folder or delete the files")
    if scheduler == "slurm":
        _make(folder / "logs")
    for path, text in texts.items():
        replace_file(path, text.encode())
    notes = _notes(command, shards)
    answer = {
        "scheduler": scheduler, "files": [str(path) for path in texts], "cells": shards.cells, "shards": shards.count,
        "seconds_per_shard": shards.seconds, "notes": notes, "next": steps,
    }  # fmt: skip

    def show() -> None:
        console = screen()

        def say(text: str) -> None:
            console.print(text)

        for path in texts:
            say(f"written: {path}")
        say(_division(shards))
        for note in notes:
            say(f"note: {note}")
        say("next:")
        for step in steps:
            say(f"  {step}")

    return answer, show


def _division(shards: Shards) -> str:
    """The cells, the shards and the time of each, as one line."""
    minutes = max(1, round(shards.seconds / 60))
    counts = (shards.cells, "cell"), (shards.count, "shard"), (minutes, "minute")
    cells, count, each = (f"{number} {what}{'s' * (number != 1)}" for number, what in counts)
    return f"{cells} in {count} of about {each}{' each' * (shards.count > 1)}"


def _check(command: ClusterScriptCommand, scheduler: str) -> None:
    """InputError for values that a scheduler or a shell would misread."""
    for name in _KUBERNETES_ONLY if scheduler == "slurm" else _SLURM_ONLY:
        if (value := getattr(command, name)) is not None:
            raise InputError(name, f"none for {scheduler}", repr(value), "leave it out")
    for name, (pattern, expected) in _PATTERNS.items():
        value = getattr(command, name)
        if value is not None and not re.fullmatch(pattern, value):
            raise InputError(name, expected, repr(value), "see dpjax cluster-script --help")
    for module in command.imports:
        if not re.fullmatch(_MODULE, module):
            raise InputError("import", "names of modules", repr(module), "write for example --import mine")
    for name in ("store", "out"):
        path = str(getattr(command, name).absolute())
        if not re.fullmatch(_PATH, path):
            advice = "choose another path: directives of schedulers have no quotes"
            raise InputError(name, "a path of letters, digits and . / + = : , ~ - _", repr(path), advice)
    checks.integer("cpus_per_task", command.cpus_per_task, 1, 1024)
    checks.integer("gpus", command.gpus, 0, 1)
    checks.integer("grace", command.grace, 60, 3600)
    checks.integer("retries", command.retries, 0, 1000)
    checks.whole_or_none("at_once", command.at_once, 1)


def _absolute(path: Path) -> Path:
    """Without "..", whose meaning depends on symbolic links; other links stay, which other hosts may need."""
    return path.resolve() if ".." in path.parts else path.absolute()


def _cells_left(store: Path) -> int:
    """The number of cells that the store still lacks."""
    from dpjax.cli.arguments import StatusCommand
    from dpjax.cli.status import run as status

    if not (store / "study.json").is_file():
        advice = f"prepare it: dpjax curve STUDY.toml --out {store} --prepare; or give --cells"
        raise InputError("store", "a prepared store", f"{store}, without study.json", advice)
    left = status(StatusCommand(store))[0].get("left")
    if not isinstance(left, int):
        advice = f"prepare it: dpjax curve STUDY.toml --out {store} --prepare; or give --cells"
        raise InputError("store", "a store with a queue of cells", str(store), advice)
    if left == 0:
        advice = f"make the result: dpjax curve {store} --out {store}"
        raise InputError("store", "cells that are left", f"{store}, where none is", advice)
    return left


def _common(command: ClusterScriptCommand, shards: Shards) -> dict[str, str]:
    store = _absolute(command.store)
    slug = re.sub(r"[^a-z0-9]+", "-", store.name.lower()).strip("-")[:30].strip("-") or "study"
    threads, processes = (command.cpus_per_task, 1) if command.gpus else (1, command.cpus_per_task)
    return {
        "NAME": f"dpjax-{slug}-{hashlib.sha256(str(store).encode()).hexdigest()[:6]}", "SHARDS": str(shards.count),
        "AT_ONCE": str(min(shards.count, 50 if command.at_once is None else command.at_once)),
        "CPUS": str(command.cpus_per_task), "MEMORY": command.memory or f"{2 * command.cpus_per_task}G",
        "GRACE": str(command.grace), "RETRIES": str(command.retries), "THREADS": str(threads),
        "PROCESSES": str(processes),
    }  # fmt: skip


def _slurm(command: ClusterScriptCommand, shards: Shards) -> tuple[dict[str, str], list[str], list[str]]:
    limit = time_limit(shards, command.grace) if command.time is None else command.time
    usable = seconds_of(limit) - command.grace
    if usable < 60:
        raise InputError("time", f"more than the grace time of {command.grace} s and a minute", limit, "give more")
    if shards.seconds > usable * (command.retries + 1):
        given = f"{limit} for shards of about {shards.seconds / 3600:.1f} hours"
        raise InputError(
            "time", f"a limit within which {command.retries} retries suffice", given, "give more of either"
        )
    directives = {"partition": command.partition, "account": command.account, "gres": "gpu:1" if command.gpus else None}
    folder, store = _absolute(command.out), _absolute(command.store)
    values = _common(command, shards) | {
        "STORE": str(store), "FOLDER": str(folder), "LAST": str(shards.count - 1), "TIME": limit,
        "GPUS": str(command.gpus), "PATIENCE": str(max(30, command.grace - 30)),
        "IMPORTS": " ".join(f"--import {module}" for module in command.imports),
        "ACTIVATE": command.activate or f"export PATH={shlex.quote(str(Path(sys.executable).parent))}:$PATH",
        "DIRECTIVES": "\n".join(f"#SBATCH --{name}={value}" for name, value in directives.items() if value),
    }  # fmt: skip
    imports = "".join(f" --import {module}" for module in command.imports)
    steps = [
        f"bash {folder}/submit.sh    # where sbatch works; again at any time to go on",
        f"dpjax status {store}    # what is done; logs of shards: {folder}/logs",
        f"scancel --name={values['NAME']},{values['NAME']}-finish    # to stop; what is done is stored",
        f"dpjax curve {store} --out {store}{imports}    # the result, which the last job makes",
    ]
    return values, ["environment.sh", "shard.sbatch", "finish.sbatch", "submit.sh"], steps


def _kubernetes(command: ClusterScriptCommand, shards: Shards) -> tuple[dict[str, str], list[str], list[str]]:
    for name in ("image", "volume_claim"):
        if getattr(command, name) is None:
            flag = name.replace("_", "-")
            raise InputError(name, "a name for kubernetes", "none", f"give --{flag}; see dpjax cluster-script --help")
    check = """\
gpus=$(nvidia-smi --list-gpus | grep -c '^GPU' || true)
if [ "$gpus" != 1 ]; then echo "expected exactly 1 visible GPU, got $gpus" >&2; exit 2; fi"""
    store, folder = _absolute(command.store), _absolute(command.out)
    gpus = command.gpus == 1
    values = _common(command, shards) | {
        "STORE": f"/store/{store.name}", "LOCAL": str(store), "NAMESPACE": command.namespace or "default",
        "IMAGE": command.image or "", "CLAIM": command.volume_claim or "", "PLATFORM": "cuda" if gpus else "cpu",
        "IMPORTS": "".join(f" --import {module}" for module in command.imports),
        "CHECK": check.replace("\n", "\n" + 14 * " ") if gpus else "",
        "GPU": 'nvidia.com/gpu: "1"' if gpus else "",
    }  # fmt: skip
    steps = [f"read {folder}/README.md, which has the commands", f"kubectl apply -f {folder}/shell.yaml",
             f"kubectl cp the store to the volume, then: kubectl apply -f {folder}/job.yaml"]  # fmt: skip
    return values, ["job.yaml", "shell.yaml", "README.md"], steps


_TEXTS: Mapping[str, Callable[[ClusterScriptCommand, Shards], tuple[dict[str, str], list[str], list[str]]]] = {
    "slurm": _slurm, "kubernetes": _kubernetes,
}  # fmt: skip


def _filled(scheduler: str, file: str, values: Mapping[str, str]) -> str:
    """The template with its @NAMES@ replaced; a line that holds nothing but an empty value is left out."""
    text = (resources.files("dpjax.templates") / scheduler / file).read_text(encoding="utf-8")
    for name, value in values.items():
        if not value:
            text = re.sub(rf"(?m)^ *@{name}@\n", "", text)
    return re.sub(r"@([A-Z_]+)@", lambda found: values[found[1]], text)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        given = f"{folder}: {error.strerror}"
        raise InputError("out", "a folder that can be written to", given, "choose another folder") from error


def _notes(command: ClusterScriptCommand, shards: Shards) -> list[str]:
    """What a reader of the summary should know about the division."""
    minutes, found = shards.seconds / 60, []
    if minutes > LONGEST:
        why = "a cell takes that long" if shards.count == shards.cells else "more shards are above --array-limit"
        found.append(f"shards are longer than {LONGEST} minutes: {why}")
    if minutes < command.shard_minutes / 2 and shards.count > 1:
        found.append("shards are short, since a shard has few cells for each worker; fewer --cpus-per-task suffice")
    if shards.count == 1:
        found.append("one shard is enough: a cluster does not help much")
    return found
