"""The target that `dpjax audit module:object` names: a Target, a Learner, or a function of key and data."""

import inspect
import itertools
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dpjax import audit, evidence
from dpjax.accounting import Guarantee
from dpjax.audit import Pair, Target, Universe
from dpjax.audit.adapters import shown
from dpjax.audit.target.neighbors import KINDS, as_database
from dpjax.cli.arguments.privacy import AuditCommand
from dpjax.concepts import Domain, Points
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.types import Neighboring
from dpjax.core.user_code import UserCodeError, calling, user_frames
from dpjax.experiments.config.builder import imported
from dpjax.experiments.config.numbers import from_words
from dpjax.learners.base import Learner

RANDOMNESS = {"key": "key", "seed": "seed", "rng": "generator", "generator": "generator"}
"""Parameter name -> kind of randomness."""
_OWN, _AS_RUN = "own", "as run"
_ELEMENTS, _CONCEPTS = 3, 2  # sizes of the small universe on which a learner is audited
_MOST_PAIRS = 4096
_EXPECTED = "a dpjax.audit.Target, a Learner, or a function of key and data"


def own_target(name: str, command: AuditCommand, relation: Neighboring) -> tuple[Target, bool]:
    """The target that ``module:object`` names, and whether it is a plain function.

    Raises InputError for other objects and missing options; `UserCodeError` for an error in user code.
    """
    subject = load("target", name)
    if inspect.ismodule(subject):
        raise InputError("target", _EXPECTED, f"the module {subject.__name__}", f"name an object of it: {name}.NAME")
    if isinstance(subject, type):
        advice = "name an instance or a function (concepts, k) -> Learner, or make a dpjax.audit.Target of it"
        raise InputError("target", f"{_EXPECTED}, each an instance", f"the class {subject.__name__}", advice)
    if callable(subject) and not isinstance(subject, Target | Learner):
        names = _parameters(name, subject)
        if (roles := _plain(names, command)) is not None:
            return _function(name, subject, roles, command, relation), True
        of_mechanism = command.pairs is not None or command.histograms is not None
        if "concepts" not in names and (names or of_mechanism):
            raise InputError(
                "target",
                "a function with a parameter called key, seed, rng or generator, and one for the data",
                f"{name}({', '.join(names)})",
                "call it so, or give --kind key, generator or seed for the first parameter, or --kind own for a "
                "function of the data alone; a function that makes a Learner is (concepts, k)",
            )
        with calling(name):
            subject = subject(Points(Domain(_ELEMENTS)), _CONCEPTS) if names else subject()
    if command.pairs is not None or command.histograms is not None:
        flag = "pairs" if command.pairs is not None else "histograms"
        raise InputError(flag, f"none for {name}", getattr(command, flag), "leave it out: the target has its own")
    if isinstance(subject, Target):
        return subject, False
    if not isinstance(subject, Learner):
        advice = "name an instance, or a function (concepts, k) -> Learner, of a subclass of dpjax.Learner"
        raise InputError("target", _EXPECTED, _a(type(subject).__name__), advice)
    return evidence.learner_target(subject, name, subject.number_of_concepts), False


def load(name: str, path: str) -> Any:
    """The object that ``module:object`` names. name: used in error messages."""
    module, _, inner = path.partition(":")
    if not module or not inner:
        raise InputError(name, "module:object", repr(path), "write the module, a colon and the object's name")
    value: Any = imported(module)
    for part in inner.split("."):
        if not hasattr(value, part):
            known = sorted(key for key in vars(value) if not key.startswith("_")) if hasattr(value, "__dict__") else []
            expected = f"an object of {module}" + f": {', '.join(known[:20])}" * bool(known)
            raise InputError(name, expected, repr(path), "check the name")
        value = getattr(value, part)
    return value


def blamed(name: str, modules: Iterable[str], work: Callable[[], Any]) -> Any:
    """The value of ``work``. An error that passed through one of these modules is a fault of user code.

    It is raised as a `UserCodeError`, or as the InputError that it has become, with the traceback of the user code.
    """
    packages = {module.partition(".")[0] for module in modules} - {"dpjax"}
    try:
        return work()
    except InputError as error:
        cause = error.__cause__
        if cause is not None and not error.trace and _through(packages, cause):
            vars(error)["trace"] = user_frames(cause)
        raise
    except checks.RAISED as error:
        if _through(packages, error):
            raise UserCodeError(name, error) from error
        raise


def _through(packages: set[str], error: BaseException) -> bool:
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_globals.get("__name__", "").partition(".")[0] in packages:
            return True
        trace = trace.tb_next
    return False


def _parameters(name: str, found: Any) -> dict[str, inspect.Parameter]:
    """The parameters of a function by name; InputError for a function without a signature or a builtin."""
    word = f"the built-in function {getattr(found, '__name__', name)}"
    if inspect.isbuiltin(found) or isinstance(found, np.ufunc):
        raise InputError("target", _EXPECTED, word, "wrap it in a function of your own: def mine(key, data)")
    try:
        return dict(inspect.signature(found).parameters)
    except (ValueError, TypeError):
        raise InputError("target", "a function with a signature", word, "wrap it in a function") from None


def _plain(given: dict[str, inspect.Parameter], command: AuditCommand) -> tuple[str, str | None, str] | None:
    """(kind, parameter of the randomness, parameter of the data) of a mechanism; None for other functions."""
    if command.kind is not None:
        checks.choice("kind", command.kind, {*RANDOMNESS.values(), _OWN})
    elif "concepts" in given or not given:
        return None
    places = [key for key, param in given.items() if param.kind in (param.POSITIONAL_OR_KEYWORD, param.KEYWORD_ONLY)]
    if command.kind == _OWN:
        return (_OWN, None, places[0]) if len(places) == 1 or _optional(given, places[1:]) else None
    named = [key for key in places if key.strip("_") in RANDOMNESS]
    if command.kind is None and len(named) != 1:
        return None
    random = named[0] if len(named) == 1 else places[0] if places else None
    rest = [key for key in places if key != random]
    if random is None or not rest or not _optional(given, rest[1:]):
        return None
    return command.kind or RANDOMNESS[random.strip("_")], random, rest[0]


def _optional(given: dict[str, inspect.Parameter], names: list[str]) -> bool:
    return all(given[key].default is not inspect.Parameter.empty for key in names)


def _function(
    name: str, found: Any, asked: tuple[str, str | None, str], command: AuditCommand, relation: Neighboring
) -> Target:
    """A plain function with the claim and the databases of the flags."""
    kind, random, data = asked
    lacks = []
    if command.epsilon is None:
        lacks.append(("the privacy that it claims", "--epsilon E (with --delta and --relation)"))
    if command.pairs is None and command.histograms is None:
        lacks.append(("pairs of neighboring databases", "--pairs module:function or --histograms ROWS,CELLS"))
    if lacks:
        words, flags = (" and ".join(parts) for parts in zip(*lacks, strict=True))
        raise InputError("target", words, f"only the function {name}", f"give {flags}")
    if command.pairs is not None and command.histograms is not None:
        raise InputError("histograms", "none beside --pairs", command.histograms, "give one of the two")
    checks.choice("data", command.data, KINDS)
    assert command.epsilon is not None
    claim = Guarantee(checks.epsilon(command.epsilon), checks.delta(command.delta), relation, "as the flags claim")
    if command.histograms is None:
        some, caveat = _of_the_user(command, relation)
    else:
        universe = _histograms(command.histograms, relation)
        caveat = "the function receives the counts of the cells, not rows"
        some = _of_histograms(universe, 1 if kind == "key" else None)

    def run(value: Any, randomness: Any) -> Any:
        return found(**({data: value} if random is None else {data: value, random: randomness}))

    try:
        target = audit.from_function(  # the user's pairs are checked already
            run,
            claim,
            [(pair.first, pair.second) for pair in some],
            name=name,
            repeatable=kind != _OWN,
            randomness="seed" if kind == _OWN else kind,
            data="other",
            distance=command.distance,
        )
    except InputError as error:
        if error.__cause__ is not None:
            vars(error)["trace"] = user_frames(error.__cause__)
        raise
    if command.histograms is not None and kind == "key":  # exact audits look at more than a statistical one can
        target = replace(target, pairs=partial(_of_histograms, universe), universes=lambda: [universe])
    return replace(target, caveat=caveat, calibration=_AS_RUN)


def _of_the_user(command: AuditCommand, relation: Neighboring) -> tuple[list[Pair], str]:
    """The pairs of --pairs, and what was not checked of them, for the report."""
    pairs, promised = [], 0
    for number, pair in enumerate(_given_pairs(str(command.pairs))):
        name = f"pairs, number {number}"
        try:
            first, second = pair
        except (TypeError, ValueError) as error:
            kind = _a(type(pair).__name__) + (f" of length {len(pair)}" if hasattr(pair, "__len__") else "")
            raise InputError(name, "two databases", kind, "return or yield (database, neighbor)") from error
        first, second = as_database(first), as_database(second)
        promised += not audit.require_neighbors(name, first, second, relation, command.data, command.distance)
        pairs.append(Pair(first, second, shown))
    if not pairs:
        raise InputError("pairs", "at least one pair", f"none from {command.pairs}", "return or yield some")
    promise = f"not checked: that {promised} of {len(pairs)} pairs of {command.pairs} are neighbors"
    return pairs, promise * bool(promised)


def _given_pairs(path: str) -> Iterator[Any]:
    source = load("pairs", path)

    def listed() -> list[Any]:
        pairs = source() if callable(source) else source
        if isinstance(pairs, str) or not hasattr(pairs, "__iter__"):
            got = f"{path}, which gives {_a(type(pairs).__name__)}"
            raise InputError("pairs", "a function that returns or yields pairs", got, "return a list of pairs")
        some = itertools.islice(pairs, _MOST_PAIRS + 1)
        return [deepcopy(pair) for pair in some]  # a generator may yield one array again, changed

    if callable(source) and not _optional(signature := _parameters(path, source), list(signature)):
        raise InputError("pairs", "a function without arguments", f"{path}({', '.join(signature)})", "give it defaults")
    with calling(path):
        pairs = listed()
    if len(pairs) > _MOST_PAIRS:
        raise InputError("pairs", f"at most {_MOST_PAIRS}", "more", "return or yield fewer")
    return iter(pairs)


def _histograms(words: str, relation: Neighboring) -> Universe:
    try:
        rows, cells = (from_words(word) for word in words.split(","))
    except (ValueError, InputError):
        advice = "write the most rows and the number of cells"
        raise InputError("histograms", "ROWS,CELLS such as 6,2", repr(words), advice) from None
    return audit.histograms(rows, cells, relation)


def _of_histograms(universe: Universe, most: int | None = None) -> list[Pair]:
    """All pairs, each in one order, or at most this many."""
    ends = sorted({tuple(sorted(pair)) for pair in universe.pairs.tolist()})[:most]
    if not 0 < len(ends) <= _MOST_PAIRS:
        size, advice = f"{len(ends)}: {universe.what}", "choose other numbers of rows and cells"
        raise InputError("histograms", f"1 to {_MOST_PAIRS} pairs of neighbors for a statistical audit", size, advice)
    rows = universe.databases
    return [Pair(rows[i], rows[j], shown) for i, j in ends]


def _a(noun: str) -> str:
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"
