"""Stands in for a cluster: files that `dpjax cluster-script` writes, and programs that record how they are called."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from dpjax import cli

WORKER = r"""#!/usr/bin/env bash
# Behaves as the file `behavior` says: a status to end with, "answers" or "deaf" to signals, or "unready" for them.
echo "$*" >>@FAKE@/dpjax.calls
env | grep -E '^(NPROC|OMP_NUM_THREADS|JAX_PLATFORMS|DPJAX_COMPILE_CACHE)=' >@FAKE@/environment
case $1 in
    status) echo "{\"cells\": 9, \"left\": $(<@FAKE@/left), \"failed\": 0}" ;;
    work)
        behavior=$(<@FAKE@/behavior)
        case $behavior in
            answers)
                trap 'echo USR1 >>@FAKE@/signals; sleep 0.3; exit 5' USR1
                trap 'echo TERM >>@FAKE@/signals' TERM
                ;;
            deaf) trap '' USR1 TERM ;;
            unready) ;;
            *) exit "$behavior" ;;
        esac
        touch @FAKE@/ready
        for _ in {1..600}; do sleep 0.05; done
        ;;
esac
"""
RECORDS = r"""#!/usr/bin/env bash
echo "$*" >>@FAKE@/@NAME@.calls
cat @FAKE@/@NAME@.answer
exit "$(cat @FAKE@/@NAME@.status)"
"""
TASK = {"SLURM_ARRAY_TASK_ID": "3", "SLURM_ARRAY_JOB_ID": "77"}
ANSWERS = {"sbatch": "4711\n", "squeue": "", "scontrol": "JobState=RUNNING PreemptTime=2026-01-01T00:00:00\n"}


class Cluster:
    """A folder of fake programs, and job files that find them."""

    def __init__(self, folder: Path, *flags: str):
        self.fake, self.jobs, self.store = folder / "fake", folder / "jobs", folder / "store"
        self.fake.mkdir()
        for name, text in {"dpjax": WORKER, **dict.fromkeys(ANSWERS, RECORDS)}.items():
            path = self.fake / name
            path.write_text(text.replace("@FAKE@", str(self.fake)).replace("@NAME@", name))
            path.chmod(0o755)
        for name, answer in ANSWERS.items():
            self.answer(name, answer)
        self.set(left=7, behavior=0)
        words = ["slurm", str(self.store), "--out", str(self.jobs), "--cells", "256", "--seconds-per-cell", "225"]
        assert cli.main(["cluster-script", *words, "--activate", f"export PATH={self.fake}:$PATH", *flags]) == 0

    def set(self, **values):
        for name, value in values.items():
            (self.fake / name).write_text(str(value))

    def answer(self, name, answer, status=0):
        self.set(**{f"{name}.answer": answer, f"{name}.status": status})

    def calls(self, name):
        path = self.fake / f"{name}.calls"
        return path.read_text().splitlines() if path.exists() else []

    @property
    def signals(self):
        path = self.fake / "signals"
        return path.read_text().split() if path.exists() else []

    def start(self, file, *words, **environment):
        return subprocess.Popen(
            ["bash", str(self.jobs / file), *words], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env=os.environ | {"TMPDIR": str(self.fake)} | TASK | environment,
        )  # fmt: skip

    def run(self, file, *words, **environment):
        """Exit status and output."""
        process = self.start(file, *words, **environment)
        output = process.communicate(timeout=60)[0]
        return process.returncode, output

    def signalled(self, *numbers, pause=0.1):
        """The same of a shard that gets these signals once its worker runs, and the seconds until it ended."""
        process = self.start("shard.sbatch")
        for _ in range(400):
            if (self.fake / "ready").exists():
                break
            time.sleep(0.05)
        time.sleep(0.3)  # until bash waits
        began = time.monotonic()
        for number in numbers:
            process.send_signal(number)
            time.sleep(pause)
        output = process.communicate(timeout=60)[0]
        return process.returncode, output, time.monotonic() - began


def written(folder, *words, capsys):
    """The answer of the command with --json."""
    out = [] if "--out" in words else ["--out", str(folder / "jobs")]
    assert cli.main(["cluster-script", *words, *out, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


SHELLCHECK = shutil.which("shellcheck", path=f"{os.environ['PATH']}:{Path(sys.executable).parent}")
USR1, TERM = signal.SIGUSR1, signal.SIGTERM
