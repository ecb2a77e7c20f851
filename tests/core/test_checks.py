"""Validators of the host: what passes, what is refused, and that the message helps."""

import math
import pickle

import numpy as np
import pytest

import dpjax as dp
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.files import StoreError
from dpjax.core.user_code import UserCodeError


def test_the_message_says_what_where_and_what_to_do():
    error = InputError("epsilon", "a number > 0", "-1", "choose 1.0")
    assert isinstance(error, ValueError)
    assert str(error) == "epsilon: expected a number > 0, got -1; choose 1.0"
    assert (error.name, error.expected, error.given, error.advice) == ("epsilon", "a number > 0", "-1", "choose 1.0")


@pytest.mark.parametrize("kind", [InputError, checks.NoTheoremError, StoreError])
def test_a_message_of_ones_own(kind):
    error = kind("no theorem for 7 rows")
    assert str(error) == error.name == "no theorem for 7 rows" and error.expected == ""
    assert str(InputError(f"KLN: {error.name}", error.expected, error.given, error.advice)) == f"KLN: {error}"


def test_errors_reach_another_process():
    """pickle calls the constructor with the message alone."""
    parts = checks.NoTheoremError("n", "many", "few", "take more")
    try:
        raise KeyError("ours")
    except KeyError as error:
        fault = UserCodeError("your code", error)
    for one in (parts, StoreError("a message"), fault):
        again = pickle.loads(pickle.dumps(one))
        assert str(again) == str(one) and vars(again) == vars(one) and isinstance(again, InputError)
    assert type(pickle.loads(pickle.dumps(parts))) is checks.NoTheoremError


NOT_NUMBERS = [math.nan, math.inf, -math.inf, "1", None, True, 1j, [1.0], np.array([1.0])]


@pytest.mark.parametrize(
    "check", [lambda v: checks.number("x", v), checks.epsilon, checks.delta, lambda v: checks.probability("alpha", v)]
)
@pytest.mark.parametrize("value", NOT_NUMBERS, ids=repr)
def test_only_finite_numbers_are_numbers(check, value):
    with pytest.raises(InputError):
        check(value)


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (lambda v: checks.number("x", v), [0, -3, 1.5, 1e300, np.float64(2.0)], []),
        (checks.epsilon, [1e-300, 1, 0.5, 1e9], [0, 0.0, -0.1]),
        (checks.delta, [0, 0.0, 1e-300, 0.999], [1, 1.0, -1e-9, 2]),
        (lambda v: checks.delta(v, positive_for="A_dist"), [1e-12, 0.5], [0, 0.0, 1]),
        (lambda v: checks.probability("alpha", v), [1e-12, 0.5, 1 - 1e-12], [0, 1, 0.0, 1.0, -0.5]),
    ],
)
def test_ranges(check, good, bad):
    for value in good:
        result = check(value)
        assert type(result) is float and result == value
    for value in bad:
        with pytest.raises(InputError):
            check(value)


def test_the_names_of_parameters_are_in_the_message():
    with pytest.raises(InputError, match=r"^epsilon0: expected a number > 0, got -2"):
        checks.epsilon(-2, "epsilon0")
    with pytest.raises(InputError, match="for A_dist"):
        checks.delta(0, positive_for="A_dist")
    with pytest.raises(InputError, match=r"^beta: "):
        checks.probability("beta", 1)


def test_integers():
    for value, low, high in ((0, 0, None), (5, 1, 5), (2**64, 1, 2**64), (-3, -3, None)):
        assert checks.integer("n", value, low, high) == value
    for value, low, high in ((0, 1, None), (6, 1, 5), (1.0, 0, None), (True, 0, None), ("3", 0, None), (None, 0, 9)):
        with pytest.raises(InputError, match=r"^n: expected a whole number"):
            checks.integer("n", value, low, high)


def test_choices_suggest_the_nearest_names():
    assert checks.choice("learner", "kln", ["kln", "points"]) == "kln"
    with pytest.raises(InputError, match="did you mean points"):
        checks.choice("learner", "point", ["kln", "points"])
    with pytest.raises(InputError, match="take one of these"):
        checks.choice("learner", "zzzzzz", ["kln", "points"])
    with pytest.raises(InputError, match="one of kln, points"):
        checks.choice("learner", 3, ["points", "kln"])


def test_of_names_that_differ_in_case_the_closest_is_suggested():
    for word, near in (("Threshold", "Thresholds"), ("threshold", "thresholds"), ("THRESHOLDS", "Thresholds")):
        with pytest.raises(InputError, match=f"did you mean {near}[?]"):
            checks.choice("class", word, ["Points", "Thresholds", "thresholds"])


def test_arguments_that_a_constructor_does_not_have_are_the_persons_mistake():
    points = dp.Points(dp.Domain(4))
    task = dp.Task(points, dp.uniform(points.domain))
    for make, words in (
        (lambda: dp.Study(task, [dp.KLN(points)], eps=1), r"Study\(...\): .*'eps'; did you mean epsilon"),
        (lambda: dp.Study(task), "Study.*missing 1 required"),
        (lambda: dp.Privacy(epsilon=1, delt=0.1), r"Privacy\(...\): .*did you mean delta"),
        (lambda: dp.Accuracy(0.1, beta_=0.1), "did you mean beta"),
        (lambda: dp.Search(nmax=4), "did you mean n_max"),
        (lambda: dp.Task(points, dp.uniform(points.domain), noises=0.1), "Task.*did you mean noise"),
        (lambda: dp.Measure(trails=4), "did you mean trials"),
        (lambda: dp.Privacy(1, 2, 3), "Privacy.*give each argument once"),
    ):
        with pytest.raises(InputError, match=words):
            make()


@pytest.mark.parametrize(
    ("word", "hint"), [("kln", "did you mean KLN[?]"), ("Klm", "did you mean KLN[?]"), ("zzz", "take one")]
)
def test_near_names_do_not_depend_on_case(word, hint):
    with pytest.raises(InputError, match=hint):
        checks.choice("learner", word, ["KLN", "ParityLearner", "Independent"])
