"""Plants one-line mistakes in dpjax/, one at a time, and runs the quick tests that ought to fail.

Run: python scripts/mutations.py [--only NAME] [--jobs 1] [--root FOLDER]

mutations.toml lists the mistakes. Each is planted in a temporary copy of the repository. Prints one line a mistake:
"caught" with the test that failed first, or "survived". Exit status 1 if any survived. --only: those whose file
contains NAME. --jobs: how many run at the same time. --root: another checkout, for example of an older suite; a mistake
whose line it lacks is "absent".
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
COPIED = ("dpjax", "tests", "scripts", "docs", "configs", "pyproject.toml")
SECONDS = 1200.0


class Mutation(NamedTuple):
    """A file of dpjax/, a text that occurs once in it, the text in its place, and files and folders of tests/."""

    file: str
    old: str
    new: str
    tests: str


def mutations() -> list[Mutation]:
    """Those of mutations.toml."""
    table = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())
    return [Mutation(file, *words) for file, several in table.items() for words in several]


def copied(root: Path, folder: Path) -> Path:
    """A copy of what tests need."""
    for name in COPIED:
        source, there = root / name, folder / name
        if source.is_dir():
            shutil.copytree(source, there, ignore=shutil.ignore_patterns("__pycache__", "_build"))
        else:
            shutil.copy(source, there)
    return folder


def outcome(mutation: Mutation, root: Path, programs: Path) -> str:
    """Plants the mistake in the copy ``root``, runs the tests, and takes it out again."""
    place = root / "dpjax" / mutation.file
    text = place.read_text() if place.exists() else ""
    if text.count(mutation.old) != 1:
        return "absent"
    place.write_text(text.replace(mutation.old, mutation.new))
    tests = [f"tests/{name}" for name in mutation.tests.split()]
    words = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=no", "-p", "no:cacheprovider", *tests]
    shared = {"JAX_COMPILATION_CACHE_DIR": str(programs), "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    try:
        done = subprocess.run(
            words,
            cwd=root,
            env=os.environ | shared | {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(root)},
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired:
        return f"caught: no end within {SECONDS:.0f} s"
    finally:
        place.write_text(text)
    if done.returncode == 0:
        return "survived"
    failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    return f"caught by {failed[0]}" if failed else f"caught: pytest ended with {done.returncode}"


def outcomes(chosen: Sequence[Mutation], root: Path, jobs: int) -> Iterator[str]:
    """The outcome of each, in order; every job has a copy of its own."""
    with tempfile.TemporaryDirectory(prefix="dpjax-mutations-") as scratch, ThreadPoolExecutor(jobs) as pool:
        copies: Queue[Path] = Queue()
        for job in range(jobs):
            (folder := Path(scratch) / str(job)).mkdir()
            copies.put(copied(root, folder))

        def run(mutation: Mutation) -> str:
            copy, begin = copies.get(), time.monotonic()
            try:
                return f"{outcome(mutation, copy, Path(scratch) / 'programs')} ({time.monotonic() - begin:.0f} s)"
            finally:
                copies.put(copy)

        yield from pool.map(run, chosen)


def main(only: str = "", jobs: int = 1, root: Path = ROOT) -> int:
    """Prints a line for each, and a total."""
    chosen = [mutation for mutation in mutations() if only in mutation.file]
    survived = 0
    for mutation, found in zip(chosen, outcomes(chosen, root, jobs), strict=True):
        survived += found.startswith("survived")
        print(f"{mutation.file}: {' '.join(mutation.new.split())[:60]}: {found}", flush=True)
    print(f"{len(chosen)} planted, {survived} survived")
    return int(survived > 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--root", type=Path, default=ROOT)
    sys.exit(main(**vars(parser.parse_args())))
