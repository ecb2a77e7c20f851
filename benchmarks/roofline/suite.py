"""Measures the ceilings, then every kernel against the ceiling that bounds it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from benchmarks import peers, selection
from benchmarks.clock import Work
from benchmarks.roofline import device, memory
from benchmarks.roofline.ceilings import CEILINGS
from benchmarks.roofline.device import Sizes
from benchmarks.roofline.kernels import KERNELS, Kernel
from benchmarks.roofline.timing import measuring, rates
from dpjax.core import checks


@dataclass(frozen=True)
class Measured:
    """A ceiling as measured: the fastest program, its rate, that of NumPy, and those of all programs by name."""

    work: Work
    value: float
    numpy: float
    programs: dict[str, float]


def _ceiling(name: str, sizes: Sizes, seconds: float) -> Measured:
    ceiling = CEILINGS[name]
    works = [build(sizes) for build in ceiling.ours.values()]
    *found, numpy = rates([*works, ceiling.numpy()], seconds)
    best = max(range(len(works)), key=found.__getitem__)
    return Measured(works[best], found[best], numpy, dict(zip(ceiling.ours, found, strict=True)))


def _kernel(kernel: Kernel, sizes: Sizes, ceilings: Mapping[str, Measured], seconds: float) -> dict[str, Any]:
    work, amounts = kernel.built(sizes)
    known = {name: ceilings[name].value for name in amounts}
    bound = kernel.bound or max(amounts, key=lambda name: amounts[name] / known[name])
    limited = CEILINGS[bound].limits or bound
    value, known[bound] = rates([work, ceilings[bound].work], seconds)
    ratio = value * amounts[limited] / known[bound]
    explained = value * sum(amounts[name] / known[name] for name in amounts)
    unit = f"{kernel.unit}/s"
    return _row(
        kernel.name, value, unit, bound, known[bound] / amounts[limited], ratio, kernel.goal, explained, amounts
    )


def _row(
    name: str,
    value: float,
    unit: str,
    bound: str,
    limit: float,
    ratio: float,
    goal: float | None = None,
    explained: float | None = None,
    amounts: Mapping[str, float] | None = None,
) -> dict[str, Any]:
    passed = None if goal is None else ratio >= goal
    return {
        "name": name,
        "value": value,
        "unit": unit,
        "bound": bound,
        "limit": limit,
        "ratio": ratio,
        "goal": goal,
        "passed": passed,
        "explained": explained,
        "amounts": amounts and dict(amounts),
    }


def _against_numpy(name: str, candidates: int, sizes: Sizes, seconds: float) -> dict[str, Any]:
    kernel = next(one for one in KERNELS if one.name == name)
    ours, peer = rates([kernel.built(sizes)[0], peers.numpy_one_by_one(candidates)], seconds)
    bound = "NumPy, inverse CDF a trial, float64"
    return _row(f"{name}-numpy", ours, "candidates/s", bound, peer, ours / peer, 10.0)


def _memory(sizes: Sizes, seconds: float) -> dict[str, Any]:
    above, trials = memory.growth()
    limit = memory.LIMIT
    bound = f"limit of the growth from a warm process over {trials} trials"
    return _row("memory", above, "MiB", bound, limit, limit / max(above, 2.0**-10), 1.0)


_GOALS: dict[str, Callable[[Sizes, float], dict[str, Any]]] = {
    "exponential-1k-numpy": partial(_against_numpy, "exponential-1k", selection.SMALL),
    "exponential-64k-numpy": partial(_against_numpy, "exponential-64k", selection.LARGE),
    "memory": _memory,
}
_OF_KERNELS = {kernel.name: kernel for kernel in KERNELS}
ROWS = (*_OF_KERNELS, *_GOALS)
"""Names of the rows."""


def run(names: Iterable[str] | None = None, quick: bool = False) -> dict[str, Any]:
    """Measures the ceilings and rows, all by default, on JAX's default device.

    Args:
      names: of `ROWS`.
      quick: a few repetitions of each.

    Returns: {"device": see `device.about`, "clock": what a second is, "ceilings": [...], "rows": [...]}. A ceiling is
      {name, value, unit, peer, peer_value, programs}, with the rates of all its programs. A row is {name, value, unit,
      bound, limit, ratio, goal, passed, explained, amounts}: ``limit`` is the value that the bound alone would allow,
      ``ratio`` = value / limit (the inverse for MiB), and ``explained`` the part of the time that all ceilings together
      account for. InputError for an unknown name, before anything runs.
    """
    asked = list(ROWS if names is None else (checks.choice("row", name, ROWS) for name in names))
    sizes, seconds, rows = device.sizes(), 0.3 if quick else 3.0, []
    with measuring() as clock:
        ceilings = {name: _ceiling(name, sizes, seconds) for name in CEILINGS}
        for name in asked:
            kernel = _OF_KERNELS.get(name)
            rows.append(_kernel(kernel, sizes, ceilings, seconds) if kernel else _GOALS[name](sizes, seconds))
    table = [
        {
            "name": name,
            "value": found.value,
            "unit": CEILINGS[name].unit,
            "peer": CEILINGS[name].peer,
            "peer_value": found.numpy,
            "programs": found.programs,
        }
        for name, found in ceilings.items()
    ]
    return {"device": device.about(), "clock": clock, "ceilings": table, "rows": rows}
