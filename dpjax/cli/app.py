"""Runs one command of the command line."""

import importlib
import json
import os
import shlex
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import dpjax
from dpjax.cli.arguments import COMMANDS
from dpjax.cli.exit_status import Status
from dpjax.cli.parsing import parse, with_one_import
from dpjax.cli.streams import fit_streams, give_up_output
from dpjax.core.checks import RAISED, InputError
from dpjax.core.logs import of_a_command, say
from dpjax.core.plain import plain


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit status, see `exit_status.Status`."""
    argv = sys.argv[1:] if arguments is None else arguments
    if [*argv] == ["--version"]:
        print(f"dpjax {dpjax.__version__}")
        return Status.DONE
    fit_streams()
    answer: dict[str, Any] = {}
    command: Any = None
    try:
        command = parse(argv)
        name = next(name for name, kind in COMMANDS.items() if type(command) is kind)
        if command.compiles:
            from dpjax.experiments.run.compile_cache import use_compile_cache

            use_compile_cache(vars(command).get("compile_cache"))
        module = importlib.import_module(f"dpjax.cli.commands.{name.replace('-', '_')}")  # lazy: help needs no JAX
        with of_a_command():
            answer, show = module.run(command)
        if command.json:
            print(json.dumps(plain(answer, lambda part: part), allow_nan=False))
        else:
            show()
        sys.stdout.flush()
    except InputError as error:
        say(f"{error.trace}dpjax: {error}")
        if error.modules:  # a store never names what is imported: the person does
            words = with_one_import([*argv, *(f"--import={name}" for name in error.modules)])
            say(f"dpjax: if you trust this code: {shlex.join(['dpjax', *words])}")
        return Status.INVALID
    except BrokenPipeError:  # the reader closed standard output
        give_up_output()
    except RAISED as error:  # Python's default status 1 means a refuted claim here
        if command is None and isinstance(error, SystemExit):  # --help, and flags that cannot be read
            raise
        if not _is_from_outside(error):
            say(traceback.format_exc())
            return Status.FAULT
        from dpjax.core.user_code import UserCodeError

        fault = UserCodeError("your code", error)
        say(f"{fault.trace}dpjax: {fault}")
        return Status.INVALID
    except KeyboardInterrupt:
        kept = command is not None and command.resumes
        what = "computed results are stored, run the same command to continue" if kept else "nothing was stored"
        say(f"dpjax: interrupted; {what}")
        return Status.INTERRUPTED
    return _status(answer)


def _status(answer: dict[str, Any]) -> int:
    """The status that an answer names, or that follows from its entries violated, vacuous and failed."""
    if "status" in answer:
        return answer["status"]
    ends = {"violated": Status.REFUTED, "vacuous": Status.INVALID, "failed": Status.FAILED}
    return next((status for name, status in ends.items() if answer.get(name)), Status.DONE)


def _is_from_outside(error: BaseException) -> bool:
    """Whether the code that raised was called by dpjax and belongs neither to it nor to an installed package."""
    ours, installed = f"{Path(dpjax.__file__).parent}{os.sep}", (sys.prefix, sys.base_prefix, "<")
    files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    return any(not file.startswith((ours, *installed)) for file in files)
