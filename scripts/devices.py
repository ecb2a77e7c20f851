"""Writes devices.md: which operations of each learner's program have 64-bit types, and why.

Run: python scripts/devices.py [--out FOLDER]
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import jax
from pages import options, table, write_page
from plans import CASES, learner_of

import dpjax
from benchmarks.equations import equations
from dpjax.core import keys
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Privacy
from dpjax.experiments.run.tiles import Program, tile_shape, traced
from dpjax.experiments.run.trial import Trial, point
from dpjax.experiments.store.capacity import capacity
from dpjax.testing.samples import task_for

ROWS = 200
NAMES = tuple(
    name for name in CASES if name != "UnionLearner" and ("composition=" not in name or "zcdp" in name)
)  # compositions share programs; unions are by `Pieces` alone, as in benchmarks/accelerator
FLOATS, INTEGERS = frozenset({"float64"}), frozenset({"int64", "uint64"})
_PACKAGE = Path(dpjax.__file__).parent
SHARED = ("laws/", "core/", "experiments/")
"""Files that nearly all learners use."""

REASONS: dict[str, tuple[str, str]] = {
    "core/random.py": (
        "needed",
        "noise that is compared with counts of any size: float32 noise has a spacing that "
        "grows with the lead, and an event at the boundary would get another probability",
    ),
    "core/products.py": (
        "32-bit integers",
        "sums of whole numbers below 2**53; pairs of uint32 would need a product of their own",
    ),
    "core/integers.py": ("32-bit integers", "words of slopes and values; products of words need the halves of uint64"),
    "core/arithmetic.py": ("32-bit integers", "elements are pairs of uint32 in memory and uint64 in between"),
    "core/arithmetic.py:Words.log_count": ("two float32", "logarithms of widths of up to 64 bits"),
    "core/wide.py": ("32-bit integers", "elements and masses are pairs of uint32 in memory and uint64 in between"),
    "laws/table.py": (
        "partly needed",
        "sums of bounds and 64-bit targets are integers, which two uint32 could hold; "
        "the weights of one column of 8 and the acceptance probability make the law exact to float64",
    ),
    "laws/categorical.py": (
        "two float32",
        "a log-weight of float64 is split into two float32, which could be computed "
        "as such; the comparison with the acceptance probability is needed",
    ),
    "laws/laplace.py": (
        "needed",
        "tails down to 1e-10 decide stability tests; float32 probabilities are off by their rounding near 1",
    ),
    "laws/rounded_laplace.py": ("needed", "as `core/random.py`"),
    "laws": ("needed", "probabilities of a law, exact to float64"),
    "experiments/": (
        "32-bit integers",
        "errors are masses, uint64; the comparison with the bins could use pairs of uint32",
    ),
    "concepts/": (
        "32-bit integers",
        "masses of distributions, up to 2^60 units, and numbers of elements up to 2^64: "
        "exact integers, which pairs of uint32 could hold",
    ),
    "learners/representations/": ("two float32", "log-weights of labelings, sums of logarithms of counts"),
    "learners/vc1_proper.py": ("needed", "noise that is compared, as `core/random.py`"),
    "learners/": ("32-bit integers", "ranks and counts of elements up to 2^64"),
    "lists/": ("32-bit integers", "counts of concepts"),
    "sanitizers/mwem.py": ("two float32", "logarithms of the weights of a histogram"),
    "sanitizers/": ("two float32", "noisy counts and their sums"),
    "mechanisms/exponential.py": (
        "two float32",
        "log-weights before they are split into two float32; integer scores under a float32 rate already do without",
    ),
    "mechanisms/_inputs.py": ("two float32", "differences from the largest score; those of int32 already do without"),
    "mechanisms/choosing.py": (
        "needed",
        "a threshold computed from epsilon, delta and beta decides who may be "
        "answered; float32 moved it by whole multiples of epsilon at counts of millions",
    ),
    "mechanisms/stability.py": ("needed", "as `mechanisms/choosing.py`"),
    "mechanisms/histogram.py": ("needed", "as `mechanisms/choosing.py`; the threshold is rounded up"),
    "mechanisms/noise.py": ("needed", "quantiles of noise, as `mechanisms/choosing.py`"),
    "mechanisms/median/treelog": ("needed", "noise that is compared, as `mechanisms/choosing.py`"),
    "core/bit_strings.py": ("two float32", "logarithms of numbers of elements up to 2^64"),
    "mechanisms/median/": ("two float32", "logarithms of numbers of elements up to 2^64"),
    "mechanisms/cover/lines/cuts.py": (
        "needed as integers",
        "cross products of coordinates up to 2^20 have 42 bits, "
        "larger ones several words; pairs of uint32 would need a product of their own",
    ),
    "mechanisms/cover/": (
        "partly needed",
        "cross products, as `lines/cuts.py`, and log-weights, which two float32 could hold",
    ),
    "mechanisms/": ("partly needed", "numbers of elements up to 2^64, and log-weights"),
    "baselines/": ("32-bit integers", "masses, as `concepts/`"),
}
"""By the beginning of a path, the longest that fits: what could take the place of 64-bit types, and why they are."""


def _with_memory(platform: str, gibibytes: int) -> Any:
    return SimpleNamespace(platform=platform, memory_stats=lambda: {"bytes_limit": gibibytes << 30})


class Use(NamedTuple):
    """The 64-bit equations of one function in one program: primitive -> count, for floats and for integers."""

    floats: Counter[str]
    integers: Counter[str]


def uses(name: str) -> tuple[int, dict[str, Use]]:
    """The number of equations of a learner's tile, and its uses of 64-bit types by "file:function".

    An equation that has a float64 among its operands or results counts there, and otherwise as one of integers.
    """
    program = _tile(name)
    found: dict[str, Use] = {}
    count = 0
    for equation in equations(program.jaxpr()):
        count += 1
        types = {str(getattr(one, "dtype", "")) for one in (*equation.inputs, *equation.outputs)}
        if types & (FLOATS | INTEGERS):
            use = found.setdefault(_place(equation.path, equation.function), Use(Counter(), Counter()))
            (use.floats if types & FLOATS else use.integers)[equation.primitive] += 1
    return count, found


def _tile(name: str) -> Program:
    learner, k = learner_of(name), CASES[name][1]
    task = task_for(learner.concepts)
    plan = learner.plan(Privacy(1.0, 1e-6), Accuracy(0.1, 0.1), ROWS)
    return traced(Trial(learner, k, capacity(ROWS)), task, point(bytes(8), ROWS, plan, 0.1, task))


def _place(path: str, function: str) -> str:
    """ "file:function", without the functions inside of it."""
    file = Path(path)
    inside = file.is_relative_to(_PACKAGE)
    return f"{file.relative_to(_PACKAGE) if inside else file.name}:{function.partition('.<locals>')[0]}"


def reason(place: str) -> tuple[str, str]:
    """What could take the place of the 64-bit types of a function, and why they are there."""
    fits = [start for start in REASONS if place.startswith(start)]
    if not fits:
        raise InputError("place", "a file with a reason for its 64-bit types", place, "add it to REASONS")
    return REASONS[max(fits, key=len)]


def total(found: Mapping[str, Use], floats: bool, places: Sequence[str] | None = None) -> int:
    """64-bit equations of floats or of integers, in ``places``."""
    chosen = found if places is None else {place: found[place] for place in places}
    return sum((use.floats if floats else use.integers).total() for use in chosen.values())


def row(name: str, count: int, found: Mapping[str, Use]) -> list[str | int]:
    """Of a learner: its equations, those of floats and of integers, and its own functions with floats."""
    own = {place: use.floats.total() for place, use in found.items() if use.floats and not place.startswith(SHARED)}
    named = ", ".join(f"{place} {often}" for place, often in sorted(own.items()))
    return [name, count, total(found, True), total(found, False), named]


def functions(every: Mapping[str, Mapping[str, Use]]) -> list[list[str | int]]:
    """Of each function: the largest numbers of one learner, how many learners, what could replace them, primitives."""
    rows: list[list[str | int]] = []
    for place in sorted({place for found in every.values() for place in found}):
        own = [found[place] for found in every.values() if place in found]
        floats = max(use.floats.total() for use in own)
        kinds: Counter[str] = Counter()
        for use in own:
            kinds |= use.floats
        named = ", ".join(f"{primitive} {often}" for primitive, often in kinds.most_common(6))
        integers = max(use.integers.total() for use in own)
        rows.append([place, floats, integers, len(own), reason(place)[0], named])
    return rows


DEVICES = {
    "CPU, any number of cores": SimpleNamespace(platform="cpu"),
    "GPU of 80 GiB (H100), of which JAX takes three quarters": _with_memory("gpu", 60),
    "GPU of 12 GiB, of which JAX takes three quarters": _with_memory("gpu", 9),
    "TPU of 16 GiB (v5e)": _with_memory("tpu", 16),
}
SHAPES = ((64, 1), (1024, 1), (1024, 64), (2**17, 1))


def sizes() -> list[list[str]]:
    """Trials of a block and of a tile that are chosen on each device, for some (rows, concepts)."""
    learner = learner_of("KLN")

    def cell(device: Any, rows: int, k: int) -> str:
        tile, block = tile_shape(Trial(learner, k, rows), device)
        return f"{block} of {tile}"

    return [[name, *(cell(device, *shape) for shape in SHAPES)] for name, device in DEVICES.items()]


_TOGETHER, _CAPACITIES = 32, (16, 1024)


def passes() -> list[list[Any]]:
    """Learners of several passes: how many, the memory of a trial of few and of many rows, and the chosen blocks."""

    def memory(learner: Any, k: int, rows: int) -> str:
        task = task_for(learner.concepts)
        at = point(bytes(8), rows, learner.plan(Privacy(1.0, 1e-6), Accuracy(0.1, 0.1), rows), 0.1, task)
        trials = jax.jit(jax.vmap(Trial(learner, k, rows), (0, None, None)))
        compiled = trials.lower(jax.random.split(keys.root(0), _TOGETHER), task, at).compile()
        return f"{compiled.memory_analysis().temp_size_in_bytes / _TOGETHER / 2**20:.2g}"

    def row(name: str) -> list[Any]:
        learner, k = learner_of(name), CASES[name][1]
        sizes = " / ".join(memory(learner, k, rows) for rows in _CAPACITIES)
        blocks = [
            " / ".join(str(tile_shape(Trial(learner, k, rows), device)[1]) for rows in _CAPACITIES)
            for device in DEVICES.values()
        ]
        return [name, learner.passes, f"{sizes} MiB", *blocks]

    return [row(name) for name in NAMES if getattr(learner_of(name), "passes", 1) > 1]


SUMS = (
    "add",
    "sub",
    "neg",
    "abs",
    "add_any",
    "reduce_sum",
    "cumsum",
    "scatter-add",
    "max",
    "min",
    "reduce_max",
    "reduce_min",
    "cummax",
    "cummin",
)
OF_FLOATS = {
    **dict.fromkeys(SUMS, 20),
    "mul": 25,
    "dot_general": 45,
    "div": 70,
    "sqrt": 70,
    **dict.fromkeys(("exp", "exp2", "expm1", "log", "log1p", "pow"), 450),
    **dict.fromkeys(("floor", "ceil", "round", "convert_element_type"), 6),
}
OF_INTEGERS = {
    **dict.fromkeys(SUMS, 4),
    "mul": 8,
    "dot_general": 12,
    "div": 200,
    "rem": 200,
    "sort": 3,
    **dict.fromkeys(("lt", "le", "gt", "ge", "argmax", "argmin"), 3),
    "eq": 3,
    "ne": 3,
    **dict.fromkeys(("shift_left", "shift_right_logical", "shift_right_arithmetic"), 6),
}
"""32-bit operations that one of 64 bits takes, with a number as a pair; 2 for what only moves both halves.

Floats as sums of two float32 (Dekker 1971): a sum takes 20 operations, a product 25 without fused ones, a quotient 70,
and exp or log some ten products and sums.
"""


def emulated(names: Sequence[str]) -> list[list[str]]:
    """Of each learner: operations of a block, the parts of 64-bit integers and floats, and the factor on a TPU."""
    rows = []
    for name in names:
        amounts, extended = {"": 0.0, "integer": 0.0, "float": 0.0}, 0.0
        program = _tile(name)
        for equation in equations(program.jaxpr()):
            types = {str(getattr(one, "dtype", "")) for one in (*equation.inputs, *equation.outputs)}
            kind = "float" if types & FLOATS else "integer" if types & INTEGERS else ""
            amount = equation.times * _operations(equation)
            amounts[kind] += amount
            table = {"": {}, "integer": OF_INTEGERS, "float": OF_FLOATS}[kind]
            extended += amount * table.get(equation.primitive, 2 if kind else 1)
        whole = sum(amounts.values())
        parts = [f"{amounts[kind] / whole:.2f}" for kind in ("integer", "float")]
        rows.append([name, f"{whole:.3g}", *parts, f"{extended / whole:.1f}"])
    return rows


def _operations(equation: Any) -> float:
    """Of elements: those of results, of what is reduced, of the comparisons of a sort, or of a product's sums."""
    sizes = [math.prod(getattr(one, "shape", ())) for one in (*equation.inputs[:1], *equation.outputs)]
    if equation.primitive.startswith(("reduce", "arg", "cum")):
        return max(sizes)
    if equation.primitive == "sort":
        return max(sizes) * math.log2(max(2, equation.inputs[0].shape[equation.parameters["dimension"]]))
    if equation.primitive == "dot_general":
        contracted = equation.parameters["dimension_numbers"][0][0]
        return sizes[-1] * math.prod(equation.inputs[0].shape[axis] for axis in contracted)
    return sum(sizes[1:])


def page(names: Sequence[str] = NAMES) -> str:
    """The whole page, of these learners."""
    counts, every = {}, {}
    for name in names:
        counts[name], every[name] = uses(name)
    learners = [row(name, counts[name], every[name]) for name in names]
    used = {
        max((start for start in REASONS if place.startswith(start)), key=len)
        for found in every.values()
        for place in found
        if reason(place)
    }
    reasons = [[f"`{start}`", *REASONS[start]] for start in REASONS if start in used]
    return f"""# Programs on CPUs, GPUs and TPUs: trials at once, and 64-bit types

How many trials a device computes at once, and which operations of each learner's program have 64-bit types, which are
slow on GPUs and emulated on TPUs. The program of every learner lowers for each kind of device. The last table names the
functions that have such operations, and says where they are needed.

Every learner's program lowers for NVIDIA and AMD GPUs and for TPUs, without a call of the host
(`tests/conformance/test_lowering.py`), but that of `Irreducibility`, whose lists are made there. GPUs compute in
float64, if slowly; TPUs emulate it, and 64-bit integers, with several operations of 32 bits. The tables count the
equations of each tile's program in which a 64-bit type occurs, at n = {ROWS}; those of a loop count once. Made by
`python scripts/devices.py`. `dpjax compare` counts the trials that differ between two kinds of devices, and `python -m
benchmarks --roofline` measures speed on any of them.

## Trials at once

A tile is computed in blocks, one after the other, and a block's trials at once. A block of a CPU fits the cache of a
core; on other devices it grows with the memory. The sizes are part of a result's identity. In the table, "64 of 1024"
is a block of 64 trials in tiles of 1024.

{table(("device", *(f"{rows} rows, k = {k}" for rows, k in SHAPES)), sizes())}
A learner's passes over the rows take time, which on a CPU is a reason for smaller blocks, but hardly more memory. Of
learners of several passes, the temporary memory of a trial of {_CAPACITIES[0]} / {_CAPACITIES[1]} rows (of {_TOGETHER},
compiled for a CPU), and the trials of a block:

{table(("learner", "passes", "memory of a trial", *(name.partition(",")[0] for name in DEVICES)), passes())}
## By learner

The last column names functions with float64 outside of the shared `{"`, `".join(SHARED)}`.

{table(("learner", "equations", "float64", "64-bit integers", "own functions with float64"), learners)}
## What a TPU would emulate

TPUs have no 64-bit types: XLA computes with pairs of 32-bit numbers. Counted are the operations of a block of trials on
a CPU, by elements, both branches of a condition, and once those of loops whose length depends on the data; and by how
much their number grows if a sum of 64-bit integers takes 4 operations, a product 8, one within a dot product 12, a
comparison 3, a shift 6, a quotient 200; of floats a sum 20, a product 25, one within a dot product 45, a quotient or
root 70, an exponential or logarithm 450, a rounding or conversion 6; and all else, which moves both halves, 2. No TPU
was measured.

{table(("learner", "operations", "64-bit integers", "float64", "growth"), emulated(names))}
## Which could be something else

Integers of 64 bits are exact whatever holds them: pairs of uint32, of which elements and masses already consist in
memory, give the same results. Two float32 hold 48 bits of a log-weight, which is what the laws keep of it, at several
operations each. What is needed decides a comparison that privacy rests on.

{table(("file", "instead", "what it holds"), reasons)}
## By function

The largest numbers of equations in one learner's program, the number of learners, and the most frequent operations on
float64.

{table(("function", "float64", "64-bit integers", "learners", "instead", "operations"), functions(every))}
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Traces all learners."""
    given = options(__doc__, 0, 1, arguments)
    write_page(given.out / "devices.md", page())


if __name__ == "__main__":
    main()
