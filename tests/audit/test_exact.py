"""Exact audits: the known slips of print, every mechanism at its claim, planted bugs, and other people's arithmetic."""

import functools
import itertools
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax import audit, evidence, testing
from dpjax import mechanisms as m
from dpjax.accounting import Guarantee, hockey_stick
from dpjax.audit.enumeration import outcomes
from dpjax.audit.enumeration.exact import exceeds
from dpjax.concepts import Domain, Points, Thresholds
from dpjax.core.checks import InputError
from dpjax.core.plans import Number, down, plan_type, whole
from dpjax.core.types import Neighboring, Privacy
from dpjax.evidence.worlds import target_of
from dpjax.laws import Categorical
from dpjax.learners import KLN, Independent, PointLearner, ThresholdMedian
from dpjax.mechanisms.intervals import interval_exponential
from tests.oracles.pld import pld_of_pmfs

REPLACE, ADD = Neighboring.REPLACE_ONE, Neighboring.ADD_OR_REMOVE_ONE
CLAIMS = [(name, relation) for name in evidence.mechanism_names() for relation in evidence.relations(name)]
mechanism_target = functools.cache(evidence.mechanism_target)  # a target compiles its program once
BUDGETS = [(0.1, 1e-6), (4.0, 0.3)]


@pytest.mark.parametrize(("epsilon", "leak"), [(1.0, 0.36303), (0.1, 1.418e-4)])
def test_a_dist_as_printed_breaks_its_claim(epsilon, leak):
    report = audit.exact(mechanism_target("stability", calibration="printed"), Privacy(epsilon, 1e-6))
    assert report.violated and report.verdict == "VIOLATED"
    assert report.delta_found == pytest.approx(leak, rel=1e-3)
    one, other = np.array(report.witness["database"]), np.array(report.witness["neighbor"])
    assert sorted(one - other) == [-1, 0, 1] and one.sum() <= 80
    corrected = audit.exact(mechanism_target("stability"), Privacy(epsilon, 1e-6))
    assert not corrected.violated
    assert corrected.delta_found == pytest.approx(1e-6, rel=0.01)


def test_the_point_sanitizer_as_printed_breaks_its_claim_up_to_a_last_n():
    def of_rows(n):
        return audit.exact(mechanism_target("stability_histogram", calibration="printed", n=n), Privacy(1.0, 1e-6))

    assert of_rows(100).delta_found == pytest.approx(0.184, abs=5e-4)
    assert of_rows(1084).violated and not of_rows(1085).violated
    ours = audit.exact(mechanism_target("stability_histogram"), Privacy(1.0, 1e-6))
    assert not ours.violated and ours.delta_found == pytest.approx(1e-6, rel=0.01)


@pytest.mark.parametrize("relation", [REPLACE, ADD])
@pytest.mark.parametrize("delta", [1e-6, 0.01])
def test_the_choosing_mechanism_is_tight(relation, delta):
    report = audit.exact(mechanism_target("choosing", relation), Privacy(1.0, delta))
    assert not report.violated
    assert report.delta_found == pytest.approx(delta / (1 + delta), rel=1e-3)


@pytest.mark.parametrize(("name", "relation"), CLAIMS)
def test_no_mechanism_exceeds_its_claim(name, relation):
    for epsilon, delta in BUDGETS[name in ("above_threshold", "sparse_vector") :]:  # these take half of the time
        report = audit.exact(mechanism_target(name, relation), Privacy(epsilon, delta))
        assert not report.violated, str(report)
        assert report.claim.neighboring is relation and report.claim.epsilon == epsilon


WIDE = [1e-6, 1.0, 50.0]
APPROXIMATE = ["stability", "choosing", "stability_histogram", "gaussian_mechanism"]
SHARP = ["laplace_mechanism", "discrete_laplace_mechanism", "above_threshold", "sparse_vector", *APPROXIMATE]


# most of the time, and what the others have under this relation too
LONG = {("above_threshold", REPLACE), ("sparse_vector", REPLACE), *((name, ADD) for name in APPROXIMATE)}


@pytest.mark.parametrize(
    ("name", "relation"),
    [
        pytest.param(*case, marks=pytest.mark.slow if case in LONG else [])
        for case in itertools.product(SHARP, [REPLACE, ADD])
    ],
)
def test_claims_from_tiny_to_huge_epsilons_and_what_exceeds_them_by_a_twentieth(name, relation):
    target = mechanism_target(name, relation)

    def found(epsilon, of_epsilon=1.0, of_delta=1.0):
        """At (epsilon, delta), of the mechanism for a budget that is larger by these factors."""
        larger = lambda p: target.plan(Privacy(of_epsilon * p.epsilon, of_delta * p.delta))  # noqa: E731
        return audit.exact(replace(target, plan=larger), Privacy(epsilon, 1e-12 if name in APPROXIMATE else 0.0))

    for epsilon in WIDE:
        report = found(epsilon)
        assert not report.violated, str(report)
        assert name in APPROXIMATE or report.epsilon_found >= (1 - 1e-5) * epsilon
        assert found(epsilon, of_epsilon=1.05).violated
        assert name not in APPROXIMATE or found(epsilon, of_delta=1.05).violated


OTHERS = [target for target in evidence.mechanism_configurations() if "," in target.name]


@pytest.mark.parametrize("target", OTHERS, ids=lambda target: f"{target.name}, {target.universes()[0].relation.value}")
def test_other_arguments(target):
    report = audit.exact(target, Privacy(1.0, 0.01))
    assert not report.violated, str(report)


def test_the_gaussian_mechanism_attains_its_claim():
    for epsilon, delta in BUDGETS:
        report = audit.exact(mechanism_target("gaussian_mechanism"), Privacy(epsilon, delta))
        assert report.delta_found == pytest.approx(delta, rel=1e-5)
        assert report.epsilon_found == pytest.approx(epsilon, rel=1e-5)


TIGHT = ["exponential", "laplace_mechanism", "discrete_laplace_mechanism", "permute_and_flip", "randomized_response"]


@pytest.mark.parametrize("name", TIGHT)
def test_audits_are_sharp_where_the_claim_is(name):
    report = audit.exact(mechanism_target(name), Privacy(1.0, 0.0))
    assert report.epsilon_found == pytest.approx(1, rel=1e-6)


def broken(name, law, relation=REPLACE):
    """The target of that name with another law."""
    sound = mechanism_target(name, relation)
    universe = sound.universes()[0]
    return target_of(name, law, sound.claim, lambda: [universe], [])


def test_planted_bugs_are_caught():
    twice = lambda data, p: m.exponential(data, 2 * p.epsilon)  # noqa: E731 (the 1/2 forgotten)
    assert audit.exact(broken("exponential", twice), Privacy(1.0, 0.0)).epsilon_found > 1.9
    gap = lambda data, p: m.stability(data, p.epsilon, p.delta, gap_sensitivity=1)  # noqa: E731 (it is 2)
    assert audit.exact(broken("stability", gap), Privacy(1.0, 1e-6)).violated
    skip = lambda data, p: m.revealing_randomized_response(data, p.epsilon, 1e-3, categories=3)  # noqa: E731
    report = audit.exact(broken("revealing_randomized_response", skip), Privacy(1.0, 1e-6))
    assert report.violated and report.delta_found == pytest.approx(1e-3)
    monotone = lambda data, p: m.exponential(data, p.epsilon, monotonic=True, neighboring=ADD)  # noqa: E731
    assert audit.exact(broken("exponential", monotone), Privacy(1.0, 0.0)).violated


def test_a_violation_too_rare_for_a_delta_is_seen():
    """Outcomes of probability 1e-18 that only one side has: epsilon is infinite, delta is below all rounding."""

    def law(data, p):
        rare = jnp.where(data == 0, jnp.log(jnp.asarray(1e-18, p.epsilon.dtype)), -jnp.inf)
        return m.randomized_response(data, p.epsilon).__class__(jnp.stack([jnp.zeros_like(rare), rare]))

    assert audit.exact(broken("randomized_response", law), Privacy(1.0, 0.0)).violated


def test_log_ratios_are_judged_within_their_rounding():
    """Two halves whose log-masses are off by some units in the last place, and outcomes too rare for a float64."""

    def found(one, other):
        claim = lambda e, d: Guarantee(e, d, REPLACE, "planted")  # noqa: E731
        universe = audit.histograms(1, 2, REPLACE, least=1)
        tables = np.array([one, other])
        target = audit.Target("planted", claim, None, lambda: [universe], list, lambda data, plan: tables)
        return audit.exact(target, Privacy(1e-6, 0.0))

    more, less = -np.log1p(np.exp([-1e-6, 1e-6]))
    assert not found([more + 1e-14, less], [less, more]).violated
    assert found([more + 1e-12, less], [less, more]).violated
    assert not found([0.0, -700.0], [0.0, -np.inf]).violated
    assert found([0.0, -600.0], [0.0, -610.0]).violated


def test_dp_accounting_agrees():
    """Its privacy-loss distribution of the worst pair, to 1e-6."""
    target = mechanism_target("choosing")
    table = target.table(np.array([[3, 2, 0], [2, 2, 1]], np.int32), Privacy(1.0, 0.01))
    for epsilon in (0.1, 0.4, 0.9):
        ours = max(float(hockey_stick(p, q, epsilon)) for p, q in (table, table[::-1]))
        theirs = pld_of_pmfs(table[0], table[1]).get_delta_for_epsilon(epsilon)
        assert ours == pytest.approx(theirs, abs=1e-6)


LEARNERS = [
    ("kln", KLN(Points(Domain(3))), 1),
    ("kln", KLN(Thresholds(Domain(4))), 1),
    ("median", ThresholdMedian(Thresholds(Domain(4))), 1),
    ("point", PointLearner(Points(Domain(2))), 1),
    ("kln-optimal", Independent(KLN(Thresholds(Domain(2))), 2, "optimal"), 2),
]


@pytest.mark.parametrize(("name", "learner", "k"), LEARNERS, ids=lambda part: type(part).__name__)
def test_whole_learners(name, learner, k):
    target = evidence.learner_target(learner, name, k)
    for epsilon, delta in ((1.0, 1e-6), (4.0, 0.3)):
        report = audit.exact(target, Privacy(epsilon, delta))
        assert not report.violated, str(report)
    assert report.delta_found > 0.02 or report.epsilon_found > 0.1


CONCEPTS = Points(Domain(2))


def choice(key, sample, plan):
    pieces = CONCEPTS.pieces(sample.x, sample.y[:, 0], sample.mask)
    return interval_exponential(pieces, plan.epsilon).sample(key)


def of_program(run, relation=REPLACE):
    """A program over all samples of up to three rows, with the claim (1, 1e-6)."""
    claim = Guarantee(1.0, 1e-6, relation, "program")
    worlds = lambda: [audit.samples(Domain(2), 1, 3, relation)]  # noqa: E731
    return audit.Target("program", lambda e, d: claim, run, worlds, list, audit.table_of_run(run))


def found(run, relation=REPLACE, **how):
    return audit.exact(of_program(run, relation), Privacy(1.0, 1e-6), **how)


def test_a_program_that_leaks_through_any_field_is_caught():
    """Ties broken by row order: the label of the first row."""
    leaky = lambda key, sample, plan: (choice(key, sample, plan), sample.y[0])  # noqa: E731
    report = found(leaky)
    assert report.violated and report.delta_found == pytest.approx(1)
    assert not found(choice).violated


def test_leaking_n_matters_under_add_or_remove_only():
    counting = lambda key, sample, plan: (choice(key, sample, plan), sample.size)  # noqa: E731
    assert not found(counting).violated
    assert found(counting, ADD).violated and not found(choice, ADD).violated


def test_what_cannot_be_listed_says_so():
    def noisy(key, sample, plan):
        own, other = jax.random.split(key)
        return choice(own, sample, plan), m.laplace_mechanism(sample.size, plan.epsilon, sensitivity=1).sample(
            other
        ) > 3

    with pytest.raises(audit.NotListable, match=r"dpjax_draw at .*test_exact.py.*statistical"):
        found(noisy)


def test_an_audit_that_shows_nothing_says_so():
    constant = found(lambda key, sample, plan: jnp.zeros(2, jnp.uint32) + choice(key, sample, plan)[0] * jnp.uint32(0))
    assert constant.details["outcomes"] == 1 and "; 1 outcome" in constant.evidence
    assert (constant.epsilon_found, constant.delta_found) == pytest.approx((0, 0), abs=1e-12)
    assert constant.verdict.startswith("vacuous")
    assert found(lambda key, sample, plan: jnp.zeros(0)).verdict.startswith("vacuous")
    blind = found(lambda key, sample, plan: choice(key, jax.tree.map(jnp.zeros_like, sample), plan))
    assert blind.verdict.startswith("vacuous: on each pair") and blind.vacuous and blind.details["outcomes"] > 1
    leaks = found(lambda key, sample, plan: sample.y[0, 0])
    assert leaks.verdict == "VIOLATED" and not leaks.vacuous
    assert found(choice).details["outcomes"] == CONCEPTS.size and found(choice).verdict.startswith("consistent")


@plan_type
class OfRows:
    epsilon: Number
    n: Number


@dataclass(frozen=True)
class Amplified(KLN):
    """Spends n times what it claims to."""

    larger: bool = True
    times: float = 1.0

    def _plan(self, privacy, accuracy, n=None) -> OfRows:
        return OfRows(down(self.times * privacy.epsilon * (n if self.larger else 1)), whole(n))

    def _learn(self, key, sample, plan):
        return choice(key, sample, plan)

    def _guarantee(self, plan):
        return Guarantee(float(plan.epsilon) / int(plan.n), 0.0, self.neighboring, "amplified")


@pytest.mark.parametrize("larger", [True, False])
def test_a_learner_is_audited_with_the_plan_and_the_claim_for_its_rows(larger):
    """With two and three rows it breaks its claim, with one it keeps it."""
    target = evidence.learner_target(Amplified(CONCEPTS, larger=larger), "amplified", rows=3)
    report = audit.exact(target, Privacy(1.0, 0.0))
    assert report.violated and len(report.witness["database"]) > 1 and target.claim(1.0, 0.0).epsilon == 1.0
    assert report.claim.epsilon == pytest.approx(1.0 if larger else 1 / len(report.witness["database"]))
    alone = evidence.learner_target(Amplified(CONCEPTS, larger=larger), "amplified", rows=1)
    assert not audit.exact(alone, Privacy(1.0, 0.0)).violated
    assert [*alone.plan(Privacy(1.0, 0.0))] == [1, 3, 24]


def test_a_learner_that_spends_more_than_asked_or_plans_by_a_secret_n_is_refused():
    greedy = evidence.learner_target(Amplified(CONCEPTS, times=5.0), "greedy", rows=1)
    with pytest.raises(InputError, match=r"guarantee of greedy: expected at most the budget \(1, 0\), got \(5, 0\)"):
        audit.exact(greedy, Privacy(1.0, 0.0))
    with pytest.raises(InputError, match="one plan for all n, which is not public"):
        audit.exact(evidence.learner_target(Amplified(CONCEPTS, ADD), "added", rows=1), Privacy(1.0, 0.0))


def test_what_is_no_target_or_has_no_universe_is_refused():
    for method in (audit.exact, audit.statistical, audit.replay, audit.one_run_of):
        with pytest.raises(InputError, match=r"a dpjax.audit.Target, got None; make one: .*learner_target"):
            method(None, Privacy(1.0, 0.0))
    with pytest.raises(InputError, match="universes: expected databases"):
        audit.exact(replace(of_program(choice), universes=list), Privacy(1.0, 1e-6))


def test_the_float32_program_as_it_runs():
    report = found(choice, as_it_runs=True)
    assert not report.violated and "as it runs" in report.evidence
    assert report.epsilon_found == pytest.approx(found(choice).epsilon_found, rel=1e-4)


def shares(dtype):
    """A correct mechanism whose fraction of yeses is computed in float32 if integers are divided."""

    def law(votes, plan):
        kind = dtype or plan.epsilon.dtype
        share = votes[1].astype(kind) / jnp.asarray(3, kind)
        tilt = plan.epsilon * (3 * share.astype(plan.epsilon.dtype) - 30)
        return Categorical(jnp.stack([jnp.zeros_like(tilt), tilt]))

    universe = audit.histograms(3, 2, REPLACE, least=3)
    return testing.target_of(law, lambda epsilon, delta: Guarantee(epsilon, 0.0, REPLACE, "shares"), universe)


def test_an_excess_as_large_as_float32_rounding_is_named():
    report = audit.exact(shares(jnp.int32), Privacy(1.0))
    assert report.violated and 1e-9 < report.epsilon_found - 1 < 1e-6
    assert "excess    epsilon by 3e-08" in str(report) and "as it runs" not in report.evidence
    assert "as large as float32 rounding" in str(report) and "as_it_runs=True" in report.details["rounding"]
    assert not audit.exact(shares(jnp.int32), Privacy(1.0), as_it_runs=True).violated
    kept = audit.exact(shares(None), Privacy(1.0))
    assert not kept.violated and "excess" not in kept.details
    (failed,) = [each for each in testing.check_mechanism(shares(jnp.int32), quick=True) if each.verdict == "failed"]
    assert "excess: epsilon by 3e-08" in str(failed) and "as large as float32 rounding" in str(failed)
    large = audit.exact(mechanism_target("stability", calibration="printed"), Privacy(1.0, 1e-6))
    assert "excess    epsilon by inf, delta by 0.36\n" in str(large) and "rounding" not in large.details


def test_a_learner_that_casts_its_plan_is_told_not_to():
    """Programs that mix the wide leaves with float32 have no one dtype; what fails in float32, too, says so."""

    def cast(key, sample, plan):
        narrow = jax.lax.convert_element_type(plan.epsilon, jnp.float32)
        epsilon = jax.lax.cond(sample.y[0, 0], lambda: narrow, lambda: plan.epsilon)
        return choice(key, sample, Privacy(epsilon, plan.delta))

    with pytest.raises(InputError, match=r"types of its plan.*got cond branches.*do not cast.*as_it_runs=True"):
        found(cast)
    assert not found(cast, as_it_runs=True).violated
    with pytest.raises(InputError, match=r"a jittable function .*TypeError: unsupported operand"):
        found(lambda key, sample, plan: plan.epsilon + "1")


def pure(epsilon):
    return Guarantee(epsilon, 0.0, REPLACE, "pure")


@pytest.mark.parametrize("epsilon", [1e-6, 1e-3, 1.0, 20.0, 50.0])
def test_pure_claims_are_judged_by_ratios_at_any_epsilon(epsilon):
    """Two-sided geometric laws, whose rare outcomes have masses of e^-2000 at epsilon 50."""
    values = np.arange(-40, 41)
    off = np.arange(2)[:, None]
    inside = np.log(np.tanh(epsilon / 2)) - epsilon * np.abs(values - off)
    ends = -epsilon * np.abs(values - off) - np.log1p(np.exp(-epsilon))
    table = np.where(np.abs(values) == 40, ends, inside)
    pairs = np.array([[0, 1], [1, 0]])
    assert not exceeds(pure(epsilon), table, pairs)
    assert exceeds(pure(epsilon * (1 - 1e-6)), table, pairs)
    assert not exceeds(Guarantee(epsilon, 1e-9, REPLACE, "approximate"), table, pairs)
    mass = hockey_stick(table[0], table[1], epsilon / 2)
    assert exceeds(Guarantee(epsilon / 2, float(mass) * (1 - 1e-6), REPLACE, "approximate"), table, pairs)
    assert not exceeds(Guarantee(epsilon / 2, float(mass), REPLACE, "approximate"), table, pairs)


def test_a_rare_outcome_refutes_by_its_own_ratio_only():
    """A mass of 1e-34: nothing that is added to a mass of 1 shows it, and its log-ratio does."""
    rare = np.log(1e-34)
    table = np.array([[0.0, rare], [0.0, rare - 1], [0.0, rare - 1.01]])
    assert not exceeds(pure(1.0), table, np.array([[0, 1]]))
    assert exceeds(pure(1.0), table, np.array([[0, 2]]))
    missing = np.array([[0.0, rare, -800.0], [0.0, -np.inf, -np.inf]])
    assert exceeds(pure(1.0), missing, np.array([[0, 1]]))
    assert not exceeds(pure(1.0), missing[:, ::2], np.array([[0, 1]]))  # it may have underflowed on the other side


def test_relations_must_match():
    target = mechanism_target("choosing", REPLACE)
    wrong = audit.histograms(5, 3, ADD)
    with pytest.raises(InputError, match="relation"):
        audit.exact(
            audit.Target(target.name, target.claim, target.run, lambda: [wrong], target.pairs, target.table),
            Privacy(1.0, 1e-6),
        )
    with pytest.raises(InputError, match="replace-one"):
        mechanism_target("randomized_response", ADD)
    with pytest.raises(InputError, match="printed"):
        mechanism_target("exponential", calibration="printed")


@pytest.mark.statistical
@pytest.mark.parametrize(
    "name", ["exponential", "permute_and_flip", "choosing", "stability", "above_threshold", "randomized_response"]
)
def test_the_sampler_of_a_target_runs_its_law(stats, name):
    target = mechanism_target(name)
    data, plan = target.pairs()[0].first, target.plan(Privacy(1.0, 0.1))
    draw = jax.jit(jax.vmap(lambda key: target.run(key, jnp.asarray(data), plan)))
    drawn = np.asarray(draw(jax.random.split(jax.random.key(1), 20_000)))
    law = np.exp(target.table(np.asarray(data)[None], plan)[0])
    stats.chi_square(np.bincount(np.where(drawn < 0, len(law) - 1, drawn), minlength=len(law)), law)


@pytest.mark.parametrize("bytes_that_move", [0, 3, 8, 21])
def test_outcomes_are_told_apart_byte_by_byte(bytes_that_move):
    draw = np.random.default_rng(bytes_that_move)
    column = np.full((40, 7, 30), 9, np.uint8)
    column[..., 30 - bytes_that_move :] = draw.integers(0, 2, (40, 7, bytes_that_move)) * 255
    column[20:] = column[:20]
    rows = column.reshape(-1, 30)
    distinct, number = outcomes._distinct(rows)
    assert np.array_equal(distinct, np.unique(rows, axis=0)) and np.array_equal(distinct[number], rows)
