"""A study's configuration in words."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dpjax.core.html import number

_MINUS = "\N{NO-BREAK SPACE}\N{MINUS SIGN}\N{NO-BREAK SPACE}"
_TARGET = f"1{_MINUS}beta"
_LEAST_POWER = 1024  # from here on powers of two are written as such


def table_of(data: Any, name: str) -> Mapping[str, Any]:
    """An entry of a table that is a table itself; an empty one if there is none."""
    found = data.get(name) if isinstance(data, Mapping) else None
    return found if isinstance(found, Mapping) else {}


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


def imports(config: Any) -> str:
    """The flags that import the modules outside of dpjax that a configuration names."""
    names = sorted({name for name in _modules(config) if name.split(".")[0] != "dpjax"})
    return "".join(f" --import {shlex.quote(name)}" for name in names)


def _modules(part: Any) -> Iterator[str]:
    if isinstance(part, Mapping):
        use = part.get("use")
        if isinstance(use, str) and ":" in use.partition("(")[0]:
            yield use.partition(":")[0]
        part = list(part.values())
    if isinstance(part, list | tuple):
        for one in part:
            yield from _modules(one)


def trial_command(source: str, config: Any, row: Mapping[str, Any], trial: int | str = 0) -> str:
    """The command that reruns a trial of a row of a success curve."""
    return (
        f"dpjax trial {shlex.quote(source)}{imports(config)} --learners {shlex.quote(row['learner'])} --k {row['k']} "
        f"--epsilon {row['epsilon']!r} --n {row['n']} --trial {trial}"
    )


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
        sentences.append(
            f"n*, the least such n, is searched from {search.get('n_min')} to {search.get('n_max')}, with "
            f"{search.get('steps_per_doubling')} sample sizes for each doubling. With probability at least "
            f"{number(search.get('confidence'))}, success is below {_TARGET} at the lower end of a bracket, and "
            f"above {_TARGET}{_MINUS}gamma at its upper end, gamma = {number(search.get('gamma'))}."
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
    found = [(name, constructor(task[key])) for name, key in _OF_TASK if task.get(key) is not None]
    found += [(f"learner {name}", constructor(spec)) for name, spec in learners.items()]
    found += [(name, ", ".join(map(number, listed(sweep[name])))) for name in ("k", "epsilon") if name in sweep]
    return found


_OF_TASK = (
    ("task", "use"), ("concept class", "concepts"), ("distribution", "distribution"), ("targets", "targets"),
    ("noise of labels", "noise"),
)  # fmt: skip
