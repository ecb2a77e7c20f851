"""Nonsense for every argument of the calls that a notebook makes: each is InputError, or means what it says."""

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jax
import numpy as np

import dpjax as dp
from dpjax.experiments.results.comparisons import pairs
from dpjax.experiments.statistics.paired_difference import difference
from dpjax.experiments.statistics.sequential_search import geometric_grid
from dpjax.learners.representations import PointBuckets
from dpjax.sanitizers import Hierarchy, PointCounts


class Odd:
    """An object of a person's own."""


DOMAIN = dp.Domain(16)
POINTS, THRESHOLDS, TREE = dp.Points(DOMAIN), dp.Thresholds(DOMAIN), dp.Tree.of_parents([0, 0, 1])
TASK, KLN = dp.Task(POINTS, dp.uniform(DOMAIN)), dp.KLN(POINTS)
PRIVACY, ACCURACY = dp.Privacy(1.0), dp.Accuracy(0.1, 0.1)
KEY, PLAN = jax.random.key(0), KLN.plan(PRIVACY, ACCURACY)
JUNK = (
    None,
    "",
    "x",
    "1",
    -1,
    math.nan,
    math.inf,
    True,
    1.5,
    (),
    {},
    Odd(),
    Odd,
    np.array([1, 2]),
    2**70,
    1 + 2j,
    np.float64("nan"),
    b"x",
    len,
)
CALLS: tuple[tuple[Callable[..., Any], dict[str, Any]], ...] = (
    (dp.Domain, {"size": 16}),
    (dp.Points, {"domain": DOMAIN}),
    (dp.Thresholds, {"domain": DOMAIN}),
    (dp.Parities, {"dimension": 8}),
    (dp.Conjunctions, {"dimension": 8}),
    (dp.Disjunctions, {"dimension": 8}),
    (dp.Stumps, {"dimension": 8}),
    (dp.ConvexPolygons, {"d": 16, "edges": 4}),
    (dp.Unions, {"d": 16, "triangles": 2}),
    (dp.Finite.of, {"matrix": np.eye(3, dtype=bool)}),
    (dp.Tree.of_class, {"matrix": np.tri(3, dtype=bool)}),
    (dp.uniform, {"domain": DOMAIN}),
    (dp.heavy, {"domain": DOMAIN, "atoms": 2, "mass": 0.2}),
    (dp.zipf, {"domain": DOMAIN, "support": 4, "exponent": 1.0}),
    (dp.UniformCube, {"dimension": 4}),
    (dp.UniformPlane, {"d": 16}),
    (dp.KLN, {"concepts": POINTS}),
    (dp.PointLearner, {"concepts": POINTS}),
    (dp.StablePoints, {"concepts": POINTS}),
    (dp.StableNodes, {"concepts": dp.Tree.of_parents([0, 0, 1])}),
    (dp.ParityLearner, {"concepts": dp.Parities(8)}),
    (dp.Independent, {"learner": KLN, "k": 2, "composition": "optimal"}),
    (dp.GenericLearner, {"concepts": POINTS, "k": 2, "sanitizer": PointCounts(DOMAIN)}),
    (dp.Boosted, {"learner": KLN, "gamma": 0.2, "composition": "optimal"}),
    (dp.Confident, {"learner": KLN, "failure": 0.2, "ratio": 0.5}),
    (dp.HashedPoints, {"concepts": POINTS, "k": 2}),
    (dp.PointSets, {"domain": DOMAIN, "ones": 2, "bits": 2}),
    (PointBuckets, {"concepts": POINTS, "tries": 2, "bits": 2}),
    (dp.RepresentationLearner, {"representation": PointBuckets(POINTS), "calibration": "printed"}),
    (dp.ThresholdMedian, {"concepts": THRESHOLDS}),
    (dp.ImproperVC1, {"concepts": TREE, "method": "exponential"}),
    (dp.ProperVC1, {"concepts": TREE, "method": "exponential"}),
    (dp.ERM, {"concepts": POINTS}),
    (dp.ConjunctionLearner, {"concepts": dp.Conjunctions(8), "literals": 2}),
    (dp.PolygonLearner, {"concepts": dp.ConvexPolygons(16, 4)}),
    (dp.UnionLearner, {"concepts": dp.Unions(16, 2)}),
    (Hierarchy, {"levels": 4, "bits": 8}),
    (dp.Task, {"concepts": POINTS, "distribution": dp.uniform(DOMAIN), "targets": [1, 2], "noise": 0.1}),
    (
        dp.Study,
        {
            "task": TASK,
            "learners": {"a": KLN},
            "k": 1,
            "epsilon": 1.0,
            "delta": 1e-6,
            "accuracy": ACCURACY,
            "n": [20],
            "trials": 8,
            "points": 3,
            "fit_from": 1,
            "seed": 0,
            "search": dp.Search(),
        },
    ),
    (dp.Search, {"n_min": 4, "n_max": 100, "gamma": 0.1, "confidence": 0.9, "most_trials": 500}),
    (TASK.draw, {"key": KEY, "n": 5, "k": 1, "capacity": 16}),
    (KLN.plan, {"privacy": PRIVACY, "accuracy": ACCURACY}),
    (KLN.sample_size, {"privacy": PRIVACY, "accuracy": ACCURACY}),
    (KLN.guarantee, {"plan": PLAN}),
    (KLN.learn, {"key": KEY, "sample": TASK.draw(KEY, 5)[0], "plan": PLAN}),
    (dp.keys.root, {"seed": 0}),
    (dp.database, {"domain": DOMAIN, "values": [1, 2], "labels": [0, 1], "capacity": 4}),
    (geometric_grid, {"low": 4, "high": 100, "ratio": 1.2}),
    (difference, {"first": 1, "second": 2, "both": 3, "trials": 10, "confidence": 0.9}),
    (partial(pairs, []), {"between": "n"}),
    (dp.Result, {"data": {}}),
    (dp.Result.load, {"path": "."}),
)


def cases() -> Iterator[tuple[str, str, Any, Callable[[], Any]]]:
    """(name of the call, of the argument, nonsense, the call)."""
    for function, arguments in CALLS:
        for name, right in arguments.items():
            for junk in JUNK:
                if junk is not right:
                    made = {**arguments, name: junk}
                    yield (
                        getattr(function, "__qualname__", "pairs"),
                        name,
                        junk,
                        lambda made=made, function=function: function(**made),
                    )


WELCOME = {
    ("Domain", "size"): [2**70],
    ("Task", "targets"): [None, "array"],
    ("Study", "k"): ["array"],
    ("Study", "n"): ["array"],
    ("Study", "epsilon"): [1.5, 2**70, "array"],
    ("Study", "search"): [None],
    ("Task.draw", "capacity"): [None],
    ("Independent", "k"): [2**70],
    ("GenericLearner", "k"): [2**70],
    ("HashedPoints", "k"): [2**70],
    ("PointBuckets", "tries"): [None],
    ("PointBuckets", "bits"): [None],
    ("Hierarchy", "levels"): [None],
    ("database", "values"): ["array"],
    ("database", "capacity"): [None],
    ("geometric_grid", "high"): [2**70],
    ("geometric_grid", "ratio"): [1.5, 2**70],
    ("zipf", "exponent"): [1.5, 2**70],
}
"""What is no nonsense after all: sample sizes and targets as arrays, "choose for me", and large numbers."""


def welcome(call: str, argument: str, given: Any) -> bool:
    """Whether it means something there."""
    shown = "array" if isinstance(given, np.ndarray) and given.ndim else given
    return any(shown is one or (type(shown) is type(one) and shown == one) for one in WELCOME.get((call, argument), ()))
