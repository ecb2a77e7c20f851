"""A study's configuration in words."""

from collections.abc import Mapping, Sequence
from typing import Any

from dpjax.core.commands import command
from dpjax.core.html import number

_MINUS = "\N{NO-BREAK SPACE}\N{MINUS SIGN}\N{NO-BREAK SPACE}"
_TARGET = f"1{_MINUS}beta"
_LEAST_POWER = 1024  # from here on powers of two are written as such


def table_of(data: Any, name: str) -> Mapping[str, Any]:
    """An entry of a table that is a table itself; an empty one if there is none."""
    entry = data.get(name) if isinstance(data, Mapping) else None
    return entry if isinstance(entry, Mapping) else {}


def listed(value: Any) -> list[Any]:
    """A value or several, as a list."""
    return list(value) if isinstance(value, Sequence | Mapping) and not isinstance(value, str) else [value]


def constructor(spec: Any) -> str:
    """What a configuration builds, as a call: ``Points(domain=Domain(size=2**32))``."""
    if isinstance(spec, Mapping):
        if "by_k" in spec:
            return _of_each_k(table_of(spec, "by_k"))
        if "array" in spec:
            return f"array[{', '.join(map(str, spec.get('shape', ())))}]"
        if "member" in spec:
            return str(spec["member"])
        fields = spec.get("fields", {key: value for key, value in spec.items() if key != "use"})
        inner = ", ".join(f"{name}={constructor(value)}" for name, value in fields.items())
        return f"{spec.get('use', '')}({inner})"
    if isinstance(spec, list | tuple):
        return f"[{', '.join(map(constructor, spec))}]"
    whole = isinstance(spec, int) and not isinstance(spec, bool)
    if whole and spec >= _LEAST_POWER and spec & (spec - 1) == 0:
        return f"2**{spec.bit_length() - 1}"
    return str(spec)


def _of_each_k(specs: Mapping[str, Any]) -> str:
    """The learner if it is the same for every k, else one for each."""
    texts = {k: constructor(spec) for k, spec in specs.items()}
    if len(set(texts.values())) == 1:
        return next(iter(texts.values()))
    general = {text.replace(f"k={k}", "k=k") for k, text in texts.items()}
    if len(general) == 1:
        return general.pop()
    return "; ".join(f"for k = {k}: {text}" for k, text in texts.items())


def trial_command(source: str, config: Any, row: Mapping[str, Any], trial: int | str = 0) -> str:
    """The command that reruns a trial of a row of a success curve."""
    place = ("--learners", row["learner"], "--k", row["k"], "--epsilon", row["epsilon"], "--n", row["n"])
    return command("trial", source, *place, "--trial", trial, config=config)


def question(data: Mapping[str, Any]) -> list[str]:
    """Sentences that say what a study asked, as far as its configuration tells."""
    config = data.get("config")
    sweep, search = table_of(config, "sweep"), table_of(config, "search")
    if not {"alpha", "beta", "delta"} <= sweep.keys():
        return []
    alpha, beta, delta = (sweep[name] for name in ("alpha", "beta", "delta"))
    sentences = [
        f"How many examples n do these learners need to learn k concepts at once? A trial succeeds if every one of its "
        f"k hypotheses has an error of at most alpha = {number(alpha)} in excess of its target's; n is enough if a "
        f"trial succeeds with probability at least {_TARGET} = {number(1 - beta)}. Learners are run at every k and "
        f"epsilon below, with delta = {number(delta)}."
    ]
    trials = f"with {sweep['trials']} trials each" if "trials" in sweep else ""
    if search:
        within = f"{_MINUS}{number(gamma)} (gamma)" if (gamma := search.get("gamma")) else ""
        sentences.append(
            f"n*, the n from which on a trial succeeds so often, is searched from {search.get('n_min')} to "
            f"{search.get('n_max')}, with {search.get('steps_per_doubling')} sample sizes for each doubling. With "
            f"probability at least {number(search.get('confidence'))}, success is below {_TARGET} at the lower end of "
            f"a bracket, and at least {_TARGET}{within} at its upper end."
        )
    if sweep.get("n") == "search":
        sentences.append(f"Success curves have {sweep.get('points')} sample sizes around n*, {trials}.")
    elif "n" in sweep:
        sentences.append(f"Success curves have the sample sizes {', '.join(map(str, listed(sweep['n'])))}, {trials}.")
    return sentences


def settings(data: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The class, the distribution, the learners and the values of k and epsilon, by name."""
    config = data.get("config")
    task, sweep, learners = (table_of(config, name) for name in ("task", "sweep", "learners"))
    pairs = [(name, constructor(task[key])) for name, key in _OF_TASK if task.get(key) is not None]
    pairs += [(f"learner {name}", constructor(spec)) for name, spec in learners.items()]
    pairs += [(name, ", ".join(map(number, listed(sweep[name])))) for name in ("k", "epsilon") if name in sweep]
    return pairs


_OF_TASK = (
    ("task", "use"),
    ("concept class", "concepts"),
    ("distribution", "distribution"),
    ("targets", "targets"),
    ("noise of labels", "noise"),
)
