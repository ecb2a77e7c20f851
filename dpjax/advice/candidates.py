"""Which learners learn a class: the public ones and a person's own, with the variants that are worth asking."""

import dataclasses
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

from dpjax.concepts.base import ConceptClass
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.members import implements
from dpjax.core.types import Neighboring
from dpjax.experiments.config.builder import LEARNERS, Builder, kind_of, public_names
from dpjax.experiments.config.signatures import hints_of, required
from dpjax.learners.base import Learner, require_learner
from dpjax.learners.independent import Independent

_PUBLIC = replace(LEARNERS, rooms=("dpjax.learners",))
_MOST_SQUARED = 1 << 8  # concepts of a matrix whose differences are listed
_TOLD = ("concepts", "k", "domain", "neighboring", "queries")  # what the class and the question say already


@dataclass(frozen=True)
class Candidate:
    """A learner of k concepts by name, or None and the reason why there is none."""

    name: str
    learner: Any = None
    reason: str | None = None

    @property
    def family(self) -> Any:
        """What is equal for learners that differ in the composition of their k runs only."""
        return _composed(self.learner, "basic") if _composes(self.learner) else self.learner


def candidates(
    concepts: Any,
    k: int,
    own: Mapping[str, Any] | Sequence[Any] = (),
    *,
    only: Sequence[str] = (),
    neighboring: Neighboring = Neighboring.REPLACE_ONE,
    imports: Sequence[str] = (),
) -> list[Candidate]:
    """The learners of k concepts of a class under a relation, and for other public learners why they are none.

    A learner class says by an optional classmethod ``candidates(concepts, k)`` which of its instances are worth asking.
    Without it they are made from ``concepts`` and ``k`` and, for each further parameter without a default, from every
    public object of the parameter's type that can be made of the class, such as every sanitizer. Classes that run
    another learner are left to the person. What learns one column is run k times by `Independent`; all compositions are
    candidates.

    Args:
      own: further learners by name, or a list of them: instances, classes, functions k -> learner, or a text as in a
        study such as "module:Name(...)".
      only: names of public learners; by default all.
      imports: modules that texts may use.
    """
    checks.integer("k", k, 1, 1 << 16)
    public = public_names(_PUBLIC)
    for name in only:
        checks.choice("only", name, public)
    known = Builder(tuple(imports), _given(concepts, k), {"neighboring": neighboring})
    result: list[Candidate] = []
    for name, kind in public.items():
        if not only or name in only:
            result += _merged(name, _of_kind(name, kind, concepts, k, known, neighboring))
    for name, entry in _named(own).items():
        result += _own(name, entry, concepts, k, known, neighboring)
    return result


def _given(concepts: Any, k: int) -> dict[str, Any]:
    """Values of parameters by name that the class tells."""
    values = {"concepts": concepts, "domain": concepts.domain, "k": k}
    values["bits"] = max(1, (concepts.line.size - 1).bit_length())
    if implements(concepts, ConceptClass.xor) and concepts.size <= _MOST_SQUARED:
        values["queries"] = concepts.xor()
    return values


def _of_kind(
    name: str, kind: Any, concepts: Any, k: int, known: Builder, neighboring: Neighboring
) -> Iterator[Candidate]:
    """The candidates of a learner class."""
    try:
        instances = kind.candidates(concepts, k)
        made = (
            list(_ways(name, kind, known))
            if instances is None
            else [Candidate(words(candidate), candidate) for candidate in instances]
        )
    except InputError as error:
        made = [Candidate(name, reason=str(error))]
    for candidate in made:
        if candidate.learner is None:
            yield candidate
        else:
            yield from _for_question(candidate.learner, concepts, k, neighboring)


def _ways(name: str, kind: Any, known: Builder) -> Iterator[Candidate]:
    """Every way to make one from the known values and from public parts."""
    hints = hints_of(kind)
    free = [key for key in required(kind) if key not in known.given]
    kinds = {key: kind_of(hints.get(key)) for key in free}
    if missing := [key for key, part_kind in kinds.items() if part_kind is None or part_kind is LEARNERS]:
        wrapped = kinds[missing[0]] is LEARNERS
        what = "runs another learner" if wrapped else f"has no default for {', '.join(missing)}"
        yield Candidate(name, reason=f'{what}: name it, such as "{name}({missing[0]}=...)"')
        return
    parts = [[*_parts(kinds[key], known)] for key in free]
    for chosen in product(*parts):
        text = f"{name}({', '.join(one.name for one in chosen)})" if chosen else name
        if wrong := [candidate.reason for candidate in chosen if candidate.reason]:
            yield Candidate(text, reason=wrong[0])
            continue
        values = {key: one.learner for key, one in zip(free, chosen, strict=True)}
        yield _made(text, partial(known.make, "learner", name, kind, values))


def _parts(kind: Any, known: Builder) -> Iterator[Candidate]:
    """Every public object of a kind, or why the class has none."""
    for name, factory in public_names(kind).items():
        if missing := [key for key in required(factory) if key not in known.given]:
            yield Candidate(name, reason=f"{name} needs {', '.join(missing)}")
        else:
            yield _made(name, partial(known.make, "learner", name, factory, {}))


def _made(name: str, make: Callable[[], Any]) -> Candidate:
    try:
        return Candidate(name, make())
    except InputError as error:
        return Candidate(name, reason=str(error))


def _for_question(learner: Any, concepts: Any, k: int, neighboring: Neighboring) -> Iterator[Candidate]:
    """The learner under this relation for k concepts, with all compositions."""
    try:
        require_learner(learner)
        fitting = _of_class(_under(learner, neighboring), concepts)
        made = [*_of_k(fitting, k)]
    except InputError as error:
        yield Candidate(words(learner), reason=str(error))
        return
    for variant in made:
        yield Candidate(words(variant), variant)


def _of_class(learner: Any, concepts: Any) -> Any:
    if learner.concepts != concepts:
        actual = f"{type(learner).__name__} of {learner.concepts!r}"
        raise InputError("learner", f"one of {concepts!r}", actual, "build it with the class that is asked about")
    return learner


def _under(learner: Any, neighboring: Neighboring) -> Any:
    """The learner under a relation; InputError if it has another one only."""
    if learner.neighboring is neighboring:
        return learner
    if "neighboring" in _fields(learner):
        return replace(learner, neighboring=neighboring)
    raise InputError("neighboring", neighboring.value, learner.neighboring.value, "take another learner")


def _of_k(learner: Any, k: int) -> Iterator[Any]:
    joint = learner.for_concepts(k)
    if joint is None and k == 1:
        yield learner
    elif joint is None or (k > 1 and _composes(learner)):
        first = Independent(learner, k) if joint is None else joint
        for composition in first.compositions:
            try:
                yield _composed(first, composition)
            except InputError:  # zCDP is not defined for runs that spend delta
                continue
    else:
        yield joint


def _own(name: str, given: Any, concepts: Any, k: int, known: Builder, neighboring: Neighboring) -> Iterator[Candidate]:
    """The candidates of what a person gives; a learner with a composition keeps it."""
    kind = given if isinstance(given, type) else None
    if isinstance(given, str):
        resolved, parenthesis = known.find("learner", given.partition("(")[0].strip(), LEARNERS), "(" in given
        kind = resolved if isinstance(resolved, type) and not parenthesis else None
        given = known.build("learner", given, LEARNERS) if kind is None else kind
    elif kind is None and callable(given) and not isinstance(given, Learner):
        given = given(k)
    if kind is not None:
        if not issubclass(kind, Learner):
            advice = "inherit from dpjax.learners.Learner"
            raise InputError("learner", "a subclass of Learner", f"the class {kind.__name__}", advice)
        of_kind = _merged(name, _of_kind(name, kind, concepts, k, known, neighboring))
        for candidate in of_kind:
            plain = candidate.name.removeprefix(kind.__name__)
            yield candidate if plain == candidate.name else replace(candidate, name=name + plain)
        return
    require_learner(given)
    if _composes(given) and implements(given, Learner.for_concepts):
        yield Candidate(name, _of_class(_under(given, neighboring), concepts).for_concepts(k))
    else:
        resolved = [*_for_question(given, concepts, k, neighboring)]
        yield from (replace(candidate, name=name if len(resolved) == 1 else candidate.name) for candidate in resolved)


def _named(own: Mapping[str, Any] | Sequence[Any]) -> dict[str, Any]:
    if isinstance(own, Mapping):
        return dict(own)
    return {
        entry if isinstance(entry, str) else getattr(entry, "__name__", None) or words(entry): entry for entry in own
    }


def _merged(name: str, found: Iterable[Candidate]) -> list[Candidate]:
    """One line for a learner all of whose variants are refused for one reason."""
    every = list(found)
    refused = len({candidate.reason for candidate in every}) == 1 and all(one.learner is None for one in every)
    return [Candidate(name, reason=every[0].reason)] if refused else every


def _composes(learner: Any) -> bool:
    return {"composition", "k"} <= _fields(learner)


def _composed(learner: Any, composition: str) -> Any:
    return replace(learner, composition=composition)


def _fields(learner: Any) -> set[str]:
    return {field.name for field in dataclasses.fields(learner)} if dataclasses.is_dataclass(learner) else set()


def words(learner: Any) -> str:
    """A learner as a study names it: its class, and the fields that neither the class nor a default tells."""
    name = type(learner).__name__
    if not dataclasses.is_dataclass(learner):
        return name
    parts = []
    for field in dataclasses.fields(learner):
        value = getattr(learner, field.name)
        if field.name in _TOLD or value == field.default:
            continue
        if not dataclasses.is_dataclass(value):
            parts.append(f"{field.name}={value}")
        elif type(value).__name__ in public_names():
            parts.append(words(value))
        else:
            parts.append(f"{field.name}={_public_module(type(value))}:{words(value)}")
    return f"{name}({', '.join(parts)})" if parts else name


def _public_module(kind: type) -> str:
    """The outermost package, not counting dpjax itself, that has a class by its name; otherwise the class's module."""
    parts = kind.__module__.split(".")
    packages = (".".join(parts[:count]) for count in range(2, len(parts)))
    having = (package for package in packages if getattr(sys.modules.get(package), kind.__name__, None) is kind)
    return next(having, kind.__module__)
