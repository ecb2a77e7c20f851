"""A name in a configuration or in a file runs only public classes and functions of the kind that it stands for."""

import ast
import collections
import importlib
import inspect
import json
import pkgutil
import random
import re
import sys
import types
from contextlib import contextmanager
from pathlib import Path

import jax
import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo

import dpjax
from dpjax.cli import study_of as flags
from dpjax.concepts import Multiclass, Points
from dpjax.concepts.domain import Domain
from dpjax.core.checks import InputError
from dpjax.experiments.config import names
from dpjax.experiments.config.builder import (
    ANY,
    CONCEPTS,
    DISTRIBUTIONS,
    LEARNERS,
    MATRICES,
    SANITIZERS,
    TASKS,
    Builder,
)
from dpjax.experiments.config.signatures import hints_of
from dpjax.experiments.config.to_spec import spec_of
from dpjax.experiments.study import toml
from dpjax.experiments.study.study import study_of
from dpjax.learners import KLN
from dpjax.tables import learned

_HARMFUL = re.compile(
    r"(os\.(system|exec|fork|posix_spawn|spawn|remove|rename|rmdir|mkdir|chmod|chown|truncate|link|"
    r"symlink|kill|putenv)|subprocess|shutil|socket|pty|webbrowser|ctypes|signal)\b"
)
_LISTENING: list[list[str]] = []


def _hear(event, arguments):
    if _LISTENING and (
        _HARMFUL.match(event) or (event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+"))
    ):
        _LISTENING[-1].append(f"{event} {arguments}")


sys.addaudithook(_hear)  # it cannot be removed; it does nothing outside of `harm`


@contextmanager
def harm():
    """What the interpreter is asked to do to files, processes and the network while the context is entered.

    JAX's compilation cache is written all the same.
    """
    _LISTENING.append(done := [])
    try:
        yield done
    finally:
        _LISTENING.pop()
        cache = jax.config.jax_compilation_cache_dir
        done[:] = [event for event in done if cache is None or cache not in event]


def modules():
    """All modules of dpjax by name, but those that run at import."""
    found = [one.name for one in pkgutil.walk_packages(dpjax.__path__, "dpjax.") if not one.name.endswith("__main__")]
    return {name: importlib.import_module(name) for name in found}


def hostile_names(count):
    """Names of what a stranger would like to have called, the same at each call."""
    chosen = [
        "dpjax.core.files:os.system",
        "dpjax.experiments.config.builder:imported",
        "dpjax.experiments.config.builder:importlib.import_module",
        "dpjax.core.files:replace_file",
        "dpjax.cli:main",
        "dpjax.cli.__main__:main",
        "dpjax.__main__:main",
        "os:system",
        "dpjax:importlib.import_module",
        "dpjax:sys",
        "dpjax.plots:save",
        "dpjax.learners:KLN.learn",
        "builtins:eval",
        "dpjax.learners:KLN.__init__",
        "dpjax.learners:KLN.plan.__globals__",
        "dpjax.concepts:Points.__class__",
        "KLN.learn",
        "KLN.plan.__globals__",
        "Points.domain",
        "Points.__reduce__",
        "planted:run",
        "dpjax.planted:run",
        "dpjax.core.types:dataclass",
        "dpjax.core.types:Enum",
        "dpjax.concepts.finite:np.load",
        "dpjax.learners:np.load",
        "dpjax.learners.base:inspect.os.system",
        "dpjax.learners.kln:jax.experimental",
        "numpy:load",
        "",
        ":",
        "dpjax:",
        "dpjax.:x",
        "dpjax..core:x",
        ".:x",
        "dpjax.learners:",
        "dpjax.learners:.",
        "dpjax.learners:KLN.",
        "\0:\0",
        "a:b:c",
        "dpjax.experiments.config.names:importlib.reload",
        "dpjax.mechanisms._inputs:jnp.save",
        "dpjax.testing:Written",
        "dpjax.audit:from_function",
        "dpjax.tables.learned:load",
        "dpjax.experiments.study.toml:load",
        "dpjax.concepts:path.",
    ]
    reached = []
    for name, module in modules().items():
        for key, value in vars(module).items():
            home = getattr(value, "__module__", None) or ""
            if isinstance(value, types.ModuleType):
                reached += [
                    f"{name}:{key}.{inner}" for inner, what in list(vars(value).items())[:200] if callable(what)
                ]
            elif callable(value) and not names.within(home, names.PACKAGES):
                reached.append(f"{name}:{key}")
    return chosen + random.Random(0).sample(sorted(set(reached) - set(chosen)), count - len(chosen))


KINDS = CONCEPTS, DISTRIBUTIONS, LEARNERS, MATRICES, SANITIZERS, TASKS, ANY
COMMAND = {"command": "touch planted", "path": "planted", "name_": "planted"}


def tables(name):
    """The forms in which a configuration or a file names an object and what it is called with."""
    return [
        name,
        f"{name}('touch planted')",
        f"Independent({name}('touch planted'))",
        {"use": name, "command": "touch planted"},
        {"use": name, "arguments": ["touch planted"]},
        {"use": name, "fields": COMMAND},
        {"name": name},
        {"enum": name, "member": "x"},
        {"use": "Independent", "learner": name},
        {"use": "Independent", "learner": {"use": name, **COMMAND}},
        {"use": "dpjax.learners:KLN", "fields": {"concepts": {"use": name, "fields": COMMAND}}},
        {"use": "BitReduction", "binary": name},
        {"use": "Multiclass.of", "matrix": name},
        f"Finite.of({name}(1))",
    ]


def study(concepts="Points(16)", learner="KLN", **task):
    """A study as tables, with a specification in a place."""
    task = {"concepts": concepts, **task} if concepts is not None else task
    return {"task": task, "learners": {"a": learner}, "sweep": {"k": [1], "epsilon": [1.0], "alpha": 0.2, "n": [10]}}


def refused(read):
    try:
        read()
    except InputError:
        return True
    return False


@pytest.fixture(scope="module")
def hostile():
    return hostile_names(500)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working directory, with modules that say that they were imported."""
    for name in ("planted", "os_", "pyarrow_", "sitecustomize_"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported')\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_no_hostile_name_runs_anything_in_any_place(hostile, folder):
    assert len(set(hostile)) == 500
    path, builder = list(sys.path), Builder(given={"concepts": Points(Domain(4)), "domain": Domain(4), "k": 1})
    accepted = []
    with harm() as done:
        for at, name in enumerate(hostile):
            for spec in tables(name):
                for kind in KINDS if at < 60 else (KINDS[at % len(KINDS)], ANY):
                    if not refused(lambda spec=spec, kind=kind: builder.build("place", spec, kind)):
                        accepted.append((name, spec))
    assert not done and {(name, str(spec)) for name, spec in accepted} <= {(name, name) for name in hostile}
    assert sys.path == path and not (folder / "planted").exists()


def test_no_study_with_a_hostile_name_is_built(hostile, folder):
    with harm() as done:
        for name in hostile[:4]:
            for spec in tables(name):
                tasks = {"concepts": None, "use": name, **COMMAND}
                for data in (
                    study(spec),
                    study(distribution=spec),
                    study(learner=spec),
                    study(**tasks),
                    study(learner={"by_k": {"1": spec}}),
                ):
                    assert refused(lambda data=data: study_of(data)), data
    assert not done and not (folder / "planted").exists()


def result_file(folder, data):
    (folder / "result.json").write_text(
        json.dumps({"config": data, "seed": 0, "versions": {}, "points": [], "n_star": []})
    )
    return folder / "result.json"


def study_file(folder, data):
    (folder / "store").mkdir(exist_ok=True)
    (folder / "store" / "study.json").write_text(json.dumps(data))
    return folder / "store"


def png_file(folder, data):
    about = PngInfo()
    about.add_text("Description", json.dumps({"config": data}))
    Image.new("L", (1, 1)).save(folder / "figure.png", pnginfo=about)
    return folder / "figure.png"


def svg_file(folder, data):
    text = json.dumps({"config": data}).replace("&", "&amp;").replace("<", "&lt;")
    dc = "http://purl.org/dc/elements/1.1/"
    (folder / "figure.svg").write_text(f'<svg><d:description xmlns:d="{dc}">{text}</d:description></svg>')
    return folder / "figure.svg"


def pdf_file(folder, data):
    text = json.dumps({"config": data}).replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
    (folder / "figure.pdf").write_text(
        f"%PDF-1.4\n1 0 obj\n<< /Keywords ({text}) >>\nendobj\ntrailer << /Info 1 0 R >>"
    )
    return folder / "figure.pdf"


def toml_file(folder, data):
    def written(value):
        if isinstance(value, dict):
            return "{" + ", ".join(f"{json.dumps(key)} = {written(one)}" for key, one in value.items()) + "}"
        return "[" + ", ".join(map(written, value)) + "]" if isinstance(value, list) else json.dumps(value)

    (folder / "study.toml").write_text("".join(f"{key} = {written(value)}\n" for key, value in data.items()))
    return folder / "study.toml"


@pytest.mark.parametrize("write", [result_file, study_file, png_file, svg_file, pdf_file, toml_file])
def test_no_file_with_a_hostile_name_runs_anything(write, hostile, folder):
    assert study_of(flags.read(write(folder, study()))).curves  # the file of an honest study is read
    for at, name in enumerate(hostile):
        forms = tables(name.replace("\0", "\\"))
        file = write(folder, study(forms[at % len(forms)]))
        with harm() as done:
            assert refused(lambda file=file: study_of(flags.read(file))), name
        assert not done
    assert not (folder / "planted").exists()


def test_no_learned_hypothesis_and_no_point_with_a_hostile_name_runs_anything(hostile, folder):
    numbers = {"k": 1, "n": 10, "epsilon": 1.0, "delta": 0.0, "alpha": 0.1, "beta": 0.1, "purpose": "curve"}
    content = {"kind": learned.KIND, "names": ["a"], "positive": None, "placing": {}}
    learner = spec_of(KLN(Points(Domain(4))), "learner")
    with harm() as done:
        for at, name in enumerate(hostile):
            spec = tables(name)[at % len(tables(name))]
            point = {"task": study(spec)["task"], "learner": "KLN", **numbers}
            assert refused(lambda point=point: toml.setting_of(point)), name
            for model in ({"learner": spec, "hypothesis": []}, {"learner": learner, "hypothesis": spec}):
                assert refused(lambda model=model: learned.Learned.of(content | model)), name
    assert not done and not (folder / "planted").exists()


def test_an_imported_module_lends_only_what_it_defines(folder):
    (folder / "mine.py").write_text(
        "import os, subprocess\nfrom os import system\nfrom pathlib import Path\nfrom functools import partial\n"
        "from dpjax import KLN\nfrom dpjax.core.files import replace_file\nrun = partial(system)\n_hidden = KLN\n"
        "class Mine(KLN):\n    popen = subprocess.Popen\n"
        "    @classmethod\n    def of(cls, domain=None) -> 'Mine': ...\n"
        "def made(concepts) -> KLN:\n    return KLN(concepts)\n"
        "def silent(command='x'):\n    system('touch planted')\n"
        "def path(command='x') -> Path:\n    system('touch planted')\n"
        "def nothing(command='x') -> None:\n    system('touch planted')\n"
        "class Tool:\n    def __call__(self, command='x'):\n        system('touch planted')\n"
        "tool = Tool()\n"
    )
    builder = Builder(("mine",), {"concepts": Points(Domain(4))})
    try:
        assert builder.build("learner", "mine:made", LEARNERS) == KLN(Points(Domain(4)))
        assert builder.build("learner", "mine:KLN", LEARNERS) == KLN(Points(Domain(4)))
        assert type(builder.build("learner", "mine:Mine", LEARNERS)).__name__ == "Mine"
        for inner in (
            "os.system",
            "system",
            "subprocess.Popen",
            "Path",
            "partial",
            "run",
            "_hidden",
            "os",
            "replace_file",
            "Mine.popen",
            "Mine.learn",
            "silent",
            "path",
            "made.__globals__",
            "Mine.of.__func__",
        ):
            for kind in (LEARNERS, ANY):
                for spec in ({"use": f"mine:{inner}", "command": "touch planted"}, f"mine:{inner}('touch planted')"):
                    with pytest.raises(InputError):
                        builder.build("learner", spec, kind)
        bits = Builder(("mine",), {"concepts": Multiclass.of([[0, 1], [2, 3]])})
        assert bits.build("learner", {"use": "BitReduction", "binary": {"name": "mine:made"}}, LEARNERS).binary
        for inner in ("silent", "path", "tool", "nothing"):
            for binary in (f"mine:{inner}", {"name": f"mine:{inner}"}, {"use": f"mine:{inner}"}):
                for spec in (
                    {"use": "BitReduction", "binary": binary},
                    {"use": "BitReduction", "fields": {"concepts": [], "binary": binary}},
                ):
                    with pytest.raises(InputError):
                        bits.build("learner", spec, LEARNERS)
            if inner != "path":  # a value, as that of a user's own parameter; nothing of dpjax calls it
                with pytest.raises(InputError):
                    builder.build("value", {"name": f"mine:{inner}"}, ANY)
        with pytest.raises(InputError, match=r"annotate what it returns, def silent\("):
            builder.build("learner", "mine:silent", LEARNERS)
    finally:
        sys.modules.pop("mine", None)
        sys.path.remove(str(folder))
    assert not (folder / "planted").exists()


def test_dpjax_modules_are_read_without_the_working_directory(folder):
    path = list(sys.path)
    assert isinstance(Builder().find("relation", "dpjax.core.types:Neighboring"), type)
    assert sys.path == path


def reachable():
    """Every class and function of dpjax that a name may denote, by its name."""
    found = {}
    for name, module in modules().items():
        for key, value in vars(module).items():
            home = getattr(value, "__module__", None) or ""
            if names.public_module(name) is None or key.startswith("_") or not names.within(home, names.PACKAGES):
                continue
            found[f"{home}:{key}"] = value
            for step in vars(value) if isinstance(value, type) else ():
                if not step.startswith("_") and isinstance(
                    inspect.getattr_static(value, step), staticmethod | classmethod
                ):
                    found[f"{home}:{key}.{step}"] = getattr(value, step)
    return {name: value for name, value in found.items() if callable(value) and ANY.made_by(value)}


def test_nothing_that_a_name_may_denote_takes_a_path_or_a_module_or_code():
    found = reachable()
    assert len(found) > 200 and "dpjax.learners.kln:KLN" in found
    wrong = [
        (name, parameter, hint)
        for name, value in found.items()
        for parameter, hint in hints_of(value).items()
        if re.search(r"\bPath\b|PathLike|ModuleType|CodeType|IOBase|\bIO\b", str(hint))
        or (parameter in ("path", "file", "folder", "module", "command") and hint is str)
    ]
    assert not wrong


def test_packages_that_names_reach_neither_open_files_nor_start_processes():
    """Their sources use no module by which they could: what is called with a stranger's arguments computes."""
    used = collections.defaultdict(set)
    for name, module in modules().items():
        if names.public_module(name) is None or name == "dpjax":
            continue
        for node in ast.walk(ast.parse(Path(module.__file__).read_text())):
            if isinstance(node, ast.Import):
                used[name] |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                used[name].add((node.module or "dpjax").split(".")[0])
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                used[name].add(node.func.id)
            elif isinstance(node, ast.Attribute):
                used[name].add(node.attr)
    harmful = {
        "os",
        "subprocess",
        "shutil",
        "socket",
        "importlib",
        "pickle",
        "ctypes",
        "pathlib",
        "tempfile",
        "runpy",
        "open",
        "eval",
        "exec",
        "compile",
        "__import__",
        "breakpoint",
        "input",
        "save",
        "savez",
        "tofile",
        "savetxt",
        "write_text",
        "write_bytes",
        "load",
        "loadtxt",
        "read_text",
        "genfromtxt",
        "fromfile",
        "import_module",
        "urllib",
        "http",
        "multiprocessing",
        "signal",
    }
    assert {name: sorted(found & harmful) for name, found in used.items() if found & harmful} == {}
