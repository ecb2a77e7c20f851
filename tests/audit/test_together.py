"""Many audits at once."""

import pytest

from dpjax import audit, evidence
from dpjax.core.checks import InputError
from dpjax.core.types import Privacy


def test_seeds_are_those_of_names():
    names = [f"row {number}" for number in range(1000)]
    seeds = {audit.seed_of(name, 0) for name in names}
    assert len(seeds) == 1000 and max(seeds) < 2**32
    assert audit.seed_of("laplace", 7) == audit.seed_of("laplace", 7) != audit.seed_of("laplace", 8)
    with pytest.raises(InputError, match="seed"):
        audit.seed_of("laplace", -1)


def test_levels_add_up():
    each = audit.confidence_of_each(0.95, 50)
    assert each == pytest.approx(0.999)
    target = evidence.mechanism_target("randomized_response")
    exact = audit.exact(target, Privacy(1.0, 0.0))
    tested = audit.statistical(target, Privacy(1.0, 0.0), trials=1000, confidence=each)
    assert audit.false_alarm([exact, tested, exact, tested]) == pytest.approx(0.002)
    assert audit.false_alarm([exact]) == 0
