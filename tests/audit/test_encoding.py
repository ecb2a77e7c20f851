"""How outputs of code on the host become features: nothing that differs becomes one outcome."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from dpjax import audit
from dpjax.accounting import Guarantee
from dpjax.audit.outputs.encoding import Encoding, Raised
from dpjax.core.types import Neighboring, Privacy

CLAIM, PRIVACY = Guarantee(1.0, 0.0, Neighboring.REPLACE_ONE, "host"), Privacy(1.0, 0.0)
PAIRS = [(np.array([0, 1]), np.array([0, 0]))]


@dataclass
class Answer:
    count: int
    name: str


DIFFERENT = [
    0,
    1,
    0.5,
    -0.0,
    np.nan,
    np.inf,
    -np.inf,
    1e300,
    2**53,
    2**53 + 1,
    2**63,
    2**70,
    1 + 2.0**-50,
    None,
    "yes",
    "no",
    b"yes",
    "1",
    [],
    [1],
    [1, 2],
    [2, 1],
    (1, "a"),
    (1, "b"),
    {"a": 1},
    {"b": 1},
    {"a": 1, "b": 2},
    {"a": None},
    [[1], [2, 3]],
    np.zeros(2),
    np.zeros(3),
    np.zeros((2, 1)),
    np.array(["a", "b"]),
    np.array([1.0, None], object),
    1 + 2j,
    np.ma.masked_array([1, 2], [False, True]),
    np.ma.masked_array([1, 2], [True, False]),
    {1, 2},
    Answer(1, "a"),
    Answer(1, "b"),
    np.datetime64("2020-01-01"),
    pd.DataFrame({"a": [1.0, 2.0]}),
    pd.DataFrame({"b": [1.0, 2.0]}),
    pd.DataFrame({"a": [1.0, 2.0]}, index=[5, 6]),
    pd.Series([1.0, 2.0]),
    pd.Series([1.0, 2.0], index=["x", "y"]),
    Raised(ValueError(), 0),
    Raised(KeyError(), 0),
]


@pytest.mark.parametrize("example", [0.0, None, [1, 2], {"a": 1}])
def test_outputs_that_differ_have_codes_that_differ(example):
    encoding = Encoding([example])
    codes = encoding.read(DIFFERENT)[0]
    assert len({*codes.tolist()}) == len(DIFFERENT)
    assert codes.tolist() == [int(encoding.read([one])[0][0]) for one in DIFFERENT], "alone as among others"


@pytest.mark.parametrize(
    "same",
    [
        [1, 1.0, np.float32(1), np.int64(1), True, np.array(1)],
        [np.nan, -np.nan, np.float32("nan")],
        [[1, 2], (1, 2), np.array([1.0, 2.0])],
        [Raised(ValueError("a"), 1), Raised(ValueError("b"), 2)],
    ],
)
def test_equal_outputs_have_one_code(same):
    encoding = Encoding([same[0]])
    assert len({int(encoding.read([one])[0][0]) for one in same}) == 1


def test_numbers_are_centered_where_float32_would_merge_them():
    draws = 1.7e9 + np.random.default_rng(0).laplace(scale=6, size=1000)
    near, plain = Encoding(draws[:8].tolist()), Encoding((draws[:8] - 1.7e9).tolist())
    numbers = near.read(draws.tolist())[1][:, 0]
    assert len(np.unique(numbers)) > 990 and len(np.unique(np.float32(draws))) < 5
    assert np.allclose(near.naming.center[0] + numbers, draws, rtol=0, atol=1e-5)
    assert plain.naming.center[0] == 0, "small numbers stay as they are"
    assert float(near.naming.number(0, numbers[3])) == pytest.approx(draws[3], abs=1e-5), "as many digits as it needs"
    codes, merged = near.read([0.0, *draws])
    assert near.merged(codes, merged) == "", "one far value takes no precision from the others"


def test_what_rounding_merges_is_said():
    encoding = Encoding([0.0, 1e12] * 4)
    codes, numbers = encoding.read([*(1e12 + np.arange(50.0)), 0.0])
    assert len(np.unique(codes)) == 51
    assert encoding.merged(codes, numbers).startswith("of 51 different outputs of the training, float32 keeps 2 apart")


def report_of(function, **how):
    target = audit.from_function(function, CLAIM, PAIRS, randomness="generator", **how)
    return audit.statistical(target, PRIVACY, trials=2000)


def failing(data, rng):
    if data.sum() and rng.random() < 0.5:
        raise ValueError("a negative count")
    return float(rng.integers(3))


@pytest.mark.parametrize(
    ("function", "names"),
    [
        (lambda data, rng: np.nan if data.sum() and rng.random() < 0.5 else float(rng.integers(3)), "nan"),
        pytest.param(
            lambda data, rng: None if data.sum() and rng.random() < 0.5 else float(rng.integers(3)),
            "None",
            marks=pytest.mark.slow,
        ),
        (failing, "raised ValueError"),
        (lambda data, rng: ["low", "high"][int(data.sum() and rng.random() < 0.5)], "output is 'low'"),
    ],
)
def test_what_happens_on_one_neighbor_only_is_a_leak(function, names):
    report = report_of(function)
    assert report.violated and report.epsilon_found > 4
    assert names in f"{report.details['event']} {report.details['event_outputs']}", report
    assert ("raised" in report.details) == (function is failing)
    assert "a negative count, for example with the seed" in report.details.get(
        "raised", "a negative count, for example with the seed"
    )


def test_a_leak_in_large_numbers_is_found():
    """Scale 6 at sensitivity 10, around the seconds since 1970: epsilon 1.67."""
    report = report_of(lambda data, rng: 1.7e9 + 10 * float(data.sum()) + rng.laplace(scale=6))
    assert report.violated and 1.4 < report.epsilon_found < 1.67
    assert "170000000" in report.details["event"]


def test_fields_are_named():
    report = report_of(lambda data, rng: {"who": "a", "mean": data.sum() + rng.laplace(scale=0.2), "n": 2})
    assert report.violated and "output['mean'] >=" in report.details["event"]
    assert report.details["read"] == "by its form and text, and by its numbers output['mean'], output['n']"


def with_words(data, seed):
    """Numbers that never repeat beside words that say which database it is, sometimes."""
    rng = np.random.default_rng(seed)
    told = data.sum() == 1 and rng.random() < 0.3
    mean = float(data.sum() + rng.laplace())
    return {
        "text": {"note": "x" if told else "y", "mean": mean},
        "none": {"note": None if told else "y", "mean": mean},
        "list": ["x" if told else "y", mean],
        "texts": ["x" if told else "y", str(mean)],
        "table": pd.DataFrame({"note": ["x" if told else "y"], "mean": [mean]}),
    }


@pytest.mark.parametrize(
    "kind", ["text", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("table", "none", "list", "texts"))]
)
def test_words_beside_numbers_that_never_repeat_are_events(kind):
    """The leak is in the words alone: the numbers keep the claim."""
    found = audit.from_function(lambda data, seed: with_words(data, seed)[kind], CLAIM, PAIRS)
    report = audit.statistical(found, PRIVACY, trials=1000)
    assert report.violated and " is " in str(report.details["event"])
    honest = audit.from_function(lambda data, seed: with_words(0 * data, seed)[kind], CLAIM, PAIRS)
    assert not audit.statistical(honest, PRIVACY, trials=1000).violated
