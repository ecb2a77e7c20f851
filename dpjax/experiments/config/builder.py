"""Builds objects from their configuration: a name, public in dpjax or ``module:object``, and arguments.

concepts = {use = "Points", domain = "2**32"}     or     concepts = "Points(2**32)"

A parameter annotated as a function or a class takes the name of one: binary = "KLN", binary = "module:function".
"""

import importlib
import inspect
import pkgutil
import sys
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, get_args

from dpjax.concepts.base import ConceptClass
from dpjax.concepts.domain import MOST_BITS, Domain
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.user_code import UserCodeError, calling
from dpjax.experiments.config.calls import call
from dpjax.experiments.config.matrix_file import is_matrix_file, read_class, read_matrix
from dpjax.experiments.config.names import PACKAGES, denoted, is_value, public_module, values_of
from dpjax.experiments.config.numbers import whole_number
from dpjax.experiments.config.packed import unpacked
from dpjax.experiments.config.signatures import NAMED, hints_of, is_callable, kinds_of, makers_of, required, words_of


@dataclass(frozen=True)
class Kind:
    """What a name without a module prefix may stand for.

    rooms: modules with public names. noun: for messages. home: "module:Name" of the base class, imported when needed;
    empty for any value, see `names.is_value`, and all other kinds. read: makes one of a file of labels, if one may.
    """

    rooms: tuple[str, ...]
    noun: str
    home: str = ""
    read: Callable[[Path], Any] | None = None

    def made_by(self, found: Any) -> bool:
        """Whether a call of ``found`` makes one: a class of this kind, or a function annotated to return one."""
        return not (isinstance(found, type) and inspect.isabstract(found)) and any(map(self.has, values_of(found)))

    def has(self, thing: Any) -> bool:
        """Whether a class, or an object, is of this kind."""
        if self.home:
            return issubclass(thing if isinstance(thing, type) else type(thing), pkgutil.resolve_name(self.home))
        return is_value(thing) or any(kind.has(thing) for kind in _NOUNS)


_C, _TASKS = "dpjax.concepts", ("dpjax.experiments.sweep.hard_tasks", "dpjax.experiments.sweep.hard_polygons")
_L, _R = "dpjax.learners", "dpjax.learners.representations"
CONCEPTS = Kind((_C, f"{_C}.tree.generators"), "a concept class", f"{_C}.base:ConceptClass", read_class)
DISTRIBUTIONS = Kind((f"{_C}.distributions", _C), "a distribution", f"{_C}.example_distribution:ExampleDistribution")
LEARNERS = Kind((_L, "dpjax.baselines", "dpjax.attacks"), "a Learner", f"{_L}.base:Learner")
TASKS = Kind(_TASKS, "a Task", "dpjax.experiments.sweep.task:Task")
SANITIZERS = Kind(("dpjax.sanitizers",), "a sanitizer", "dpjax.sanitizers.base:Sanitizer")
LISTS = Kind(("dpjax.lists",), "a list learner", "dpjax.lists.base:Lists")
REPRESENTATIONS = Kind((_R,), "a representation", f"{_R}.base:Representation")
CODES = Kind(("dpjax.attacks.codes",), "a fingerprinting code", "dpjax.attacks.codes.base:Code")
MATRICES = Kind(("dpjax.dimensions.families",), "a matrix", read=read_matrix)
_NOUNS = CONCEPTS, DISTRIBUTIONS, LEARNERS, TASKS, SANITIZERS, LISTS, REPRESENTATIONS, CODES
ANY = Kind(tuple(room for kind in _NOUNS[:-1] for room in kind.rooms), "a dataclass or an array")
_OF_PARAMETER = {"matrix": MATRICES}
"""What names stand for in the arguments of parameters of these names; in those of others, for `ANY`."""


class NotImportedError(InputError):
    """Code of a module that no --import names. modules: all such modules of a configuration."""


@dataclass(frozen=True)
class Builder:
    """Builds objects.

    Args:
      imports: user modules that may be used, as named by ``--import``. No other module is imported; see `names`.
      given: values for parameters of these names that have no default and are not in the configuration, such as
        ``concepts``; positional arguments skip them.
      instead: the same for parameters with a default, which it replaces; positional arguments do not skip these.
      trusted: whether a person wrote every text for this call, so that functions without annotations may be called.
    """

    imports: tuple[str, ...] = ()
    given: Mapping[str, Any] = field(default_factory=dict)
    instead: Mapping[str, Any] = field(default_factory=dict)
    trusted: bool = False

    def knowing(self, **given: Any) -> "Builder":
        """A copy with further values for parameters."""
        return replace(self, given={**self.given, **given})

    def of_class(self, concepts: ConceptClass) -> "Builder":
        """A copy that knows a class, its domain, and the domain's parameters. InputError for what is no class."""
        checks.instance("concepts", concepts, ConceptClass, 'write concepts = "Thresholds(2**32)", for example')
        return self.knowing(concepts=concepts, domain=concepts.domain, **concepts.domain.parameters)

    def free(self, found: Any) -> list[str]:
        """The parameters of a class or function that positional arguments fill, in order."""
        entries = inspect.signature(found).parameters.items()
        return [
            key
            for key, parameter in entries
            if parameter.kind in NAMED and not (key in self.given and parameter.default is parameter.empty)
        ]

    def build(self, name: str, spec: Any, kind: Kind = ANY) -> Any:
        """An object from "Name", "Name(arguments)", or a table with ``use`` and arguments; other values as is.

        A class and a matrix may be given by the path of a file of labels.
        name: used in error messages. kind: what unprefixed names stand for. Raises InputError for unknown names and
        arguments, `UserCodeError` for an error in user code.
        """
        if isinstance(spec, str):
            if kind.read is not None and is_matrix_file(spec):
                return kind.read(Path(spec))
            spec = call(name, spec)
        if not isinstance(spec, Mapping):
            return spec
        if "fields" in spec:
            return self._literal(name, spec, kind)
        if "array" in spec or "bytes" in spec:
            return unpacked(spec)
        if "name" in spec:
            return self.function(name, str(spec["name"]), kind)
        if "use" not in spec:
            raise InputError(name, "a table with use = NAME", f"keys {', '.join(map(str, spec)) or 'none'}", "add use")
        arguments = {key: value for key, value in spec.items() if key not in ("use", "arguments")}
        return self._make(name, self.find(name, str(spec["use"]), kind), spec, arguments, kind)

    def make(self, name: str, path: str, found: Any, values: Mapping[str, Any]) -> Any:
        """An object of a class or function, written ``path`` in messages, from some values and those that are given."""
        return self._make(name, found, {"use": path}, dict(values), ANY)

    def find(self, name: str, path: str, kind: Kind = ANY) -> Any:
        """The object named by "Name" or "module:object", of those that `names.denoted` allows; it is not called."""
        module, colon, inner = path.partition(":")
        packages = (*PACKAGES, *self.imports, *(["dpjax"] * self.trusted))
        if not colon:
            return denoted(name, _public(name, path, kind), path, path, packages)
        return denoted(name, self._module(name, module), inner, path, packages)

    def function(self, name: str, path: str, kind: Kind = ANY) -> Any:
        """A class or function that dpjax will call, named by ``path``: see `names`.

        kind: of what it returns; for `ANY` a function of the user's that is annotated to return something.
        """
        _refuse_parts(name, path, kind)
        factory = self.find(name, path, kind)
        outside = not getattr(factory, "__module__", "dpjax").startswith("dpjax.")
        returned = [made for made in values_of(factory) if made is not type(None)]
        if not (kind.made_by(factory) or (kind is ANY and outside and returned)):
            raise _unfit(name, path, factory, kind)
        return factory

    def _module(self, name: str, module: str) -> Any:
        if module in self.imports:
            return imported(module)
        if f"{module}.py" in self.imports:
            raise InputError("import", f"the module's name, {module}", f"{module}.py", "leave out .py")
        if module.split(".")[0] == "dpjax":
            if (public := public_module(module)) is None:
                kinds = f"a module in {', '.join(PACKAGES)}"
                raise InputError(name, kinds, repr(module), "a configuration names the objects of these only")
            return public
        if not all(part.isidentifier() for part in module.split(".")):
            raise InputError(name, "Name or module:object", repr(module), "check the name")
        if module == "__main__":
            advice = "move it into a module and measure again; where it is defined, give imports=['__main__']"
            raise InputError(name, "code in a module", "code of a notebook or a shell", advice)
        advice = (
            f"add --import {module}, with its folder on PYTHONPATH if it is not this one (in Python: "
            f"imports=[{module!r}]): a configuration alone runs no code"
        )
        raise NotImportedError(name, "a module named by --import", repr(module), advice)

    def _make(self, name: str, found: Any, spec: Mapping[str, Any], named: dict, kind: Kind) -> Any:
        path, positional = str(spec["use"]), list(spec.get("arguments", ()))
        if not callable(found):
            if positional or named:
                raise InputError(name, "no arguments for an object", repr(path), "leave them out")
            return found
        if not (kind.made_by(found) or self.trusted):
            if not positional and not named and kind.home and kind.has(found) and not isinstance(found, type):
                return found
            raise _unfit(name, path, found, kind)
        outside = not getattr(found, "__module__", "dpjax").startswith("dpjax")
        try:
            signature, hints = inspect.signature(found), hints_of(found)
        except (ValueError, TypeError):
            kinds = "a class or function with a signature"
            raise InputError(name, kinds, repr(path), "wrap it in a function") from None
        open_ = self.free(found)
        every = [key for key, parameter in signature.parameters.items() if parameter.kind in NAMED]
        if len(open_) < len(positional) <= len(every):  # what is known is given all the same
            open_ = every
        if len(positional) > len(open_):
            raise InputError(name, words_of(path, signature), f"{len(positional)} arguments", "give fewer")
        named = {**dict(zip(open_, positional, strict=False)), **named}
        anything = any(parameter.kind is parameter.VAR_KEYWORD for parameter in signature.parameters.values())
        for key in named:
            if key not in signature.parameters and not anything:
                checks.choice(f"{name}.{key}", key, [*signature.parameters])
        values = {
            key: self._value(f"{name}.{key}", value, hints.get(key), _OF_PARAMETER.get(key, ANY))
            for key, value in named.items()
        }
        for key, parameter in signature.parameters.items():
            known = self.given if parameter.default is parameter.empty else self.instead
            if key in known:
                values.setdefault(key, known[key])
        if missing := [key for key in required(found) if key not in values]:
            if makers := makers_of(path, found):
                raise InputError(name, "the function that makes one", path, f"write {' or '.join(makers)}")
            raise InputError(name, words_of(path, signature), f"no {', '.join(missing)}", f"write {path}(...)")
        with calling(name, "" if outside else words_of(path, signature), "correct the arguments"):
            return found(**values)

    def _literal(self, name: str, value: Any, kind: Kind = ANY) -> Any:
        """What `to_spec.spec_of` wrote, to the letter: no text is read as a name, no number as another kind."""
        if isinstance(value, list):
            return tuple(self._literal(f"{name}[{i}]", part) for i, part in enumerate(value))
        if not isinstance(value, Mapping):
            return value
        if "fields" in value:
            cls, parts = self.find(name, str(value["use"])), dict(value["fields"])
            if not (isinstance(cls, type) and is_value(cls) and kind.made_by(cls)):
                raise _unfit(name, str(value["use"]), cls, kind)
            hints = hints_of(cls)
            made = {
                key: self._literal(f"{name}.{key}", part, _returned(hints.get(key), ANY)) for key, part in parts.items()
            }
            expected = f"{value['use']} with {', '.join(parts)}"
            with calling(name, expected, "use the version of it that wrote the result"):
                return cls(**made)
        if "enum" in value:
            members = self.find(name, str(value["enum"]))
            if not (isinstance(members, type) and issubclass(members, Enum)):
                raise InputError(name, "an Enum", repr(value["enum"]), "check the name")
            return members[checks.choice(f"{name}.member", value["member"], members.__members__)]
        if "set" in value:
            return frozenset(self._literal(name, part) for part in value["set"])
        if "float" in value:
            return float(value["float"])
        return self.build(name, value, kind)

    def _value(self, name: str, value: Any, hint: Any, kind: Kind = ANY) -> Any:
        """A configuration value converted to the type of its parameter. kind: what names stand for."""
        if isinstance(value, Mapping) and _TABLES & value.keys():
            return self.build(name, value, _returned(hint, kind) if "name" in value else kind)
        kinds = kinds_of(hint)
        if Domain in kinds and not isinstance(value, Domain):
            return Domain(checks.integer(name, whole(name, value), 1, 2**MOST_BITS))
        for cls in kinds:
            if isinstance(cls, type) and issubclass(cls, Enum):
                known = {member.value: member for member in cls} | {member.name: member for member in cls}
                return value if isinstance(value, cls) else known[checks.choice(name, value, map(str, known))]
        if int in kinds and isinstance(value, str | float) and not (isinstance(value, float) and float in kinds):
            return whole(name, value)
        if str in kinds and isinstance(value, str):
            return value
        if isinstance(value, str) and "(" not in value and any(map(is_callable, kinds)):
            return self.function(name, value.strip(), _returned(hint, kind))
        if isinstance(value, str):
            if kind.read is not None and is_matrix_file(value):
                return kind.read(Path(value))
            noun = value.partition("(")[0].partition(".")[0] in public_names()
            return self.build(name, value) if noun or ":" in value or "(" in value else value
        if isinstance(value, list | tuple):
            return tuple(self._value(f"{name}[{i}]", item, None) for i, item in enumerate(value))
        return value


_TABLES = {"use", "fields", "array", "bytes", "name"}


def _returned(hint: Any, kind: Kind) -> Kind:
    """The kind of what functions return that an annotation asks for; ``kind`` if it asks for none, or names no kind."""
    returned = [made for annotation in kinds_of(hint) if is_callable(annotation) for made in get_args(annotation)[-1:]]
    return next(filter(None, map(kind_of, returned)), kind)


def import_from_here() -> None:
    """Puts the working directory on the path of imports, where a console script does not have it."""
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)


def imported(module: str) -> Any:
    """A user module, imported with the working directory on the path. `UserCodeError` for an error in its code."""
    import_from_here()
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and (module == error.name or module.startswith(f"{error.name}.")):
            advice = "run in the folder that holds it, or put that folder on PYTHONPATH"
            raise InputError("import", "a module that can be found", repr(module), advice) from None
        raise UserCodeError(f"module {module}", error) from error
    except checks.RAISED as error:
        raise UserCodeError(f"module {module}", error) from error


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


@cache
def public_names(kind: Kind = ANY) -> dict[str, Any]:
    """All names that a configuration may use for this without a module prefix; none of what makes no certain class."""
    names: dict[str, Any] = {}
    for room in kind.rooms:
        for key, value in [*vars(importlib.import_module(room)).items()]:  # what is asked below may import more into it
            public = getattr(value, "__module__", "").startswith(room) and not key.startswith("_")
            if (
                callable(value)
                and public
                and kind.made_by(value)
                and not all(map(inspect.isabstract, values_of(value)))
            ):
                names.setdefault(key, value)
    return names


def _public(name: str, path: str, kind: Kind) -> Any:
    """The public objects of a kind, of which ``path`` names one."""
    names = public_names(kind)
    if path.partition(".")[0] not in names:
        try:
            checks.choice(name, path, names)
        except InputError as error:
            elsewhere = f"{error.advice} (elsewhere: module:{path})"
            raise InputError(name, error.expected, error.given, elsewhere) from None
    return types.SimpleNamespace(**names)


def _refuse_parts(name: str, path: str, kind: Kind) -> None:
    """InputError for the name of what something of this kind is made of, with the function that makes it of that."""
    part = next((other for other in _NOUNS if other is not kind and path in public_names(other)), None)
    if part is None or path in (names := public_names(kind)):
        return
    for maker, factory in names.items():
        if [kind_of(parameters(factory)[key]) for key in required(factory)] == [part]:
            body = f"def made_of(concepts) -> {maker}: return {maker}({path}(concepts))"
            code = f"    from dpjax import {maker}, {path}\n    {body}\n"
            place = name.rpartition(".")[2]
            advice = f"in a file mine.py, write\n{code}and name that: {place}=mine:made_of, --import mine"
            actual = f"{path}, which makes {part.noun}"
            raise InputError(name, f"a class or function that makes {kind.noun}", actual, advice)


def _unfit(name: str, path: str, thing: Any, kind: Kind) -> InputError:
    """The error for a name whose object is not called, since it makes nothing of the kind that its place asks for."""
    if isinstance(thing, type):
        actual, advice = f"{path}, which makes something else", "correct the name"
    elif callable(thing):
        actual = f"{path}, which is not annotated to return one"
        advice = f"annotate what it returns, def {path.partition(':')[2] or path}(...) -> ...:, or correct the name"
    else:
        actual, advice = f"{path}, of type {type(thing).__name__}", "correct the name"
    return InputError(name, f"a class or function that makes {kind.noun}", actual, advice)
