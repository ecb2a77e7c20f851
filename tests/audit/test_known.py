"""Events and laws that are known before any run: tested on all trials, and no cover for a program that departs."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from planted_bugs import BUGS, scale_too_small, skips_its_noise, without_the_half, wrong_sensitivity

from dpjax import audit, evidence
from dpjax import mechanisms as m
from dpjax.accounting import Guarantee
from dpjax.audit.target.databases import show_numbers
from dpjax.core import random
from dpjax.core.checks import InputError
from dpjax.core.types import Neighboring, Privacy
from dpjax.laws.base import Law

REPLACE = Neighboring.REPLACE_ONE
PRIVACY = Privacy(1.0, 1e-6)
CLAIM = Guarantee(1.0, 0.0, REPLACE, "known")


def target(run, known, pair=(0, 1)):
    one, other = (np.asarray(part, np.int32) for part in pair)
    pairs = [audit.Pair(one, other, show_numbers)]
    return audit.Target("known", lambda e, d: CLAIM, run, list, lambda: pairs, known=known)


def laplace(data, p):
    return m.laplace_mechanism(data, p.epsilon, sensitivity=1)


def one_of_two(data, p):
    return m.exponential(jnp.stack([27 + data, 31 - data]), p.epsilon)


def noisy(key, data, p):
    return laplace(data, p).sample(key)


NEVER = audit.KnownEvent(lambda output: jnp.zeros((), bool))


@pytest.mark.parametrize(
    "bug", [pytest.param(bug, marks=[pytest.mark.slow] if i else [], id=bug.what) for i, bug in enumerate(BUGS)]
)
def test_planted_bugs_are_caught_beside_a_useless_event(bug):
    """The worst case: three quarters of the level are lost."""
    report = audit.statistical(replace(bug.target(), known=NEVER), PRIVACY, trials=bug.trials)
    assert report.violated, str(report)
    assert "3/4 of it for the stated event" in report.details["corrections"]


DEPARTURES = [
    (wrong_sensitivity, laplace, 5_000),
    (scale_too_small, laplace, 10_000),
    (without_the_half, one_of_two, 5_000),
    (skips_its_noise, laplace, 200_000),
]


@pytest.mark.parametrize(
    ("run", "law", "trials"),
    [
        pytest.param(*case, marks=[pytest.mark.slow] if i else [], id=case[0].__name__)
        for i, case in enumerate(DEPARTURES)
    ],
)
def test_a_program_that_does_not_follow_its_stated_law_is_caught(run, law, trials):
    """With the trials that suffice without a stated law."""
    report = audit.statistical(target(run, audit.KnownLaw(law)), PRIVACY, trials=trials)
    assert report.violated, str(report)


def test_a_named_event_is_tested_on_all_trials():
    known = audit.KnownEvent(lambda output: output <= 0)
    report = audit.statistical(target(noisy, known), PRIVACY, trials=2000)
    stated, chosen = report.details["tests"][:2]
    assert stated["trials"] in (2000, 1999) and chosen["trials"] in (1600, 1599)
    assert stated["level"] == pytest.approx(0.0375) and "stated in advance on all 2000" in report.evidence
    wrong = target(lambda key, data, p: random.laplace(key) + 3 * data.astype(jnp.float32), known)
    assert audit.statistical(wrong, PRIVACY, trials=1000).violated
    bet = audit.statistical(wrong, PRIVACY, trials=1000, sequential=True)
    assert bet.violated and bet.details["trials"] == 1000  # training runs come first


@pytest.mark.parametrize("known", [audit.KnownEvent(lambda output: output <= 0), audit.KnownLaw(laplace)])
def test_one_outcome_is_vacuous_whatever_is_known(known):
    """A stated event may contain the only outcome, on both databases; a second outcome in fresh trials counts."""
    constant = target(lambda key, data, p: jnp.float32(0) * data.astype(jnp.float32), known)
    for sequential in (False, True):
        report = audit.statistical(constant, PRIVACY, trials=1000, sequential=sequential)
        assert report.verdict.startswith("vacuous") and report.details["outcomes"] == 1
        assert not report.violated and max(report.details["tests"][0]["successes"]) > 0

    def rarely(key, data, p):
        return ((data > 0) & (random.uniform(key) < jnp.float32(0.008))).astype(jnp.float32)

    found = [audit.statistical(target(rarely, known), PRIVACY, trials=1000, seed=seed).details for seed in range(4)]
    assert all(details["outcomes"] > 1 for details in found)


def test_the_pair_of_a_stated_event_may_have_outcomes_that_no_training_saw():
    """The chosen questions are about the first pair, on which nothing ever happens."""

    def never_or_rarely(key, data, p):
        return ((data > 0) & (random.uniform(key) < jnp.float32(0.002))).astype(jnp.float32)

    class OfLast(audit.KnownEvent):
        def question(self, key, first, second, plan, aim, guesses):
            return replace(self.of_event(), merits=(float(second), 0.0))

    pairs = [audit.Pair(np.int32(0), np.int32(far), show_numbers) for far in (0, 1)]
    known = OfLast(lambda output: output <= 0)
    seen = set()
    for seed in range(4):
        found = replace(target(never_or_rarely, known), pairs=lambda: pairs)
        details = audit.statistical(found, PRIVACY, trials=1000, seed=seed).details
        stated = next(one for one in details["tests"] if one["event"].startswith("stated"))
        happened = stated["successes"] != [stated["trials"]] * 2
        seen.add((happened, details["outcomes"] > 1))
    assert (True, True) in seen and (True, False) not in seen


def test_a_bet_stops_at_the_first_refutation_also_before_other_pairs():
    """A named event of the first pair refutes the claim; the second pair is never run beyond its training."""
    pairs = [audit.Pair(np.int32(0), np.int32(far), show_numbers) for far in (3, 9)]
    found = replace(target(noisy, audit.KnownEvent(lambda output: output <= 0)), pairs=lambda: pairs)
    bet = audit.statistical(found, PRIVACY, trials=2000, sequential=True)
    assert bet.violated and len(bet.details["tests"]) == 1 and bet.witness["neighbor"] == 3
    whole = audit.statistical(found, PRIVACY, trials=2000)
    assert whole.violated and len(whole.details["tests"]) > 1


def test_of_several_pairs_the_law_takes_the_one_that_promises_most():
    pairs = [audit.Pair(np.int32(0), np.int32(0), show_numbers), audit.Pair(np.int32(0), np.int32(1), show_numbers)]
    found = replace(target(noisy, audit.KnownLaw(laplace)), pairs=lambda: pairs)
    report = audit.statistical(found, PRIVACY, trials=2000)
    assert sorted(report.witness.values()) == [0, 1] and report.epsilon_found > 0.7


def test_a_score_is_a_number_and_equal_for_equal_ratios():
    """Also where both densities are 0, and on the whole of a side where the ratio is constant."""
    known, plan = audit.KnownLaw(laplace), Privacy(jnp.float32(1.1), jnp.float32(0.0))
    below = known.score(-jnp.linspace(0, 30, 1000, dtype=jnp.float32), jnp.int32(0), jnp.int32(1), plan)
    assert below.shape == ()  # entries are independent
    each = jax.vmap(lambda x: known.score(x, jnp.int32(0), jnp.int32(1), plan))(-jnp.linspace(0, 30, 1000))
    assert np.ptp(np.asarray(each)) == 0 and float(each[0]) == pytest.approx(1.1, abs=2e-4)
    release = audit.KnownLaw(lambda data, p: m.stability(data, p.epsilon, p.delta, gap_sensitivity=2))
    plan = Privacy(jnp.float32(1.0), jnp.float32(0.1))
    for output in (-1, 0, 1):
        assert np.isfinite(release.score(jnp.int32(output), jnp.array([9, 0]), jnp.array([8, 1]), plan))


@pytest.mark.slow
def test_every_stated_law_of_a_mechanism_scores_its_outputs():
    stated = [found for found in evidence.mechanism_configurations() if found.known is not None]
    assert len(stated) > 20
    for found in stated:
        plan = jax.tree.map(jnp.asarray, found.plan(Privacy(1.0, 0.01)))
        pair = found.pairs()[0]
        output = found.run(jax.random.key(0), pair.first, plan)
        assert np.isfinite(found.known.score(output, pair.first, pair.second, plan)), found.name


def test_an_event_for_existing_outputs_and_for_a_host_function():
    generator = np.random.default_rng(0)
    first, second = -generator.laplace(size=2000), 1 - generator.laplace(size=2000)
    report = audit.of_outputs(first.astype(np.float32), second.astype(np.float32), CLAIM, event=lambda x: x <= 0)
    assert report.epsilon_found > 0.7 and report.details["trials"] == 2000
    assert "stated in advance on all 2000" in report.evidence

    def doubled(data, seed):
        return np.random.default_rng(seed).laplace() + 2 * data

    known = audit.KnownEvent(lambda output: output <= 0)
    host = audit.from_function(doubled, CLAIM, [(0, 1)], known=known)
    assert audit.statistical(host, Privacy(1.0), trials=1000).violated
    broken = audit.from_function(doubled, CLAIM, [(0, 1)], known=audit.KnownEvent(lambda output: output["no"]))
    with pytest.raises(InputError, match="target"):
        audit.statistical(broken, Privacy(1.0), trials=1000)


class Parts(Law):
    """A law that does not add up the log-densities of its two coordinates."""

    def __init__(self, data, p):
        self.law = laplace(data, p)

    def sample(self, key):
        return self.law.sample(key)

    def log_prob(self, output):
        return jnp.stack([self.law.log_prob(output)] * 2)


@pytest.mark.parametrize(
    ("known", "what"),
    [
        (audit.KnownLaw(lambda data, p: data["no"]), "known"),
        (audit.KnownLaw(lambda data, p: 3), "known"),
        (lambda output: output <= 0, "known"),
        (audit.KnownEvent(lambda output: output), "event"),
        (audit.KnownEvent(lambda output: jnp.stack([output, output]) <= 0), "event"),
        (audit.KnownLaw(Parts), "law"),
    ],
    ids=["law fails", "no law", "no class", "number", "vector", "several densities"],
)
def test_what_is_no_law_and_no_event_is_refused(known, what):
    with pytest.raises(InputError, match=rf"^{what}: expected"):
        audit.statistical(target(noisy, known), PRIVACY, trials=1000)


def test_an_event_of_words():
    """Outputs that are no arrays reach the event as they are; a law has no density for them."""
    generator = np.random.default_rng(0)
    first, second = ([{"answer": "yes" if heads else "no"} for heads in generator.random(600) < p] for p in (0.9, 0.1))
    said = audit.KnownEvent(lambda output: output["answer"] == "yes")
    report = audit.of_outputs(first, second, CLAIM, event=said.event)
    assert report.violated and report.details["trials"] == 600 and report.details["event"] == "stated score >= 0.5"
    for event in (lambda word: word.upper(), lambda word: word["no"]):
        with pytest.raises(InputError, match="event: expected output -> bool"):
            audit.of_outputs(first, second, CLAIM, event=event)

    def answer(data, seed):
        if seed % 7 == 3:
            raise ValueError("an outcome of its own")
        return "yes" if seed % 10 < 9 - 8 * data else "no"

    for known in (audit.KnownEvent(lambda word: word == "yes"), audit.KnownLaw(laplace)):
        host = audit.from_function(answer, CLAIM, [(0, 1)], known=known)
        if isinstance(known, audit.KnownEvent):
            found = audit.statistical(host, Privacy(1.0), trials=1000)
            assert found.violated and "stated in advance on all" in found.evidence
        else:
            with pytest.raises(InputError, match="numbers or arrays for a KnownLaw"):
                audit.statistical(host, Privacy(1.0), trials=1000)


def test_an_event_of_existing_outputs_is_one_truth_value():
    sides = np.zeros((600, 2), np.float32), np.ones((600, 2), np.float32)
    for event in (lambda x: x <= 0, lambda x: x[0], lambda x: x["no"]):
        with pytest.raises(InputError, match="event: expected output"):
            audit.of_outputs(*sides, CLAIM, event=event)
    assert audit.of_outputs(*sides, CLAIM, event=lambda x: jnp.all(x <= 0)).violated


class Outside(audit.Known):
    """A score from outside, of numbers alone."""

    def score(self, output, first, second, plan):
        return jnp.asarray(output, jnp.float32)

    def question(self, key, first, second, plan, aim, guesses):
        return NEVER.of_event()


def test_a_score_from_outside_inherits_what_it_does_not_say():
    assert not audit.statistical(target(noisy, Outside()), PRIVACY, trials=1000).violated
    words = audit.from_function(lambda data, seed: "ab"[seed % 2], CLAIM, [(0, 1)], known=Outside())
    with pytest.raises(InputError, match="numbers or arrays for a Outside"):
        audit.statistical(words, Privacy(1.0), trials=1000)
    with pytest.raises(InputError, match=r"inherit from dpjax\.audit\.Known"):
        target(noisy, object())
