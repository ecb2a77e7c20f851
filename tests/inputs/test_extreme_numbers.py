"""Extreme numbers and wrong types in every function of accounting and theory: a value without NaN, or InputError."""

import importlib
import inspect
import math
import pkgutil

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax import accounting, mechanisms, theory
from dpjax.accounting import GaussianNoise, Guarantee, LaplaceNoise
from dpjax.concepts import Domain, Points
from dpjax.core.checks import InputError
from dpjax.core.host import host
from dpjax.core.random import geometric_table
from dpjax.core.types import Neighboring

REPLACE, ADDED = Neighboring.REPLACE_ONE, Neighboring.ADD_OR_REMOVE_ONE
PART, ONE_MORE = Guarantee(0.5, 1e-7, REPLACE, "a part"), Guarantee(0.5, 1e-7, ADDED, "a part")
COVERS = Points(Domain(4)).covers(0.1, False)
ODD = (
    0,
    -1,
    2,
    0.5,
    -0.5,
    math.nan,
    math.inf,
    5e-324,
    1e-300,
    1e300,
    2**63,
    10**400,
    True,
    None,
    "1",
    [],
    np.array([]),
    np.array([0.5]),
    1j,
    object(),
    np.float16(1),
    np.float32(0.5),
    np.float64("nan"),
    np.int8(1),
    np.uint64(1),
)
# a right value for each argument, by its name
RIGHT = {
    "epsilon": 1.0,
    "delta": 1e-6,
    "alpha": 0.1,
    "beta": 0.1,
    "k": 2,
    "n": 1000,
    "rounds": 3,
    "share": 0.2,
    "rate": 0.1,
    "kappa": 0.05,
    "gamma": 0.2,
    "observed": 0.1,
    "expected": 0.2,
    "wrong": 1,
    "log_choices": 5.0,
    "draws": 2,
    "base": 0.1,
    "size": 64,
    "failure": 0.1,
    "count": 4,
    "good": 0.05,
    "goal": 0.1,
    "gap": 0.1,
    "concepts": 16,
    "dimension": 3,
    "attempts": 3,
    "eta": 0.1,
    "elements": 8,
    "length": 4,
    "number": 100.0,
    "log_concepts": 5.0,
    "rows": 8,
    "subsamples": 30,
    "neighboring": REPLACE,
    "part": 0.5,
    "tries": 3,
    "bits": 8,
    "near": 0.1,
    "log_size": 5.0,
    "levels": 3,
    "rates": (0.5, 0.5),
    "scale": 4.0,
    "length_epsilon": 0.5,
    "kept": 4,
    "fillers": 4,
    "margin": 5.0,
    "queries": 8,
    "databases": 100,
    "points": 4,
    "values": 16,
    "steps": 3,
    "functions": 16.0,
    "coefficient": 0.1,
    "records": 8,
    "choose_epsilon": 0.5,
    "choose_delta": 1e-6,
    "deep": 8,
    "t": 16,
    "walk_epsilon": 0.5,
    "test_epsilon": 0.5,
    "children": 2,
    "low": 0.0,
    "high": 1.0,
    "tried": (2, 4),
    "restrictions": lambda n: 3.0,
    "unseen": lambda n: 1.0,
    "enough": lambda *n: n[-1] >= 1,
    "covers": COVERS,
    "choices": 4,
    "target_epsilon": 1.0,
    "target_delta": 1e-6,
    "family": "optimal",
    "epsilon0": 0.5,
    "delta0": 1e-7,
    "slack": 1e-6,
    "what": "a whole",
    "parts": [PART],
    "guarantee": PART,
    "distance": 2,
    "shift": 1.0,
    "sigmas": [1.0],
    "sensitivity": 1,
    "split": "index",
    "mass": 0.1,
    "rho": 0.5,
    "runs": [(LaplaceNoise(2.0), 2)],
    "log_p": np.log([0.4, 0.6]),
    "log_q": np.log([0.5, 0.5]),
    "weights": [0.5, 0.5],
    "length_epsilon0": 0.5,
}
SLOW = {
    "hashed_sizes",
    "calibrate_set_cover",
    "set_cover_epsilon",
    "set_cover_guarantee",
    "set_cover_delta",
    "calibrate",
    "by_pld",
    "stable_points",
}
OWN = {
    "poisson": {"base": ONE_MORE},
    "slices": {"part": ONE_MORE},
    "as_replace_one": {"guarantee": ONE_MORE},
    "zcdp": {"parts": [Guarantee(0.5, 0.0, REPLACE, "a part")]},
    "failure": {"failure": lambda near: 0.01},
}


def functions():
    """(name, function) of the public functions of both rooms."""
    rooms = [accounting] + [
        importlib.import_module(f"{theory.__name__}.{found.name}") for found in pkgutil.iter_modules(theory.__path__)
    ]
    for room in rooms:
        for name, value in vars(room).items():
            if inspect.isfunction(value) and not name.startswith("_") and value.__module__.startswith(room.__name__):
                yield f"{room.__name__.rpartition('.')[2]}.{name}", value


def right_of(name, function):
    """Right values for the arguments without defaults."""
    own = OWN.get(name.rpartition(".")[2], {})
    given = {}
    for argument in inspect.signature(function).parameters.values():
        if argument.default is argument.empty or argument.name in own:
            value = own.get(argument.name, RIGHT.get(argument.name))
            if (
                argument.name in ("part", "base")
                and "Guarantee" in str(argument.annotation)
                and argument.name not in own
            ):
                value = PART
            given[argument.name] = value
    return given


def has_nan(value):
    if isinstance(value, tuple):
        return any(map(has_nan, value))
    return isinstance(value, float | np.ndarray) and bool(np.isnan(value).any())


ALL = dict(functions())


def slow(name):
    return name.rpartition(".")[2] in SLOW or name.startswith("packing.")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if slow(name) else ()) for name in sorted(ALL)]
)
def test_extreme_numbers_give_a_value_or_are_refused(name):
    function, seen = ALL[name], []
    given = right_of(name, function)
    for argument in inspect.signature(function).parameters:
        for odd in ODD:
            try:
                found = function(**{**given, argument: odd})
            except InputError:
                continue
            if has_nan(found):
                seen.append((argument, odd, "NaN"))
    assert not seen


def test_the_functions_of_both_rooms_are_found():
    assert len(ALL) > 100
    assert {"accounting.optimal_delta", "kln.realizable", "sanitizers.mwem"} <= set(ALL)


def test_events_at_the_ends_of_float64():
    """Their composition is refused where it cannot be computed."""
    for make in (LaplaceNoise, GaussianNoise):
        for scale, sensitivity in ((1e-300, 1e300), (1e300, 1e-300), (5e-324, 1.0), (math.nan, 1.0), (0, 1.0)):
            with pytest.raises(InputError):
                make(scale, sensitivity)
    with pytest.raises(InputError, match="privacy loss"):
        accounting.by_pld([(GaussianNoise(1e-9), 1)], 1e-6)
    with pytest.raises(InputError, match="privacy loss"):
        accounting.by_pld([(LaplaceNoise(1.0), 1)], 1e-6, step=1e-300)
    with pytest.raises(InputError):
        accounting.optimal_delta(0.1, 2**31, 1.0)
    assert accounting.by_pld([(LaplaceNoise(1.0), 2)], 1e-6).epsilon == pytest.approx(2, rel=1e-3)


def test_noise_far_below_one_is_none():
    """The digits of a geometric variable at a scale near 0, with any number of them, are all 0."""
    law = mechanisms.discrete_laplace_mechanism(jnp.int32(5), 1e30, sensitivity=1)
    assert law.sample(jax.random.key(0)) == 5
    for scale in (1e-300, 1e-30, 1e-3):
        table = geometric_table(scale, 31)
        assert not np.asarray(table.digits).any() and not np.asarray(table.nonzero).any()


ODD_SCORES = ([np.nan, 1.0], [np.inf, 0.0], [-np.inf, 0.0], ["a", "b"], [1j, 0], [None, 1], [[1], [1, 2]])


@pytest.mark.parametrize("scores", ODD_SCORES, ids=str)
@pytest.mark.parametrize("name", ["exponential", "permute_and_flip", "choosing", "stability"])
def test_scores_that_are_no_finite_numbers_are_refused(name, scores):
    more = {"delta": 0.1} if name in ("choosing", "stability") else {}
    with pytest.raises(InputError):
        getattr(mechanisms, name)(scores, epsilon=1.0, **more)
    if np.asarray(scores, object).ndim == 1 and isinstance(scores[0], float):
        with pytest.raises(InputError):
            getattr(mechanisms, name)(jnp.asarray(scores), epsilon=1.0, **more)


def test_values_that_are_no_finite_numbers_are_refused():
    for value in (np.nan, np.inf, jnp.nan, [np.inf], "x", None, jax.random.key(0)):
        with pytest.raises(InputError):
            mechanisms.laplace_mechanism(value, 1.0, sensitivity=1)
    assert mechanisms.laplace_mechanism(jnp.bfloat16(1), 1.0, sensitivity=1).sample(jax.random.key(0)).shape == ()


def test_what_an_annotation_asks_for():
    @host
    def half(number: float, times: int = 1, names: tuple[str, ...] = ()) -> float:
        return number / 2**times if number > -1 else math.sqrt(number)

    assert half(np.float32(3), np.int8(1)) == 1.5 and type(half(np.float32(3))) is float
    for wrong in (("x",), (math.nan,), (1.0, 1.5), (1.0, True), (1.0, 1, (2,)), (1.0, 1, "a"), (-2.0,)):
        with pytest.raises(InputError):
            half(*wrong)
    with pytest.raises(TypeError):
        half()
    with pytest.raises(TypeError):
        half(1.0, 1, (), 5)
