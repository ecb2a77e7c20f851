"""A result as an experiment would save it, with numbers made up by a formula."""

import json
import math

import pytest

CLAIMED = {"kln-basic": 1.0, "kln-optimal": 0.5, "point": 0.0}
ACCURACY = {"delta": 1e-6, "alpha": 0.2, "beta": 0.1}


def _needed(learner, k, epsilon):
    return int((100 + len(learner)) * k ** CLAIMED.get(learner, 0.2) / epsilon) + 20


def make_result(learners=("point", "kln-basic", "kln-optimal", "erm"), ks=(1, 4, 16), epsilons=(0.5, 1.0), trials=512):
    points, brackets = [], []
    for learner in learners:
        for k in ks:
            for epsilon in epsilons:
                needed = _needed(learner, k, epsilon)
                where = {"learner": learner, "k": k, "epsilon": epsilon, **ACCURACY}
                for n in (needed // 4, needed // 2, needed, 2 * needed):
                    rate = 1 / (1 + math.exp(-4 * math.log(n / needed) - 2))
                    counts = {"n": n, "trials": trials, "successes": int(trials * rate), "no_answers": 0}
                    points.append({**where, **counts, "lower": rate * 0.9, "upper": min(1.0, rate * 1.1)})
                ends = {"n_low": needed, "n_high": math.ceil(needed * 1.09), "theorem": 5 * needed}
                brackets.append({**where, **ends, "confidence": 0.95, "trials": 9 * trials})
    exponents = [
        {"learner": name, "epsilon": e, "slope": 0.9, "low": 0.8, "high": 1.0, "claimed": CLAIMED.get(name)}
        for name in learners
        for e in epsilons
    ]
    result = {
        "title": "Four learners",
        "config": {"learners": list(learners), "grid": {"k": list(ks), "step": 2 ** (1 / 8)}},
        "seed": 7,
        "versions": {"dpjax": "0.1.0", "jax": "0.10.2"},
        "device": "cpu:cpu",
        "points": points,
        "n_star": brackets,
        "exponents": exponents if len(ks) > 1 else [],
    }
    return json.loads(json.dumps(result))


@pytest.fixture
def make():
    return make_result


@pytest.fixture
def result():
    return make_result()


@pytest.fixture
def small():
    return make_result(("point", "erm"), (1, 4), (1.0,))
