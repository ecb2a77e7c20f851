"""MWEM: what it spends, the error it promises, the same bits whatever runs beside it, and better than noise."""

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import gamma

from dpjax import audit, evidence
from dpjax.accounting.splits import best_split
from dpjax.audit.enumeration.outcomes import exact_law
from dpjax.concepts import Finite
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Neighboring, Privacy
from dpjax.evidence.worlds import rows_of
from dpjax.learners import GenericLearner
from dpjax.mechanisms.exponential import LESS
from dpjax.sanitizers import MWEM
from dpjax.sanitizers.mwem import in_units
from dpjax.sanitizers.queries import answers, error
from dpjax.theory import sanitizers as sizes

FALSE_ALARM = 1e-6
SURE = 1 - FALSE_ALARM
TRIALS, ALPHA, BETA = 256, 0.4, 0.1
PRIVACY, ACCURACY = Privacy(1.0, 1e-6), Accuracy(ALPHA, BETA)


@pytest.fixture(autouse=True)
def strict():
    with jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"):
        yield


def thresholds(size):
    return np.arange(size)[None, :] <= np.arange(size)[:, None]


@pytest.mark.grid(keep=8)
@pytest.mark.parametrize("delta", [0.0, 1e-12, 1e-6, 0.3])
@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 8.0])
@pytest.mark.parametrize("rounds", [1, 2, 30, 1000])
def test_the_guarantee_is_the_budget(rounds, epsilon, delta):
    sanitizer = MWEM(Finite.of(thresholds(4)), rounds)
    plan = sanitizer.plan(Privacy(epsilon, delta), ACCURACY)
    spent = sanitizer.guarantee(plan)
    assert spent.neighboring is Neighboring.REPLACE_ONE
    assert 0.999 * epsilon <= spent.epsilon <= epsilon and spent.delta <= delta
    # the laws of the program have the plan's numbers
    law = sanitizer.count_law(jnp.int32(1), jnp.int32(3), 3, plan)
    scores = jnp.zeros(2, jnp.int32), jnp.asarray([0, 1], jnp.int32)
    choice = -2 * float(sanitizer.choice_law(*scores, plan).log_weights[0])
    assert float(law.scale) == float(plan.scale) and choice == pytest.approx(float(plan.choice) * (1 - LESS), rel=1e-6)
    assert float(plan.choice) == pytest.approx(2 / float(plan.scale))


def test_rounds_are_composed_by_the_theorem_that_is_least():
    sanitizer = MWEM(Finite.of(thresholds(4)), 100)
    spent = sanitizer.guarantee(sanitizer.plan(PRIVACY, ACCURACY))
    assert spent.rounds == 100 and spent.delta <= 1e-6 and "zCDP" in spent.why
    assert spent.rho == pytest.approx(100 * sum(part.rho for part in spent.parts))
    assert "basic" in sanitizer.guarantee(sanitizer.plan(Privacy(1.0, 0.0), ACCURACY)).why


@pytest.mark.statistical
def test_the_error_is_at_most_alpha_from_the_proved_number_on(stats, key):
    queries, size = Finite.of(thresholds(8)), 8
    plan = MWEM(queries, 2 * math.ceil(4 * math.log(size) / ALPHA**2))
    n = plan.sample_size(PRIVACY, Accuracy(ALPHA, BETA))
    capacity = 1 << (n - 1).bit_length()
    generator, mask = np.random.default_rng(1), np.arange(capacity) < n
    laws = np.array([np.eye(8)[7], np.eye(8)[0], [0.5, 0, 0, 0, 0, 0, 0, 0.5], np.full(8, 1 / 8)])
    x = np.full((TRIALS, capacity, 1), 0xFFFFFFFF, np.uint32)
    for trial in range(TRIALS):
        x[trial, :n, 0] = generator.choice(8, n, p=laws[trial % 4])
    made = jax.jit(jax.vmap(lambda k, x: plan.sanitize(k, x, jnp.asarray(mask), plan.plan(PRIVACY, ACCURACY))))(
        jax.random.split(key, TRIALS), jnp.asarray(x)
    )
    made = jax.tree.map(np.asarray, made)
    errors = [error(queries, jax.tree.map(lambda a: a[t], made), x[t], mask) for t in range(TRIALS)]  # noqa: B023
    stats.mostly(sum(e <= ALPHA for e in errors), TRIALS, BETA)
    assert max(errors) > ALPHA / 8


@pytest.mark.statistical
def test_without_noise_the_mean_error_keeps_its_bound(key):
    """At a huge epsilon what remains is 2 sqrt(ln d / (T + 1)): a wrong rate of moving, or sign, fails here."""
    generator = np.random.default_rng(7)
    table = generator.random((40, 64)) < 0.5
    queries = Finite.of(table)
    x = generator.choice(64, (4000, 1), p=generator.dirichlet(np.full(64, 0.1))).astype(np.uint32)
    found = []
    for rounds in (1, 160):
        sanitizer = MWEM(queries, rounds)
        plan = sanitizer.plan(Privacy(1e6), ACCURACY)
        made = jax.jit(sanitizer.sanitize)(key, jnp.asarray(x), np.ones(4000, bool), plan)
        found.append(float(error(queries, made, x, np.ones(4000, bool))))
        assert found[-1] <= 2 * math.sqrt(math.log(64) / (rounds + 1)) + 2 / 4000
    assert found[1] < 0.5 * found[0]


def test_sizes_by_hand_and_refusals():
    part, fixed = 0.1, 0.5 - 16 / 2**21
    n = sizes.mwem(16, 9, 80, part, 0.5, 0.05)
    gap = 30 * (80 * math.log(9) + float(gamma.isf(0.025, 80))) / 81 + 2
    noise = 30**2 * sizes._sum_of_squares(80, 0.025) / 81
    proved = lambda n: fixed * n - gap >= math.sqrt(4 * n**2 * math.log(16) / 81 + noise)  # noqa: E731
    assert proved(n) and not proved(n - 1)
    with pytest.raises(InputError, match=r"at least 44 for alpha = 0\.5") as refused:
        sizes.mwem(16, 9, 43, part, 0.5, 0.05)
    assert "take more rounds" in str(refused.value) and sizes.mwem(16, 9, 44, part, 0.5, 0.05) > 0
    with pytest.raises(InputError, match="smaller domain"):
        sizes.mwem(2**14, 9, 2**16, part, 0.007, 0.05)
    with pytest.raises(InputError, match="made for the class"):
        MWEM(Finite.of(np.ones((1, 2**14 + 1))), 3)
    few, plan = Finite.of(thresholds(4)), MWEM(Finite.of(thresholds(4)), 3)
    for wrong in (
        lambda: MWEM(few, 0),
        lambda: MWEM(few, 2**16 + 1),
        lambda: plan.sample_size(PRIVACY, Accuracy(0.1, 0.1)),
        lambda: plan.plan(Privacy(0.0), ACCURACY),
        lambda: plan.sample_size(PRIVACY, Accuracy(0.1, 0.0)),
    ):
        with pytest.raises(InputError):
            wrong()
    with pytest.raises(InputError, match=r"at most .* rows"):
        jax.eval_shape(
            lambda x, m: plan.sanitize(jax.random.key(0), x, m, plan.plan(PRIVACY, ACCURACY)),
            jax.ShapeDtypeStruct((2**23, 1), jnp.uint32),
            jax.ShapeDtypeStruct((2**23,), bool),
        )


@pytest.mark.parametrize("rounds", [1, 2, 50, 4000])
@pytest.mark.parametrize("beta", [0.4, 1e-3])
def test_means_of_gaps_and_noises_need_no_more_rows_than_the_largest(rounds, beta):
    """The bound of Hardt, Ligett, McSherry has the largest gap and noise of all rounds in place of the means."""
    part = 0.05
    for values, queries, alpha in ((2, 1, 0.9), (2, 3, 0.95), (16, 16, 0.5), (16, 121, 0.1), (256, 4096, 0.3)):
        room = alpha - values / 2**21 - 2 * math.sqrt(math.log(values) / (rounds + 1))
        if room <= 0:
            continue
        logs = math.log(2 * rounds * queries / beta) + math.log(2 * rounds / beta)
        largest = math.ceil((3 / part * logs + 2) / room)
        found = sizes.mwem(values, queries, rounds, part, alpha, beta)
        assert found <= largest and (rounds < 50 or found < 0.6 * largest)


@pytest.mark.parametrize(("count", "trials"), [(1, 20_000), (7, 20_000), (400, 4000)])
def test_sums_of_squares_stay_below_their_bound(count, trials):
    """By simulation, and for one variable exactly, where it is nearly met."""
    sums = np.sum(np.random.default_rng(count).exponential(size=(trials, count)) ** 2, axis=1)
    for beta in (0.5, 0.05):
        bound = sizes._sum_of_squares(count, beta)
        assert np.mean(sums > bound) <= beta + 4 * math.sqrt(beta / trials)
        assert count > 1 or math.exp(-math.sqrt(bound)) == pytest.approx(beta, rel=0.02)
    assert sizes._sum_of_squares(4000, 0.05) < 1.2 * 8000  # of mean 2 each


@pytest.mark.statistical
@pytest.mark.parametrize(
    "matrix", [thresholds(16), pytest.param(np.eye(16), marks=pytest.mark.slow)], ids=["thresholds", "points"]
)
def test_error_at_its_own_rows_over_16_values(matrix, stats, key):
    """BNS Theorem 2.19 at 16 values and alpha = .2: databases of one value, of two, of all, and random ones."""
    queries, goal, trials = Finite.of(matrix), Accuracy(0.2, 0.1), 64
    sanitizer, generator = MWEM(queries), np.random.default_rng(2)
    n, plan = sanitizer.sample_size(PRIVACY, goal), sanitizer.plan(PRIVACY, goal)
    assert n == 8745 and plan.rounds == 1052
    laws = [
        np.eye(16)[3],
        (np.eye(16)[0] + np.eye(16)[15]) / 2,
        np.full(16, 1 / 16),
        generator.dirichlet(np.full(16, 0.3)),
    ]
    x = np.array([generator.choice(16, (n, 1), p=laws[i % 4]) for i in range(trials)]).astype(np.uint32)
    run = jax.jit(jax.vmap(lambda k, x: sanitizer.sanitize(k, x, jnp.ones(n, bool), plan)))
    made = jax.tree.map(np.asarray, run(jax.random.split(key, trials), jnp.asarray(x)))
    errors = [error(queries, jax.tree.map(lambda a: a[t], made), x[t], np.ones(n, bool)) for t in range(trials)]  # noqa: B023
    stats.mostly(sum(e <= goal.alpha for e in errors), trials, goal.beta)
    assert max(errors) > goal.alpha / 8


def test_rows_of_a_generic_learner_at_16_values_are_accepted():
    """`sample_size` is one of `learn`, at alpha = .1."""
    for matrix in (Finite.of(thresholds(16)), Finite.of(np.eye(16))):
        learner, goal = GenericLearner(matrix, 1, MWEM(matrix.xor()), "zcdp"), Accuracy(0.1, 0.1)
        assert 1.5e6 < learner.sample_size(PRIVACY, goal) < 1.6e6 < learner.most_rows(learner.plan(PRIVACY, goal))


@pytest.mark.slow
@pytest.mark.statistical
def test_replays_get_more_out_of_the_same_counts(key):
    """The same questions and noise spent, and less error: medians over 24 databases of 500 rows."""
    generator = np.random.default_rng(9)
    queries = Finite.of(generator.random((60, 64)) < 0.5)
    x = np.stack([generator.choice(64, (500, 1), p=generator.dirichlet(np.full(64, 0.2))) for _ in range(24)])
    found = []
    for replays in (0, 4):
        plan = MWEM(queries, 20, replays)
        numbers = plan.plan(Privacy(2.0, 1e-6), ACCURACY)
        made = jax.jit(
            jax.vmap(lambda k, x, plan=plan, numbers=numbers: plan.sanitize(k, x, jnp.ones(500, bool), numbers))
        )(jax.random.split(key, 24), jnp.asarray(x, jnp.uint32))
        errors = [error(queries, jax.tree.map(lambda a: a[t], made), x[t], np.ones(500, bool)) for t in range(24)]  # noqa: B023
        found.append(float(np.median([float(e) for e in errors])))
    assert found[1] < 0.6 * found[0]


def test_planned_rounds_need_the_fewest_rows():
    queries, accuracy = Finite.of(thresholds(32)), Accuracy(0.3, 0.1)
    sanitizer = MWEM(queries)
    plan = sanitizer.plan(PRIVACY, accuracy)
    around = [MWEM(queries, plan.rounds + off).sample_size(PRIVACY, accuracy) for off in range(-60, 61, 5)]
    assert sanitizer.sample_size(PRIVACY, accuracy) <= 1.02 * min(around)
    with pytest.raises(InputError, match="replays"):
        MWEM(queries, 400, 1).sample_size(PRIVACY, accuracy)
    with pytest.raises(InputError, match="65536 rounds"):
        MWEM(queries).plan(PRIVACY, Accuracy(0.01, 0.1))
    with pytest.raises(InputError, match="smaller domain"):
        MWEM(Finite.of(np.ones((1, 2**14)))).plan(PRIVACY, Accuracy(0.005, 0.1))


@pytest.mark.parametrize("replays", [pytest.param(0, marks=pytest.mark.slow), 3])
def test_total_on_every_database_in_one_trace(replays, run, key):
    plan = MWEM(Finite.of(thresholds(5)), 6, replays)
    for n in (0, 1, 2, 9):
        for value, (epsilon, delta) in ((0, (1.0, 1e-6)), (4, (1e-3, 1e-12)), (2**32 - 1, (1e3, 0.5))):
            made = run(plan)(key, np.full((9, 1), value, np.uint32), np.arange(9) < n, epsilon, delta)
            weights = np.asarray(made.weights)
            assert weights.min() >= 0 and abs(int(weights.sum()) - 2**23) <= 5
            assert np.asarray(made.points)[:, 0].tolist() == [0, 1, 2, 3, 4] and not np.asarray(made.outcome).any()
            if n == 0:
                np.testing.assert_array_equal(weights, weights[0])
    assert run(plan).program._cache_size() == 1
    one = MWEM(Finite.of([[1], [0]]), 2)
    assert np.asarray(run(one)(key, np.zeros((3, 1), np.uint32), np.ones(3, bool)).weights).tolist() == [2**23]


@pytest.mark.optimized
@pytest.mark.parametrize(
    ("size", "count", "replays"),
    [(13, 7, 2), *(pytest.param(*row, marks=pytest.mark.slow) for row in ((13, 7, 0), (100, 37, 0)))],
)
def test_neither_batch_nor_capacity_nor_order_nor_row_of_a_batch_matters(size, count, replays, run, key):
    generator, n = np.random.default_rng(5), 200
    plan = MWEM(Finite.of(generator.random((count, size)) < 0.4), 12, replays)
    x, keys = generator.integers(0, size, (n, 1)).astype(np.uint32), jax.random.split(key, 21)
    alone = np.stack([np.asarray(run(plan)(k, x, np.ones(n, bool), 4.0).weights) for k in keys])
    assert len(np.unique(alone, axis=0)) > 15
    longer = np.concatenate([x[generator.permutation(n)], np.full((57, 1), 0xFFFFFFFF, np.uint32)])
    for k, want in zip(keys[:6], alone, strict=False):
        np.testing.assert_array_equal(run(plan)(k, longer, np.arange(n + 57) < n, 4.0).weights, want)
    numbers = plan.plan(Privacy(4.0, 1e-6), ACCURACY)
    batch = jax.jit(jax.vmap(lambda k: plan.sanitize(k, jnp.asarray(x), jnp.ones(n, bool), numbers)))
    for start in range(0, 21, 7):
        np.testing.assert_array_equal(batch(keys[start : start + 7]).weights, alone[start : start + 7])


@pytest.mark.slow
def test_neither_devices_nor_64_bit_types_matter(fresh):
    program = """
import json, jax, numpy as np, jax.numpy as jnp
from dpjax.concepts import Finite
from dpjax.sanitizers import MWEM
from dpjax.core.types import Accuracy, Privacy
generator = np.random.default_rng(5)
plan = MWEM(Finite.of(generator.random((7, 13)) < 0.4), 12)
x = jnp.asarray(generator.integers(0, 13, (200, 1)).astype(np.uint32))
keys = jax.random.split(jax.random.key(3), 8)
numbers = plan.plan(Privacy(4.0, 1e-6), Accuracy(0.4, 0.1))
run = lambda k: plan.sanitize(k, x, jnp.ones(200, bool), numbers).weights
with jax.default_device(jax.devices()[-1]):
    found = np.asarray(jax.jit(jax.vmap(run))(jnp.array(keys)))
print(json.dumps([len(jax.devices()), found.tolist()]))
"""
    flag = "--xla_force_host_platform_device_count="
    found = [
        fresh(program, XLA_FLAGS=f"{flag}{count}", JAX_ENABLE_X64=wide)
        for count, wide in ((1, "0"), (8, "0"), (2, "1"))
    ]
    assert [count for count, _ in found] == [1, 8, 2]
    assert found[0][1] == found[1][1] == found[2][1]


def test_units_are_the_distribution_whatever_the_length():
    generator = np.random.default_rng(0)
    with jax.enable_x64(True):
        for size in (1, 3, 7, 1000):
            below = (generator.exponential(3, (8, size)) * 2**22).astype(np.int64)
            below[:, 0] = 0
            found = np.asarray(jax.jit(jax.vmap(in_units))(below))
            np.testing.assert_array_equal(found, [np.asarray(jax.jit(in_units)(row)) for row in below])
            share = np.exp2(-below / 2**22)
            share /= share.sum(axis=1, keepdims=True)
            assert np.max(np.abs(found - 2**23 * share)) < 1.5
        assert np.asarray(jax.jit(in_units)(jnp.asarray([0, 2**22, 2**60]))).tolist() == [5592405, 2796203, 0]


@pytest.mark.statistical
@pytest.mark.parametrize("name", ["basic", "zCDP"])
def test_better_than_a_noisy_count_of_every_query(name, key):
    """4096 random queries on 256 values, 2000 rows: the same budget spent on Laplace counts of all of them."""
    generator, n = np.random.default_rng(2), 2000
    queries = Finite.of(generator.random((4096, 256)) < 0.5)
    x = generator.choice(256, (n, 1), p=generator.dirichlet(np.full(256, 0.05))).astype(np.uint32)
    privacy = Privacy(1.0, 0.0 if name == "basic" else 1e-6)
    sanitizer = MWEM(queries, 40)
    made = jax.jit(sanitizer.sanitize)(key, jnp.asarray(x), np.ones(n, bool), sanitizer.plan(privacy, ACCURACY))
    ours = float(error(queries, made, x, np.ones(n, bool)))
    part = best_split(1.0, privacy.delta, queries.size, "pure")[0].epsilon
    noise = np.abs(generator.laplace(0, 1 / part, (50, queries.size))).max(axis=1) / n
    assert 2 * ours < np.median(np.minimum(noise, 1))


SHARP, MILD = (4.0, 0.3), (1.0, 1e-6)


def few(rows, name="sanitizer-mwem"):
    target = evidence.sanitizer_target(name)
    return dataclasses.replace(target, universes=lambda: target.universes()[rows - 1 : rows])


@pytest.mark.parametrize("budget", [MILD, pytest.param(SHARP, marks=pytest.mark.slow), (4.0, 1e-3)])
def test_the_exact_law_keeps_the_claim(budget):
    report = audit.exact(few(3), Privacy(*budget))
    assert not report.violated and 0.5 * report.claim.epsilon < report.epsilon_found
    if budget == MILD:
        assert report.epsilon_found > 0.7  # of 1, so that a factor of 2 is seen


@pytest.mark.parametrize("share", [1.5, pytest.param(2.0, marks=pytest.mark.slow)])
def test_a_wrong_split_is_refuted(share):
    target = few(3)
    claim = lambda e, d: target.claim(e / share, d)  # noqa: E731
    assert audit.exact(dataclasses.replace(target, claim=claim), Privacy(1.0, 0.0)).violated


def test_the_exact_law_with_replays_keeps_the_claim():
    report = audit.exact(few(3, "sanitizer-mwem-replays"), Privacy(*SHARP))
    assert not report.violated and 0.5 * report.claim.epsilon < report.epsilon_found


@pytest.mark.statistical
@pytest.mark.parametrize("name", [pytest.param("sanitizer-mwem", marks=pytest.mark.slow), "sanitizer-mwem-replays"])
def test_the_listed_law_is_the_law_of_the_program(name, stats, key):
    """Three rows at epsilon 4: the answer after two rounds of `sanitize` against the table of the audit."""
    target, values, trials = evidence.sanitizer_target(name), [0, 2, 3], 30_000
    data, plan = rows_of(values, 2), target.plan(Privacy(4.0, 0.0))
    drawn = jax.jit(jax.vmap(lambda k: target.run(k, data, plan)[1]))(jax.random.split(key, trials))
    law, drawn = {}, np.asarray(drawn)
    logs, outcomes = exact_law(target.run, jax.tree.map(lambda part: part[None], data), plan)
    for log_p, raw in zip(logs[0], outcomes, strict=True):
        law[tuple(np.frombuffer(raw.tobytes(), np.int32)[4:].tolist())] = math.exp(log_p)
    names, place = np.unique(drawn, axis=0, return_inverse=True)
    seen = {tuple(name.tolist()): int(np.sum(place == i)) for i, name in enumerate(names)}
    assert set(seen) <= set(law) and len(law) > 30
    stats.chi_square([seen.get(name, 0) for name in law], list(law.values()))


@pytest.mark.parametrize("skipped", ["count", "choice"])
def test_noise_that_is_skipped_is_refuted(skipped, monkeypatch):
    right = getattr(MWEM, f"{skipped}_law")
    loud = lambda plan: dataclasses.replace(plan, choice=plan.choice * 1e3, scale=plan.scale / 1e3)  # noqa: E731
    monkeypatch.setattr(MWEM, f"{skipped}_law", lambda self, *given: right(self, *given[:-1], loud(given[-1])))
    assert audit.exact(few(3), Privacy(1.0, 0.0)).violated


@pytest.mark.slow
@pytest.mark.statistical
def test_a_statistical_audit_is_consistent_and_sees_noise_that_is_skipped(monkeypatch):
    """The program itself, not its table. Noise is left out of counts; the choices stay private."""
    target, trials = evidence.sanitizer_target("sanitizer-mwem"), 20_000
    claim, plan = target.claim(2.0, 0.0), target.plan(Privacy(2.0, 0.0))

    def check():
        sides = []
        for seed, values in enumerate(([0, 0, 2], [0, 2, 2])):
            data = rows_of(values, 2)
            one = lambda k, data=data: target.run(k, data, plan)[1]  # noqa: E731
            sides.append(np.asarray(jax.jit(jax.vmap(one))(jax.random.split(jax.random.key(seed), trials))))
        return audit.of_outputs(*sides, claim, confidence=SURE)

    report = check()
    assert not report.violated and report.epsilon_found > 0.3
    right = MWEM.count_law
    quiet = lambda plan: dataclasses.replace(plan, scale=plan.scale / 1e6)  # noqa: E731
    monkeypatch.setattr(MWEM, "count_law", lambda self, *given: right(self, *given[:-1], quiet(given[-1])))
    report = check()
    assert report.violated, str(report)


@pytest.mark.slow
def test_replayed_questions_stay_within_their_sensitivity():
    assert not audit.replay(evidence.sanitizer_target("sanitizer-mwem"), Privacy(1.0)).violated


@pytest.mark.slow
def test_the_largest_class_runs(key):
    """2**14 queries on 2**14 values."""
    generator, size, n = np.random.default_rng(3), 2**14, 20_000
    queries = Finite.of(generator.integers(0, 256, (size, size), np.uint8) < 128)
    x = (generator.geometric(0.002, (n, 1)) % size).astype(np.uint32)
    plan = MWEM(queries, 8)
    numbers = plan.plan(Privacy(4.0, 1e-6), ACCURACY)
    made = jax.jit(plan.sanitize)(key, jnp.asarray(x), jnp.ones(n, bool), numbers)
    assert float(error(queries, made, x, np.ones(n, bool))) < 0.2
    truth = answers(queries, jnp.asarray(np.bincount(x[:, 0], minlength=size), jnp.int32))
    rows = [0, 77, size - 1]
    np.testing.assert_array_equal(np.asarray(truth)[rows], [queries.matrix()[i][x[:, 0]].sum() for i in rows])
