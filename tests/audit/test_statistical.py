"""Statistical audits: power without being told the event, false alarms, planted bugs, and targets that are none."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from planted_bugs import BUGS, scale_too_small, svt, without_the_half, wrong_sensitivity
from scipy.stats import binom

from dpjax import audit, evidence, laws
from dpjax import mechanisms as m
from dpjax.accounting import Guarantee
from dpjax.audit.outputs.events import contains, features
from dpjax.audit.sampling.choices import choose
from dpjax.audit.sampling.thresholds import Aim
from dpjax.audit.target.databases import show_numbers
from dpjax.core import random
from dpjax.core.checks import InputError
from dpjax.core.types import Neighboring, Privacy

REPLACE = Neighboring.REPLACE_ONE
PRIVACY = Privacy(1.0, 1e-6)


def target(run, pair=(0, 1), epsilon=1.0, delta=0.0, name="planted"):
    one, other = (np.asarray(part, np.int32) for part in pair)
    claim = Guarantee(epsilon, delta, REPLACE, name)
    return audit.Target(name, lambda e, d: claim, run, list, lambda: [audit.Pair(one, other, show_numbers)])


# --- power and false alarms of the bound on scores --------------------------------------------------------------------


def bounds(draw, n, runs, **how):
    """Bounds of ``runs`` audits of n scores a side; draw(key, side, n)."""

    def one(key):
        first, second = jax.random.split(key)
        return audit.epsilon_of_scores(draw(first, 0, n), draw(second, 1, n), **how)

    every = jax.jit(lambda keys: jax.lax.map(one, keys, batch_size=max(1, min(100, 10**6 // n))))
    return np.asarray(every(jax.random.split(jax.random.key(n), runs)))


def laplace(key, side, n):
    return random.laplace(key, (n,)) + jnp.float32(1 - side)


def randomized(key, side, n):
    law = m.randomized_response(jnp.int32(side), 1.0)
    return jax.vmap(law.sample)(jax.random.split(key, n)).astype(jnp.float32)


def exponential(key, side, n):
    law = m.exponential(jnp.array([30, 31], jnp.int32)[:: 1 - 2 * side], 1.0)
    return jax.vmap(law.sample)(jax.random.split(key, n)).astype(jnp.float32)


def choosing(key, side, n):
    law = m.choosing(jnp.array([1 - side, side], jnp.int32), 1.0, 0.1)
    return jax.vmap(law.sample)(jax.random.split(key, n)).astype(jnp.float32)


@pytest.mark.parametrize(
    ("n", "runs", "least"), [(1000, 300, 0.80), pytest.param(10**4, 100, 0.93, marks=pytest.mark.slow)]
)
def test_power_without_being_told_the_event(n, runs, least):
    """Mean bound on Laplace at epsilon 1; a mean of bounds spreads by less than 0.004 here."""
    found = bounds(laplace, n, runs)
    assert found.mean() >= least
    assert binom.sf(np.sum(found > 1) - 1, runs, 0.05) > 1e-6


@pytest.mark.slow
@pytest.mark.parametrize(("n", "least"), [(1000, 0.80), (10**4, 0.93), (10**5, 0.978), (10**6, 0.992)])
def test_power_long(n, least):
    assert bounds(laplace, n, max(20, 10**7 // n)).mean() >= least


TIGHT = [(laplace, 0.0), (randomized, 0.0), (exponential, 0.0), (choosing, 0.1)]


@pytest.mark.parametrize(
    ("draw", "delta"),
    [pytest.param(*case, marks=pytest.mark.slow if case[0] in (exponential, choosing) else []) for case in TIGHT],
    ids=lambda part: getattr(part, "__name__", ""),
)
def test_false_alarms(draw, delta):
    """At most 5%: rejected only if the number of alarms has probability below 1e-6."""
    alarms = np.sum(bounds(draw, 400, 200, delta=delta) > 1 + 1e-6)
    assert binom.sf(alarms - 1, 200, 0.05) > 1e-6


@pytest.mark.slow
@pytest.mark.parametrize(("draw", "delta"), TIGHT, ids=lambda part: getattr(part, "__name__", ""))
def test_false_alarms_long(draw, delta):
    alarms = np.sum(bounds(draw, 2000, 1000, delta=delta) > 1 + 1e-6)
    assert binom.sf(alarms - 1, 1000, 0.05) > 1e-6


# --- planted bugs: the trials that suffice ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "bug", [pytest.param(bug, marks=[pytest.mark.slow] if i % 5 else [], id=bug.what) for i, bug in enumerate(BUGS)]
)
def test_planted_bugs_are_caught(bug):
    report = audit.statistical(bug.target(), PRIVACY, trials=bug.trials)
    assert report.violated, str(report)
    assert report.details["trials"] + 0.2 * bug.trials <= bug.trials + 1
    if not bug.what.startswith("sparse"):
        assert report.epsilon_found > 1 and report.delta_found > bug.delta


@pytest.mark.parametrize(
    "run", [wrong_sensitivity, pytest.param(without_the_half, marks=pytest.mark.slow)], ids=lambda run: run.__name__
)
def test_a_sequential_audit_stops_early(run):
    report = audit.statistical(target(run), PRIVACY, trials=2_000_000, sequential=True)
    assert report.violated and report.details["trials"] < 200_000
    assert report.details["p_value"] <= 0.05 and report.epsilon_found == 1 and not report.curve


@pytest.mark.slow
@pytest.mark.parametrize(
    "pair", [([0, 0, 0], [1, -1, 1]), pytest.param(([1, 1, 1, 0], [0, 0, 0, 1]), marks=pytest.mark.slow)]
)
def test_the_right_sparse_vector_is_not_accused(pair):
    report = audit.statistical(target(svt(2, 4, "bits"), pair), PRIVACY, trials=100_000, confidence=1 - 1e-6)
    assert not report.violated


@pytest.mark.parametrize(
    ("run", "verdict"),
    [
        (lambda key, data, p: jnp.int32(-1), "vacuous"),
        (lambda key, data, p: jax.random.bernoulli(key, 0.01), "consistent with the claim"),
    ],
)
def test_an_audit_that_saw_one_outcome_says_so(run, verdict):
    report = audit.statistical(target(run), PRIVACY, trials=2000)
    assert report.verdict.partition(":")[0] == verdict
    assert (report.details["outcomes"] == 1) == (verdict == "vacuous")
    assert ("no dependence on the data was seen" in report.grounds) == (verdict != "vacuous")


def test_one_outcome_in_training_is_tested_by_any_other():
    """In both directions, and fresh trials with another outcome are no vacuous audit."""
    seen = jax.vmap(features)(jnp.full((200, 2), 7, jnp.int32))
    other = jax.vmap(features)(jnp.array([[7, 8], [7, 7]], jnp.int32))
    events = choose(seen, seen, Aim.of(1.0, 0.0, 800, 0.9))
    assert [chosen.swapped for chosen in events] == [False, True]
    assert [contains(chosen.event, other).tolist() for chosen in events] == [[True, False]] * 2

    def run(key, data, p):
        return jnp.stack([jnp.int32(7), (jax.random.bernoulli(key, 0.004) & (data[0] == 1)).astype(jnp.int32)])

    for seed in range(4):
        report = audit.statistical(target(run, ([1], [0])), PRIVACY, trials=1000, seed=seed)
        assert (report.verdict, report.details["outcomes"]) == ("consistent with the claim", 2)


def test_a_huge_epsilon_is_never_refuted():
    for sequential in (False, True):
        huge = target(lambda key, data, p: data[0], ([0], [1]), epsilon=1000.0)
        assert not audit.statistical(huge, PRIVACY, trials=1000, sequential=sequential).violated


# --- everything else --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_printed_a_dist_is_caught_and_the_corrected_one_is_not():
    for calibration, violated in (("printed", True), ("corrected", False)):
        found = evidence.mechanism_target("stability", calibration=calibration)
        report = audit.statistical(found, PRIVACY, trials=10_000, confidence=1 - 1e-6)
        assert report.violated is violated, str(report)


@pytest.mark.slow
def test_random_search_finds_the_neighbors_that_tell():
    """Only histograms whose first cell goes from 0 to 1 while another holds 5 or more betray this one."""

    def run(key, data, p):
        noisy = m.laplace_mechanism(data[1], p.epsilon, sensitivity=1).sample(key)
        return jnp.where(jnp.max(data[1:]) >= 5, data[0] > 0, False), noisy

    claim = Guarantee(1.0, 0.0, REPLACE, "betrays a rare database")
    found = audit.Target("rare", lambda e, d: claim, run, lambda: [audit.histograms(7, 3, REPLACE)], list)
    report = audit.statistical(found, PRIVACY, trials=100_000, search=200)
    assert report.violated and "200 pair(s)" in report.evidence
    assert {bool(side[0]) for side in report.witness.values()} == {False, True}
    with pytest.raises(InputError, match="search"):
        audit.statistical(target(scale_too_small), PRIVACY, trials=2000, search=5)


@pytest.mark.slow
def test_random_search_keeps_its_level():
    """Selection and test are on different trials: a tight mechanism is accused at most as often as promised."""
    found = evidence.mechanism_target("randomized_response")
    alarms = sum(
        audit.statistical(found, Privacy(1.0, 0.0), trials=2000, search=6, seed=seed).violated for seed in range(60)
    )
    assert binom.sf(alarms - 1, 60, 0.05) > 1e-6


def test_a_report_is_whole_and_repeats_itself():
    one, other = (audit.statistical(target(scale_too_small), PRIVACY, trials=5_000, seed=3).to_dict() for _ in range(2))
    assert one.pop("seconds") > 0 < other.pop("seconds")
    assert one == other
    expected = "target calibration claim method evidence epsilon_found delta_found confidence witness verdict event"
    assert {*expected.split(), "direction", "trials", "seed", "versions", "p_value", "corrections"} <= one.keys()
    assert one["trials"] == 4000 and sorted(one["witness"].values()) == [0, 1]


def test_how_many_trials_are_worked_on_at_once_changes_nothing():
    found = evidence.mechanism_target("exponential")
    reports = [audit.statistical(replace(found, at_once=many), PRIVACY, trials=5000).to_dict() for many in (1024, 7)]
    assert all(report.pop("seconds") > 0 for report in reports)
    assert reports[0] == reports[1]


@pytest.mark.parametrize("name", ["discrete_laplace_mechanism", "gaussian_mechanism"])
def test_noise_that_is_calibrated_on_the_host(name):
    """The plan is made once on the host; an eighth of the noise is refuted."""
    found = evidence.mechanism_target(name)
    made = []

    def plan(privacy):
        made.append(privacy)
        return found.plan(Privacy(8 * privacy.epsilon, privacy.delta))

    report = audit.statistical(replace(found, plan=plan), Privacy(1.0, 1e-3), trials=5_000)
    assert report.violated and len(made) == 1
    honest = audit.statistical(found, Privacy(1.0, 1e-3), trials=5_000, confidence=1 - 1e-6)
    assert not honest.violated and honest.epsilon_found > 0.2


def test_group_distance_amplifies_the_claim():
    """At distance 2 a correct mechanism may lose 2 epsilon, and delta grows."""
    sound = lambda key, data, p: m.laplace_mechanism(data, p.epsilon, sensitivity=1).sample(key)  # noqa: E731
    report = audit.statistical(target(sound, (0, 2)), PRIVACY, trials=20_000, distance=2, confidence=1 - 1e-6)
    assert report.claim.epsilon == 2 and not report.violated and report.epsilon_found > 1.2
    assert audit.statistical(target(sound, (0, 2)), PRIVACY, trials=20_000).violated


@pytest.mark.slow
def test_looking_at_bits_refutes_floating_point_noise_and_not_integers():
    """1 + noise is a multiple of 2**-24 where noise alone is not: the lattice of a float tells where it was added.

    The contract of all of these is "ideal".
    """
    whole = ("randomized_response", "exponential", "stability")
    for name, violated in (("laplace_mechanism", True), ("gaussian_mechanism", True), *((one, False) for one in whole)):
        found, privacy = evidence.mechanism_target(name), Privacy(1.0, 0.0 if name == "laplace_mechanism" else 1e-3)
        report = audit.statistical(found, privacy, trials=50_000, confidence=1 - 1e-6, bitwise=True)
        assert report.violated is violated and report.claim.contract == "ideal", str(report)
    plain = audit.statistical(evidence.mechanism_target("laplace_mechanism"), Privacy(1.0, 0.0), trials=50_000)
    assert not plain.violated


@pytest.mark.slow
def test_tails_are_within_reach_of_a_known_event():
    """A leak of probability 1e-3 in one output of many."""
    law = lambda data: laws.Categorical(jnp.log(jnp.where(jnp.arange(50) == 49, data.astype(jnp.float32) * 0.02, 1.0)))  # noqa: E731
    report = audit.statistical(target(lambda key, data, p: law(data).sample(key)), PRIVACY, trials=100_000)
    assert report.violated and report.witness["database"] == 1


state = {"calls": 0}


def impure(key, data, p):
    state["calls"] += 1
    return random.laplace(key) + state["calls"]


def impure_table(key, data, p):
    """One number of a large constant is drawn anew at each trace."""
    table = np.zeros(5000, np.float32)
    table[4321] = np.random.default_rng().random()
    return data.astype(jnp.float32) + jnp.asarray(table)[4321 + 0 * data]


def throws(key, data, p):
    raise RuntimeError("out of luck")


def host_code(key, data, p):
    return np.random.default_rng(int(jax.random.key_data(key)[0])).laplace()


@pytest.mark.parametrize(
    ("run", "says"),
    [(impure, "pure function"), (impure_table, "pure function"), (throws, "out of luck"), (host_code, "jittable")],
)
def test_bad_targets_are_refused_and_nothing_is_claimed(run, says):
    with pytest.raises(InputError, match=says):
        audit.statistical(target(run), PRIVACY, trials=2000)


def test_a_target_is_traced_once_for_all_pairs_of_a_shape_and_once_anew():
    """And twice for each pair, for the shapes of its outputs, without being compiled."""
    traced = []

    def counting(key, data, p):
        traced.append(data.shape)
        return m.randomized_response(data, p.epsilon).sample(key)

    scalars = target(counting).pairs()
    found = replace(target(counting), pairs=lambda: [*scalars, *scalars])
    audit.statistical(found, Privacy(1.0, 0.0), trials=10_000)
    assert len(traced) == 2 * 2 + 1 + 1


def test_an_output_whose_shape_tells_the_databases_apart_is_refused():
    leaky = audit.Target(
        "leaky",
        lambda e, d: Guarantee(1.0, 0.0, REPLACE, "leaky"),
        lambda key, data, p: data * 2,
        list,
        lambda: [audit.Pair(np.zeros(2, np.int32), np.zeros(3, np.int32), show_numbers)],
    )
    with pytest.raises(InputError, match="one shape"):
        audit.statistical(leaky, PRIVACY, trials=2000)


@pytest.mark.parametrize("bad", [{"trials": 10}, {"confidence": 1.0}, {"seed": -1}, {"distance": 0}])
def test_bad_numbers_are_refused(bad):
    with pytest.raises(InputError):
        audit.statistical(target(scale_too_small), PRIVACY, **bad)
