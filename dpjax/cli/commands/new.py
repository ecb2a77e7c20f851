"""`dpjax new`: a working file to start from, and its test."""

import importlib.util
import keyword
import shlex
import sys
from importlib import resources
from pathlib import Path

from dpjax.cli.arguments.tables import NewCommand
from dpjax.cli.output import Answer, console
from dpjax.core import checks
from dpjax.core.checks import InputError

_PACKAGE = "dpjax.templates"
_TEMPLATES = {"learner": "learner", "class": "concept_class", "mechanism": "mechanism"}
"""The kinds, and the module of `dpjax.templates` that each copies."""
_STEPS = {
    "learner": (
        'dpjax check {name}:Learner --concepts "Thresholds(64)"',
        'dpjax curve --import {name} --concepts "Thresholds(64)" --learners "mine={name}:Learner" KLN --out results',
        "dpjax audit {name}:small",
    ),
    "class": (
        'dpjax check "{name}:Intervals(64)"',
        'dpjax check {name}:Learner --concepts "{name}:Intervals(64)"',
        'dpjax curve --import {name} --concepts "{name}:Intervals(64)" --learners "mine={name}:Learner" KLN '
        "--out results",
        "dpjax audit {name}:small",
    ),
    "mechanism": ("dpjax check {name}:target", "dpjax check {name}:law", "dpjax audit {name}:target"),
}


def run(command: NewCommand) -> Answer:
    """Writes NAME.py and test_NAME.py; the answer holds their paths and the next commands."""
    kind = checks.choice("kind", command.kind, _TEMPLATES)
    files = {command.out / f"{stem}.py": text for stem, text in texts(kind, command.name).items()}
    _check_name(command.name, command.out)
    for path in files:
        if path.exists():
            raise InputError("name", "a name that is free", f"{command.name}: {path} exists", "choose another name")
    try:
        command.out.mkdir(parents=True, exist_ok=True)
        for path, text in files.items():
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
    except OSError as error:
        message = f"{command.out}: {error.strerror}"
        raise InputError("out", "a folder that can be written to", message, "choose another folder") from error
    here = [] if command.out.resolve() == Path.cwd() else [f"cd {shlex.quote(str(command.out))}"]
    test = f'python -m pytest test_{command.name}.py    # pytest comes with "dpjax[test]"'
    steps = [*here, *(step.format(name=command.name) for step in _STEPS[kind]), test]

    def show() -> None:
        for line in (*(f"written: {path}" for path in files), "next:", *(f"  {step}" for step in steps)):
            console().print(line)

    return {"kind": kind, "name": command.name, "files": [str(path) for path in files], "next": steps}, show


def texts(kind: str, name: str) -> dict[str, str]:
    """The two files by their names without .py."""
    stem = _TEMPLATES[kind]
    folder = resources.files(_PACKAGE)
    files = {name: f"{stem}.py", f"test_{name}": f"test_{stem}.py"}
    return {
        module: (folder / file).read_text(encoding="utf-8").replace(f"{_PACKAGE}.{stem}", name)
        for module, file in files.items()
    }


def _check_name(name: str, out: Path) -> None:
    """Raises InputError for names that cannot be imported or would shadow another module."""
    if not name.isidentifier() or keyword.iskeyword(name) or not name.isascii():
        raise InputError("name", "a name that Python can import", repr(name), "use letters, digits and _")
    for module in (name, f"test_{name}"):
        if module in sys.stdlib_module_names or module in sys.builtin_module_names:
            raise InputError("name", "a name of your own", f"{module}, a module of Python", "choose another name")
        try:
            spec = importlib.util.find_spec(module)
        except ValueError:  # a module without a specification, such as __main__
            raise InputError("name", "a name of your own", module, "choose another name") from None
        if spec is not None and not _in(spec.origin, out):
            where = spec.origin or "installed"
            raise InputError("name", "a name that is free", f"{module}, a module of {where}", "choose another name")


def _in(origin: str | None, folder: Path) -> bool:
    return origin is not None and Path(origin).resolve().parent == folder.resolve()
