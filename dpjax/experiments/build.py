"""Builds objects from their configuration: a name, public in dpjax or ``module:object``, and arguments.

concepts = {use = "Points", domain = "2**32"}     or     concepts = "Points(2**32)"

A parameter annotated as a function or a class takes the name of one: binary = "KLN", binary = "module:function".
"""

import ast
import importlib
import inspect
import re
import sys
import traceback
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Any

from dpjax.concepts.domain import Domain
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.experiments.matrices import is_matrix_file, read_class, read_matrix
from dpjax.experiments.numbers import arithmetic, whole_number
from dpjax.experiments.packed import unpacked
from dpjax.experiments.signatures import hints_of, is_callable, kinds_of, makers_of, words_of


@dataclass(frozen=True)
class Kind:
    """What a name without a module prefix may stand for.

    rooms: modules with public names. members: those of the objects that the name makes; () for anything. read: what
    makes one of a file of labels, where the path of such a file may stand in place of a name.
    """

    rooms: tuple[str, ...]
    members: tuple[str, ...] = ()
    read: Callable[[Path], Any] | None = None

    def made_by(self, found: Any) -> bool:
        """Whether ``found`` makes one: a class with these members, or a function annotated to return one."""
        if not isinstance(found, type):
            made = getattr(found, "__annotations__", {}).get("return")
            return not self.members or (isinstance(made, type) and self.made_by(made))
        abstract = getattr(found, "_is_protocol", False) or inspect.isabstract(found)
        return not abstract and all(hasattr(found, member) for member in self.members)


CONCEPTS = Kind(("dpjax.concepts", "dpjax.concepts.tree.generators"), ("predict", "error"), read_class)
DISTRIBUTIONS = Kind(("dpjax.concepts.distributions", "dpjax.concepts"), ("draw", "total"))
LEARNERS = Kind(("dpjax.learners", "dpjax.baselines", "dpjax.attacks"), ("learn", "plan"))
TASKS = Kind(("dpjax.experiments.hard",), ("draw", "draw_targets"))
SANITIZERS = Kind(("dpjax.sanitizers",), ("plan",))
LISTS = Kind(("dpjax.lists",), ("names", "plan"))
REPRESENTATIONS = Kind(("dpjax.learners.representations",), ("draw", "errors", "member"))
CODES = Kind(("dpjax.attacks.codes",), ("generate", "trace"))
MATRICES = Kind(("dpjax.dimensions.families",), read=read_matrix)
_NOUNS = CONCEPTS, DISTRIBUTIONS, LEARNERS, TASKS, SANITIZERS, LISTS, REPRESENTATIONS
ANY = Kind(tuple(room for kind in _NOUNS for room in kind.rooms))
_OF_PARAMETER = {"matrix": MATRICES}
"""What names stand for in the arguments of parameters of these names; in those of others, for `ANY`."""


class NotImportedError(InputError):
    """Code of a module that no --import names. modules: all such modules of a configuration."""

    modules: tuple[str, ...] = ()


class PersonsFault(InputError):
    """An error inside user code: ``trace`` is the traceback from the first frame of that code."""

    def __init__(self, name: str, error: BaseException):
        self.trace = own_frames(error)
        given = f"{type(error).__name__}: {error}"
        super().__init__(name, "code that runs", given, "correct it; its traceback is above")

    def __reduce__(self) -> Any:
        return InputError, (str(self),), vars(self)  # pickled without the error, which may not be picklable


def own_frames(error: BaseException) -> str:
    """The traceback without the frames of dpjax and of Python's import system."""
    package = str(Path(__file__).parents[1])
    frames = [
        frame for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith((package, "<frozen importlib"))
    ]  # fmt: skip
    lines = traceback.format_list(frames) + traceback.format_exception_only(error)
    return "Traceback (most recent call last, code from outside only):\n" + "".join(lines)


@dataclass(frozen=True)
class Builder:
    """Builds objects.

    Args:
      imports: user modules that may be used, as named by ``--import``. No other module is imported.
      given: values for parameters of these names that have no default and are not in the configuration, such as
        ``concepts``; positional arguments skip them.
      instead: the same for parameters with a default, which it replaces; positional arguments do not skip these.
    """

    imports: tuple[str, ...] = ()
    given: Mapping[str, Any] = field(default_factory=dict)
    instead: Mapping[str, Any] = field(default_factory=dict)

    def knowing(self, **given: Any) -> "Builder":
        """A copy with further values for parameters."""
        return replace(self, given={**self.given, **given})

    def free(self, found: Any) -> list[str]:
        """The parameters of a class or function that positional arguments fill, in order."""
        own = inspect.signature(found).parameters.items()
        return [key for key, one in own if one.kind in _NAMED and not (key in self.given and one.default is one.empty)]

    def build(self, name: str, spec: Any, kind: Kind = ANY) -> Any:
        """An object from "Name", "Name(arguments)", or a table with ``use`` and arguments; other values as is.

        A class and a matrix may be given by the path of a file of labels.
        name: used in error messages. kind: what unprefixed names stand for. Raises InputError for unknown names and
        arguments, `PersonsFault` for an error in user code.
        """
        if isinstance(spec, str):
            if kind.read is not None and is_matrix_file(spec):
                return kind.read(Path(spec))
            spec = call(name, spec)
        if not isinstance(spec, Mapping):
            return spec
        if "fields" in spec:
            return self._literal(name, spec)
        if "array" in spec or "bytes" in spec:
            return unpacked(spec)
        if "name" in spec:
            return self.find(name, str(spec["name"]), kind)
        if "use" not in spec:
            raise InputError(name, "a table with use = NAME", f"keys {', '.join(map(str, spec)) or 'none'}", "add use")
        arguments = {key: value for key, value in spec.items() if key not in ("use", "arguments")}
        return self._make(name, self.find(name, str(spec["use"]), kind), spec, arguments)

    def make(self, name: str, path: str, found: Any, values: Mapping[str, Any]) -> Any:
        """An object of a class or function, written ``path`` in messages, from some values and those that are given."""
        return self._make(name, found, {"use": path}, dict(values))

    def find(self, name: str, path: str, kind: Kind = ANY) -> Any:
        """The object named by "Name" or "module:object"."""
        module, colon, inner = path.partition(":")
        if not colon:
            return _public(name, path, kind)
        return _attribute(name, self._module(name, module), inner, path)

    def _module(self, name: str, module: str) -> Any:
        if module not in self.imports and f"{module}.py" in self.imports:
            raise InputError("import", f"the module's name, {module}", f"{module}.py", "leave out .py")
        if module not in self.imports and module.split(".")[0] != "dpjax":
            if module == "__main__":
                advice = "move it into a module and measure again; where it is defined, give imports=['__main__']"
                raise InputError(name, "code in a module", "code of a notebook or a shell", advice)
            raise NotImportedError(
                name, "a module named by --import", repr(module),
                f"add --import {module}, with its folder on PYTHONPATH if it is not this one (in Python: "
                f"imports=[{module!r}]): a configuration alone runs no code",
            )  # fmt: skip
        return imported(module)

    def _make(self, name: str, found: Any, spec: Mapping[str, Any], named: dict) -> Any:
        path, positional = str(spec["use"]), list(spec.get("arguments", ()))
        if not callable(found):
            if positional or named:
                raise InputError(name, "no arguments for an object", repr(path), "leave them out")
            return found
        outside = not getattr(found, "__module__", "dpjax").startswith("dpjax")
        try:
            signature, hints = inspect.signature(found), hints_of(found)
        except (ValueError, TypeError):
            kinds = "a class or function with a signature"
            raise InputError(name, kinds, repr(path), "wrap it in a function") from None
        open_ = self.free(found)
        every = [key for key, one in signature.parameters.items() if one.kind in _NAMED]
        if len(open_) < len(positional) <= len(every):  # what is known is given all the same
            open_ = every
        if len(positional) > len(open_):
            raise InputError(name, words_of(path, signature), f"{len(positional)} arguments", "give fewer")
        named = {**dict(zip(open_, positional, strict=False)), **named}
        anything = any(one.kind is one.VAR_KEYWORD for one in signature.parameters.values())
        for key in named:
            if key not in signature.parameters and not anything:
                checks.choice(f"{name}.{key}", key, [*signature.parameters])
        values = {
            key: self._value(f"{name}.{key}", value, hints.get(key), _OF_PARAMETER.get(key, ANY))
            for key, value in named.items()
        }
        for key, one in signature.parameters.items():
            known = self.given if one.default is one.empty else self.instead
            if key in known:
                values.setdefault(key, known[key])
        required = [key for key, one in signature.parameters.items() if one.default is one.empty and one.kind in _NAMED]
        if missing := [key for key in required if key not in values]:
            if makers := makers_of(path, found):
                raise InputError(name, "the function that makes one", path, f"write {' or '.join(makers)}")
            raise InputError(name, words_of(path, signature), f"no {', '.join(missing)}", f"write {path}(...)")
        try:
            return found(**values)
        except InputError:
            raise
        except Exception as error:
            if outside:
                raise PersonsFault(name, error) from error
            raise InputError(
                name, words_of(path, signature), f"{type(error).__name__}: {error}", "correct the arguments"
            ) from error

    def _literal(self, name: str, value: Any) -> Any:
        """What `spec.spec_of` wrote, to the letter: no text is read as a name, no number as another kind."""
        if isinstance(value, list):
            return tuple(self._literal(f"{name}[{i}]", one) for i, one in enumerate(value))
        if not isinstance(value, Mapping):
            return value
        if "fields" in value:
            found, own = self.find(name, str(value["use"])), dict(value["fields"])
            made = {key: self._literal(f"{name}.{key}", one) for key, one in own.items()}
            try:
                return found(**made)
            except TypeError as error:
                given, advice = f"{type(error).__name__}: {error}", "use the version of it that wrote the result"
                raise InputError(name, f"{value['use']} with {', '.join(own)}", given, advice) from error
        if "enum" in value:
            return self.find(name, str(value["enum"]))[value["member"]]
        if "set" in value:
            return frozenset(self._literal(name, one) for one in value["set"])
        if "float" in value:
            return float(value["float"])
        return self.build(name, value)

    def _value(self, name: str, value: Any, hint: Any, kind: Kind = ANY) -> Any:
        """A configuration value converted to the type of its parameter. kind: what names stand for."""
        if isinstance(value, Mapping) and _TABLES & value.keys():
            return self.build(name, value, kind)
        kinds = kinds_of(hint)
        if Domain in kinds and not isinstance(value, Domain):
            return Domain(checks.integer(name, whole(name, value), 1, 2**64))
        for own in kinds:
            if isinstance(own, type) and issubclass(own, Enum):
                known = {member.value: member for member in own} | {member.name: member for member in own}
                return value if isinstance(value, own) else known[checks.choice(name, value, map(str, known))]
        if int in kinds and isinstance(value, str | float) and not (isinstance(value, float) and float in kinds):
            return whole(name, value)
        if str in kinds and isinstance(value, str):
            return value
        if isinstance(value, str) and "(" not in value and any(map(is_callable, kinds)):
            return self.find(name, value.strip(), kind)
        if isinstance(value, str):
            if kind.read is not None and is_matrix_file(value):
                return kind.read(Path(value))
            noun = value.partition("(")[0].partition(".")[0] in public_names()
            return self.build(name, value) if noun or ":" in value or "(" in value else value
        if isinstance(value, list | tuple):
            return tuple(self._value(f"{name}[{i}]", one, None) for i, one in enumerate(value))
        return value


_TABLES = {"use", "fields", "array", "bytes", "name"}
_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def import_from_here() -> None:
    """Puts the working directory on the path of imports, where a console script does not have it."""
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)


def imported(module: str) -> Any:
    """A user module, imported with the working directory on the path. `PersonsFault` for an error in its code."""
    import_from_here()
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and (module == error.name or module.startswith(f"{error.name}.")):
            advice = "run in the folder that holds it, or put that folder on PYTHONPATH"
            raise InputError("import", "a module that can be found", repr(module), advice) from None
        raise PersonsFault(f"module {module}", error) from error
    except Exception as error:
        raise PersonsFault(f"module {module}", error) from error


def call(name: str, text: str) -> dict[str, Any]:
    """{"use": ..., "arguments": [...], ...} from "Name(1, key=2)" or "module:Name(...)"; no code is run.

    Arguments may be names and calls of the same kinds.
    """
    head, parenthesis, rest = text.strip().partition("(")
    if not parenthesis:
        return {"use": head}
    try:
        node = ast.parse(f"_({_IN_MODULE.sub(_as_attribute, rest)}", mode="eval").body
    except SyntaxError as error:
        raise InputError(
            name,
            "Name(arguments)",
            repr(text),
            f"correct the brackets, or write words with other signs in quotes ({error.msg})",
        ) from None
    if not isinstance(node, ast.Call) or any(keyword.arg is None for keyword in node.keywords):
        raise InputError(name, "Name(arguments)", repr(text), "write one call")
    return {
        "use": head.strip(), "arguments": [_written(name, one, text) for one in node.args],
        **{str(keyword.arg): _written(name, keyword.value, text) for keyword in node.keywords},
    }  # fmt: skip


def _written(name: str, node: ast.expr, text: str) -> Any:
    """An argument as data: a number, a string, a name, a list, or a call."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.List | ast.Tuple):
        return [_written(name, one, text) for one in node.elts]
    if isinstance(node, ast.Name | ast.Attribute):
        return _unparsed(node)
    if isinstance(node, ast.Call):
        inner = {"use": _unparsed(node.func), "arguments": [_written(name, one, text) for one in node.args]}
        return inner | {str(one.arg): _written(name, one.value, text) for one in node.keywords}
    if isinstance(node, ast.BinOp | ast.UnaryOp):
        return arithmetic(name, ast.unparse(node))
    raise InputError(name, "numbers, names, lists and calls", _unparsed(node), "write the value itself")


_COLON = ".\u02d0."  # stands for the colon of module:name, which Python's grammar does not have: a letter like a colon
_IN_MODULE = re.compile(r"""("[^"]*"|'[^']*')|(?<=\w):(?=[^\W\d])""")


def _as_attribute(found: re.Match) -> str:
    """A quoted text as it is, a colon between names as an attribute."""
    return found[1] or _COLON


def _unparsed(node: ast.expr) -> str:
    return ast.unparse(node).replace(_COLON, ":")


def whole(name: str, value: Any) -> Any:
    """A whole number from a number or an expression such as 2**32; InputError with this name."""
    try:
        return whole_number(value)
    except ValueError as error:
        raise InputError(name, "a whole number such as 4294967296 or 2**32", repr(value), "correct it") from error


def parameters(found: Any) -> dict[str, Any]:
    """The parameters of a class or function by name, with their annotations."""
    hints = hints_of(found)
    return {name: hints.get(name) for name in inspect.signature(found).parameters}


def kind_of(hint: Any) -> Kind | None:
    """The kind whose public names stand for objects of an annotated type, that of the type's package; None if none."""
    package = getattr(hint, "__module__", "").rpartition(".")[0]
    return next((kind for kind in _NOUNS if package in kind.rooms), None)


def concepts_of(learner: Any) -> str | None:
    """The name of the concept class in a learner's annotation, if it names exactly one."""
    kind = parameters(learner).get("concepts")
    return kind.__name__ if public_names(CONCEPTS).get(getattr(kind, "__name__", "")) is kind is not None else None


def public_names(kind: Kind = ANY) -> dict[str, Any]:
    """All names that a configuration may use for this without a module prefix."""
    found: dict[str, Any] = {}
    for room in kind.rooms:
        for key, value in vars(importlib.import_module(room)).items():
            own = getattr(value, "__module__", "").startswith(room)
            if not key.startswith("_") and callable(value) and own and kind.made_by(value):
                found.setdefault(key, value)
    return found


def _public(name: str, path: str, kind: Kind) -> Any:
    names = public_names(kind)
    if path.partition(".")[0] not in names:
        try:
            checks.choice(name, path, names)
        except InputError as error:
            elsewhere = f"{error.advice} (elsewhere: module:{path})"
            raise InputError(name, error.expected, error.given, elsewhere) from None
    return _attribute(name, types.SimpleNamespace(**names), path, path)


def _attribute(name: str, of: Any, path: str, whole_path: str) -> Any:
    for part in path.split("."):
        if part.startswith("_") or not hasattr(of, part):
            known: Iterable[str] = [key for key in vars(of) if not key.startswith("_")]
            near = f"one of {', '.join(sorted(known)[:40])}"
            raise InputError(name, near, repr(whole_path), "check the name")
        of = getattr(of, part)
    return of
