"""The package's front door: every mechanism states its privacy, its utility and its source."""

import inspect

import pytest

from dpjax import mechanisms
from dpjax.accounting.guarantee import Guarantee
from dpjax.core.types import Privacy

GUARANTEES = {
    "above_threshold_guarantee": {},
    "choosing_guarantee": {"delta": 1e-6},
    "discrete_laplace_mechanism_guarantee": {"sensitivity": 1},
    "exponential_guarantee": {},
    "gaussian_mechanism_guarantee": {"sensitivity": 1},
    "laplace_mechanism_guarantee": {"sensitivity": 1},
    "permute_and_flip_guarantee": {},
    "randomized_response_guarantee": {},
    "revealing_randomized_response_guarantee": {"delta": 1e-6},
    "sparse_selection_guarantee": {"delta": 1e-6, "length": 3},
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
    budget, delta = 1.0, GUARANTEES[name].get("delta", 0.0)
    if name.startswith("gaussian"):
        budget, delta = mechanisms.gaussian_plan(Privacy(1.0, 1e-6), sensitivity=1), 1e-6
    guarantee = getattr(mechanisms, name)(budget, **GUARANTEES[name])
    assert isinstance(guarantee, Guarantee)
    assert (guarantee.epsilon, guarantee.delta) == pytest.approx((1.0, delta), rel=1e-6)
    assert guarantee.epsilon <= 1 and guarantee.delta <= delta
    assert guarantee.source in str(guarantee)


@pytest.mark.parametrize("name", sorted(name for name in exported() if not name.endswith(("_guarantee", "_plan"))))
def test_every_mechanism_states_its_privacy(name):
    text = inspect.getdoc(getattr(mechanisms, name))
    assert "Privacy:" in text
    assert "Reference:" in text
