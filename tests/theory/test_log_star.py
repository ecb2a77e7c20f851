"""The iterated logarithm, at the ends of its steps."""

import math

import pytest

from dpjax.core.checks import InputError
from dpjax.theory.log_star import log_star


def test_towers_of_two():
    towers = [1, 2, 4, 16, 65536, 2**65536]
    assert [log_star(tower) for tower in towers] == list(range(6))
    assert [log_star(tower + 1) for tower in towers] == list(range(1, 7))
    assert log_star(0) == log_star(0.5) == 0 and log_star(2.5) == 2 and log_star(1e308) == 5


def test_it_is_the_definition():
    for number in (*range(1, 300), 1e9, 7.5):
        steps, left = 0, float(number)
        while left > 1:
            steps, left = steps + 1, math.log2(left)
        assert log_star(number) == steps


@pytest.mark.parametrize("wrong", [-1, float("nan"), float("inf"), "8", True])
def test_what_has_no_logarithm(wrong):
    with pytest.raises(InputError):
        log_star(wrong)
