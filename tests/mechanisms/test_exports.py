"""The package's front door: every mechanism states its privacy, its utility and its source."""

import inspect

import pytest

from dpjax import mechanisms
from dpjax.accounting.guarantee import Guarantee

GUARANTEES = {
    "above_threshold_guarantee": {},
    "choosing_guarantee": {"delta": 1e-6},
    "discrete_laplace_mechanism_guarantee": {"sensitivity": 1},
    "exponential_guarantee": {},
    "laplace_mechanism_guarantee": {"sensitivity": 1},
    "permute_and_flip_guarantee": {},
    "randomized_response_guarantee": {},
    "revealing_randomized_response_guarantee": {"delta": 1e-6},
    "sparse_vector_guarantee": {"count": 2},
    "stability_guarantee": {"delta": 1e-6},
    "stability_histogram_guarantee": {"delta": 1e-6},
}


def exported():
    return {name: f for name, f in vars(mechanisms).items() if inspect.isfunction(f)}


def test_every_guarantee_is_listed_here():
    assert {name for name in exported() if name.endswith("_guarantee")} == set(GUARANTEES)


@pytest.mark.parametrize("name", sorted(GUARANTEES))
def test_guarantees_spend_what_they_are_asked_to(name):
    guarantee = getattr(mechanisms, name)(1.0, **GUARANTEES[name])
    assert isinstance(guarantee, Guarantee)
    assert (guarantee.epsilon, guarantee.delta) == (1.0, GUARANTEES[name].get("delta", 0.0))
    assert guarantee.source in str(guarantee)


@pytest.mark.parametrize("name", sorted(name for name in exported() if not name.endswith("_guarantee")))
def test_every_mechanism_states_its_privacy(name):
    text = inspect.getdoc(getattr(mechanisms, name))
    assert "Privacy:" in text
    assert "Reference:" in text
