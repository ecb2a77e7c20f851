import pytest

from dpjax.core.checks import InputError
from dpjax.experiments import config, sweep


def test_whole_numbers_as_people_write_them():
    assert config.parse({"problem": {"domain_size": "2**32 - 1"}}).problem.domain_size == 2**32 - 1
    assert config.parse({"search": {"n_max": 1e4}}).search.n_max == 10_000


@pytest.mark.parametrize("text", ["__import__('os')", "2**(10**9)", "2**-1", "x", "1.5", "2**32 if 1 else 0"])
def test_an_expression_is_not_code(text):
    with pytest.raises(InputError):
        config.parse({"problem": {"domain_size": text}})


def test_equal_by_value():
    assert config.parse({"seed": 3}) == config.parse({"seed": 3})
    assert hash(config.parse({})) == hash(config.Curve())


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"sweep": {"epsilo": [1.0]}}, "did you mean epsilon"),
        ({"swep": {}}, "did you mean sweep"),
        ({"sweep": {"k": ["a"]}}, "sweep.k.0"),
        ({"problem": {"concepts": "circles"}}, "problem.concepts"),
    ],
)
def test_misspelt_keys_and_wrong_types_are_named(data, words):
    with pytest.raises(InputError, match=words):
        config.parse(data)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"sweep": {"epsilon": [0.0]}}, "sweep.epsilon: expected a number > 0, got 0.0"),
        ({"sweep": {"epsilon": [-1.0]}}, "sweep.epsilon"),
        ({"sweep": {"epsilon": [float("nan")]}}, "finite"),
        ({"sweep": {"epsilon": [float("inf")]}}, "finite"),
        ({"sweep": {"epsilon": []}}, "at least one"),
        ({"sweep": {"epsilon": [1.0, 1.0]}}, "each value once"),
        ({"sweep": {"delta": 1.0}}, "sweep.delta"),
        ({"sweep": {"delta": -1e-9}}, "sweep.delta"),
        ({"sweep": {"delta": 0.0}}, "delta: expected a number in .0, 1. for PointLearner"),
        ({"sweep": {"beta": 1.0}}, "sweep.beta"),
        ({"sweep": {"alpha": 0.0}}, "sweep.alpha"),
        ({"sweep": {"n": [0]}}, "sweep.n"),
        ({"sweep": {"n": [2**20 + 1]}}, "at most 1048576 rows"),
        ({"search": {"n_max": 2**21}}, "at most 1048576 rows"),
        ({"sweep": {"k": [0]}}, "sweep.k"),
        ({"sweep": {"trials": 0}}, "sweep.trials"),
        ({"sweep": {"learners": ["piont"]}}, "did you mean point"),
        ({"sweep": {"learners": ["no.such.module:build"]}}, "module:callable"),
        ({"sweep": {"learners": ["median-basic"]}}, "Thresholds"),
        ({"problem": {"distribution": "unifrm"}}, "did you mean uniform"),
        ({"problem": {"mass": 0.3}}, "less than 1/4"),
        ({"problem": {"domain_size": 2**64 + 1}}, "domain_size"),
        ({"search": {"enabled": False}}, "there is no search"),
        ({"seed": -1}, "seed"),
    ],
)
def test_numbers_that_make_no_sense_are_refused_before_anything_runs(data, words):
    with pytest.raises(InputError, match=words):
        sweep.lines(config.parse(data))


def test_every_line_has_its_theorem():
    lines = sweep.lines(config.parse({"sweep": {"k": [1, 16], "epsilon": [0.5, 1.0]}}))
    assert len(lines) == 4 * 2 * 2
    assert all(line.theorem() >= 1 for line in lines)
