"""The laws that a report's figure shows: fractions of runs or exact probabilities, and which of them are the event."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax import audit, evidence
from dpjax.accounting import Guarantee
from dpjax.audit.enumeration.outcomes import in_words
from dpjax.audit.outputs.events import Features, by_numbers, features
from dpjax.audit.outputs.laws import of_samples, of_tables, words
from dpjax.audit.outputs.naming import Naming
from dpjax.audit.sampling.choices import choose
from dpjax.audit.sampling.questions import Guess
from dpjax.audit.sampling.thresholds import Aim
from dpjax.core.types import Neighboring, Privacy
from dpjax.mechanisms import exponential
from dpjax.plots import plot_laws, read_metadata

AIM = Aim.of(1.0, 0.0, 1000, 0.95)
CLAIM = Guarantee(1.0, 0.0, Neighboring.REPLACE_ONE, "as claimed")


def test_bins_end_at_the_threshold():
    draws = [np.random.default_rng(side).normal(side, size=4000).astype(np.float32) for side in (0, 1)]
    sides = tuple(jax.vmap(features)(jnp.asarray(side)) for side in draws)
    (question, _), naming = choose(*sides, AIM, guesses=False), Naming.of(jnp.float32(0))
    found = of_samples(question.events, naming, sides)
    assert found["axis"] == "output" and len(found["outcomes"]) == len(found["inside"]) + 1
    for side, name in zip(sides, ("first", "second"), strict=True):
        inside = sum(mass for mass, within in zip(found[name], found["inside"], strict=True) if within)
        assert inside == pytest.approx(float(np.mean(question.event.contains(side))), abs=0.005)
        assert sum(found[name]) > 0.99


def test_both_events_of_a_guess_are_inside():
    """What is in both is outside: there the rule abstains."""
    numbers = [np.random.default_rng(side).normal(size=2000).astype(np.float32) for side in (0, 1)]
    sides = tuple(jax.vmap(features)(jnp.asarray(side)) for side in numbers)
    base, naming = by_numbers(np.array([[0, 1, 0]], np.float32), "coordinate"), Naming.of(jnp.float32(0))
    high = replace(base, threshold=jnp.float32(1.0))
    low = replace(base, threshold=jnp.float32(-1.0), complement=jnp.bool_(True))
    found = of_samples(Guess(high, low, (0.0, 0.0)).events, naming, sides)
    inside = np.array(found["inside"])
    assert np.flatnonzero(np.diff(inside.astype(int))).size == 2 and inside[0] and inside[-1]
    masses = sum(mass for mass, within in zip(found["first"], inside, strict=True) if within)
    assert masses == pytest.approx(float(np.mean(np.abs(numbers[0]) >= 1)), abs=0.02)
    table = replace(
        by_numbers(np.zeros((1, 3), np.float32), "cells"),
        codes=jnp.arange(3, dtype=jnp.uint32),
        scores=jnp.float32([-1, 0, 1]),
        outputs=jnp.float32([[5], [6], [7]]),
    )
    both = [replace(table, threshold=jnp.float32(at), complement=jnp.bool_(at < 0)) for at in (1, -0.5)]
    assert naming.outputs(both) == ["5", "7"]
    side = Features(jnp.uint32([0, 1, 2]), jnp.float32([[5], [6], [7]]))
    listed = of_samples(both, naming, (side, side))
    assert dict(zip(listed["outcomes"], listed["inside"], strict=True)) == {"5": True, "7": True, "6": False}


def test_many_outcomes_are_added_up():
    law = np.log(np.full(100, 0.01))
    other = np.log(np.append(np.full(50, 0.019), np.full(50, 0.001)))
    found = of_tables([f"o{at}" for at in range(100)], law, other, 1.0)
    assert found["outcomes"][:24] == [f"o{at}" for at in range(50, 74)] and found["outcomes"][24:] == [
        "26 others",
        "50 others",
    ]
    assert found["inside"] == [True] * 25 + [False]
    assert sum(found["first"]) == pytest.approx(1) == pytest.approx(sum(found["second"]))
    assert words(found) == "output is one of o50, o51, o52, o53, o54, o55, ..."


def test_an_exact_report_names_its_event_and_is_drawn(tmp_path):
    def function(scores, key):
        return {"winner": exponential(scores, 2.0).sample(key), "votes": jnp.int32(2)}

    pair = np.array([0, 0], np.int32), np.array([1, -1], np.int32)
    target = audit.from_function(function, CLAIM, [pair], randomness="key", data="other")
    report = audit.exact(target, Privacy(1.0, 0.0))
    assert report.violated
    ranked = {"[1, -1]": 0, "[0, 0]": 1}[str(report.witness["database"])]
    assert report.details["event"] == f"output is (output['votes'] = 2, output['winner'] = {ranked})"
    assert sum(report.details["laws"]["first"]) == pytest.approx(1)
    (path,) = plot_laws(report.to_dict(), tmp_path / "laws", "svg")
    assert read_metadata(path)["event"] == report.details["event"]


def test_an_exact_audit_of_a_learner_says_what_it_learned():
    """In the words of its class; outputs that these do not tell apart have their numbers, too."""
    target = evidence.learner_world("kln-points").target("kln-points")
    report = audit.exact(target, Privacy(1.0, 1e-6))
    assert report.details["event"] == "output is 1 iff x = 2"

    def run(key, data, plan):
        return {"a": exponential(data, 1.0).sample(key)}

    outcomes = np.arange(2, dtype=np.int32).view(np.uint8).reshape(2, 4)
    found = [
        in_words(run, np.zeros((1, 2), np.int32), Privacy(1.0, 0.0), outcomes, show)
        for show in (
            lambda outputs: [f"number {a}" for a in outputs["a"]],
            lambda outputs: ["same", "same"],
            lambda outputs: outputs["no"],
        )
    ]
    numbers = ["0", "1"]
    assert found == [["number 0", "number 1"], ["same 0", "same 1"], numbers]
