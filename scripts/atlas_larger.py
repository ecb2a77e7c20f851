"""Classes on 5 to 8 points: brackets of n* from the atlas' certificates below and from dpjax's own learners above."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from atlas_data import ALPHA, BETA, record, shown
from pages import table

from dpjax.advice.candidates import candidates
from dpjax.advice.collection import Program
from dpjax.attacks.optimum.tiny import Matrix, rows_of
from dpjax.concepts import Finite
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Privacy
from dpjax.dimensions import families
from dpjax.dimensions.summary import summary

POINTS = (5, 6)
RANDOM = ((1, 1), (1, 2), (2, 2), (2, 3), (3, 3))  # VC and Littlestone dimension
_CONCEPTS = 10  # at most, of a random class
_SEEDS = 10_000


def larger_classes() -> Iterator[tuple[str, Matrix]]:
    """Families on 5 and 6 points, parities of 3 bits, and random classes of given dimensions, by name."""
    for points in POINTS:
        some: list[tuple[str, Any]] = [
            ("thresholds", families.thresholds(points)),
            ("points", families.points(points)),
            ("pairs of points", families.points(points, 2)),
            ("intervals", families.intervals(points)),
            ("all functions", families.points(points, points, exactly=False)),
        ]
        yield from ((f"{name} on {points} points", rows_of(one)) for name, one in some)
        for vc, littlestone in RANDOM:
            seed, one = random_class(points, vc, littlestone)
            yield f"random, VC {vc}, LD {littlestone}, {points} points, seed {seed}", one
    yield "parities of 3 bits", rows_of(families.parities(3))


def random_class(points: int, vc: int, littlestone: int) -> tuple[int, Matrix]:
    """(The first seed, its class of at most `_CONCEPTS` random functions) with these dimensions."""
    for seed in range(_SEEDS):
        generator = np.random.default_rng(seed)
        size = generator.integers(2, _CONCEPTS + 1)
        functions = generator.choice(1 << points, size, replace=False)
        one = rows_of(functions[:, None] >> np.arange(points) & 1)
        values = {dimension.name: dimension.lower for dimension in summary(np.array(one), 60.0)}
        if (values["VC dimension"], values["Littlestone dimension"]) == (vc, littlestone):
            return seed, one
    raise InputError("dimensions", "some that a class has", f"VC {vc}, LD {littlestone}", "take others")


def sizes(matrix: Matrix, privacy: Privacy) -> Iterator[tuple[int, str]]:
    """(The rows that a learner of dpjax plans for a class, its name)."""
    for one in candidates(Finite.of(matrix), 1):
        if one.learner is not None:
            with suppress(InputError):  # it spends delta, or has no theorem here
                yield one.learner.sample_size(privacy, Accuracy(ALPHA, BETA)), type(one.learner).__name__


def larger_records(programs: Sequence[Program], epsilons: Iterable[float]) -> list[dict[str, Any]]:
    """A record of each class, with its family and the plan with the fewest rows for each epsilon."""
    found, epsilons = [], list(epsilons)
    for name, matrix in larger_classes():
        plans = {epsilon: min(sizes(matrix, Privacy(epsilon)), default=None) for epsilon in epsilons}
        found.append(record(matrix, programs) | {"family": name, "planned": plans})
    return found


def larger_table(records: Sequence[dict[str, Any]], short: Sequence[str]) -> str:
    """Of the page, with the dimensions that are named."""
    some = sorted(records[0]["planned"])
    dimensions = [[round(2 ** one["log2 size"]), *(one[name] for name in short)] for one in records]
    rows = [
        [one["family"], *numbers, *(shown(one, e) for e in some)]
        for one, numbers in zip(records, dimensions, strict=True)
    ]
    return table(("class", "concepts", *short, *(f"epsilon {epsilon:g}" for epsilon in some)), rows)
