"""`dpjax warm`: the programs of a study, compiled ahead of time."""

import time

import jax

from dpjax.cli import Answer
from dpjax.cli.arguments import WarmCommand
from dpjax.cli.flags import study_of
from dpjax.cli.printing import console as screen
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.logs import say
from dpjax.experiments.run import engine
from dpjax.experiments.run.warming import warm
from dpjax.experiments.run.work import threads_for

_EVERY = 30.0  # seconds between lines about progress


def run(command: WarmCommand) -> Answer:
    """Compiles what the cache of programs does not hold; ``failed``: the number of points without a program."""
    threads = checks.integer("threads", command.threads, 1, 1024) if command.threads is not None else threads_for(1)
    engine.host_devices(1)
    study = study_of(command)
    folder = jax.config.values["jax_compilation_cache_dir"]
    if not folder:
        raise InputError(
            "compile_cache", "a folder that can be written to, which keeps the programs",
            command.compile_cache or "none", "give one, or leave it out for the user's cache folder",
        )  # fmt: skip
    begin = last = time.monotonic()

    def tell(done: int, of: int) -> None:
        nonlocal last
        if time.monotonic() - last > _EVERY:
            last = time.monotonic()
            say(f"dpjax: {done} of {of} points looked at")

    with engine.Engine() as machine:
        found = warm(study, machine, threads, tell)
    failures = [{"curve": curve, "n": n, "error": error} for curve, n, error in found.failures]
    answer = {"programs": found.programs, "compiled": found.compiled, "seconds": time.monotonic() - begin,
              "folder": folder, "failures": failures, "failed": len(failures)}  # fmt: skip

    def show() -> None:
        known = found.programs - found.compiled
        text = f"{found.programs} programs: {found.compiled} compiled, {known} were there, {answer['seconds']:.1f} s"
        screen().print(f"{text}; in {folder}")
        for curve, n, error in found.failures:
            screen().print(f"failed: {curve}, n = {n}: {error}")

    return answer, show
