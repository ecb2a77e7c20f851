"""Builds the object to check from text: ``module:object``, a call, a class with its arguments, or a factory."""

import re
from dataclasses import dataclass
from types import BuiltinFunctionType, ModuleType
from typing import Any

from dpjax.audit import Target
from dpjax.concepts.base import ConceptClass
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.experiments.config.builder import ANY, CONCEPTS, Builder, imported
from dpjax.experiments.config.signatures import required
from dpjax.laws.base import Law
from dpjax.learners.base import Learner

_MODULES = re.compile(r"([A-Za-z_][\w.]*):(?=[A-Za-z_])")
_BASES = {"learner": Learner, "class": ConceptClass, "law": Law, "mechanism": Target}
_KINDS = "a Learner, a concept class, a law, or a dpjax.audit.Target"


@dataclass(frozen=True)
class Written:
    """The text that describes an object.

    Args:
      text: "module:object", "module:Class(arguments)", or a name in dpjax. The modules in it are imported.
      imports: further user modules that it uses.
      concepts: text of the class for parameters named ``concepts``; its ``domain`` is passed, too.
      k: value for parameters named ``k``.
    """

    text: str
    imports: tuple[str, ...] = ()
    concepts: str | None = None
    k: int = 1

    def modules(self) -> tuple[str, ...]:
        """The user modules that may be imported: those named by flags and in the texts."""
        return *self.imports, *(name for text in (self.text, self.concepts or "") for name in _MODULES.findall(text))

    def build(self) -> Any:
        """The object: an instance as it is, or the result of calling a class or factory.

        InputError for a module, a builtin, or a class or factory that needs more arguments; `user_code.UserCodeError`
        for an error inside user code.
        """
        builder = Builder(self.modules(), {"k": checks.integer("k", self.k, 1)}, trusted=True)
        if self.concepts is not None:
            concepts = builder.build("concepts", self.concepts, CONCEPTS)
            if _kind(concepts) != "class":
                advice = 'give a class with its arguments, for example --concepts "Thresholds(16)"'
                raise InputError("concepts", "a concept class", repr(concepts), advice)
            builder = builder.knowing(concepts=concepts, domain=concepts.domain)
        if "(" in self.text:
            return builder.build("object", self.text)
        return self._made(self._found(builder), builder)

    def _found(self, builder: Builder) -> Any:
        if ":" not in self.text and _is_module(self.text):
            example = f"name an object in it, for example {self.text}:Learner"
            raise InputError("object", "module:object", f"the module {self.text}", example)
        subject = builder.find("object", self.text, ANY)
        if isinstance(subject, ModuleType):
            raise InputError("object", _KINDS, f"the module {subject.__name__}", "name an object in it")
        if isinstance(subject, BuiltinFunctionType) or getattr(subject, "__module__", "") == "builtins":
            raise InputError("object", _KINDS, f"the builtin {self.text}", "name an object of your own")
        return subject

    def _made(self, found: Any, builder: Builder) -> Any:
        if not isinstance(found, type) and (not callable(found) or _kind(found) is not None):
            return found
        what = f"the class {self.text}" if isinstance(found, type) else f"the function {self.text}"
        try:
            missing = [name for name in required(found) if name not in builder.given]
        except (ValueError, TypeError):
            raise InputError("object", _KINDS, f"{what}, without a signature", "name an instance") from None
        if missing:
            target = "" if isinstance(found, type) else ", or give a mechanism as a dpjax.audit.Target"
            text = f'write "{self.text}({", ".join(f"{name}=..." for name in missing)})"'
            flag = ', or add --concepts, for example --concepts "Thresholds(16)"' * ("concepts" in missing)
            raise InputError("object", "an instance", f"{what}, which needs {', '.join(missing)}", text + flag + target)
        return builder.build("object", {"use": self.text}, ANY)


def kind_of(found: Any) -> str:
    """ "learner", "class", "law" or "mechanism"; InputError for anything else."""
    kind = None if isinstance(found, type) else _kind(found)
    if kind is None:
        actual = f"the class {found.__name__}" if isinstance(found, type) else f"a {type(found).__name__}"
        advice = (
            "a learner inherits from dpjax.learners.Learner, a concept class from dpjax.ConceptClass, a law from "
            "dpjax.laws.Law; a mechanism is given as a Target, see `dpjax new mechanism`"
        )
        raise InputError("object", _KINDS, actual, advice)
    return kind


def _kind(found: Any) -> str | None:
    return next((kind for kind, base in _BASES.items() if isinstance(found, base)), None)


def _is_module(name: str) -> bool:
    try:
        return isinstance(imported(name), ModuleType)
    except InputError:
        return False
