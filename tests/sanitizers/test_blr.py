"""BLR: its law against brute force, its number of rows, and its refusals; counting queries in whole numbers."""

import dataclasses
import itertools
import math
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax import audit, evidence
from dpjax.concepts import Finite
from dpjax.core.checks import InputError
from dpjax.core.plans import down, widened
from dpjax.core.types import Accuracy, Neighboring, Privacy
from dpjax.sanitizers import BLR, Sanitized
from dpjax.sanitizers.queries import answers, error, histogram, query
from dpjax.theory import sanitizers as sizes

FALSE_ALARM = 1e-6
TABLE = [[1, 0, 0, 1], [1, 1, 0, 0], [0, 1, 0, 1]]
TRIALS, ALPHA, BETA = 256, 0.35, 0.1


@pytest.fixture(autouse=True)
def strict():
    with jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"):
        yield


def brute(table, rows, m, epsilon):
    """{multiset: probability}, weights exp(-epsilon n error / 2) with the error as a share."""
    table = np.array(table)
    weights = {}
    for chosen in itertools.combinations_with_replacement(range(table.shape[1]), m):
        gaps = [
            abs(Fraction(int(q[list(chosen)].sum()), m) - Fraction(int(q[rows].sum()), max(len(rows), 1)))
            for q in table
        ]
        weights[chosen] = math.exp(-epsilon * len(rows) * max(gaps) / 2) if rows else 1.0
    total = sum(weights.values())
    return {chosen: weight / total for chosen, weight in weights.items()}


@pytest.mark.grid
@pytest.mark.parametrize("m", [1, 3])
@pytest.mark.parametrize("rows", [[], [3], [0, 0, 1], [2, 3, 1, 1, 0, 3, 3]])
def test_the_law_is_that_of_the_definition(rows, m):
    plan, capacity = BLR(Finite.of(TABLE), m), 9
    x = np.full((capacity, 1), 0xDEADBEEF, np.uint32)
    x[: len(rows), 0] = rows
    want = brute(TABLE, rows, m, float(down(1.7)))
    with jax.enable_x64(True):
        numbers = jax.tree.map(jnp.asarray, widened(plan.plan(Privacy(1.7), Accuracy(ALPHA, BETA))))
        log_probs = jax.jit(lambda x, mask: plan.law(x, mask, numbers).log_probs())
        np.testing.assert_allclose(
            np.exp(log_probs(x, np.arange(capacity) < len(rows))), list(want.values()), rtol=1e-12
        )
    assert plan.databases(m) == len(want)


@pytest.mark.statistical
def test_what_is_drawn_is_the_multiset_of_its_number(stats, run, key):
    plan, trials = BLR(Finite.of(TABLE), 2), 20_000
    x = jnp.asarray([[0], [3], [3]], jnp.uint32)
    numbers = plan.plan(Privacy(3.0), Accuracy(ALPHA, BETA))
    made = jax.jit(jax.vmap(lambda k: plan.sanitize(k, x, jnp.ones(3, bool), numbers)))(jax.random.split(key, trials))
    want = brute(TABLE, [0, 3, 3], 2, 3.0)
    drawn = [tuple(sorted(row)) for row in np.asarray(made.points)[:, :, 0].tolist()]
    stats.chi_square([drawn.count(chosen) for chosen in want], list(want.values()))
    assert np.all(np.asarray(made.weights) == 1)


@pytest.mark.statistical
def test_the_error_is_at_most_alpha_from_the_proved_number_on(stats, key):
    queries = Finite.of(TABLE)
    plan = BLR(queries, 14)
    n = plan.sample_size(Privacy(1.0), Accuracy(ALPHA, BETA))
    numbers = plan.plan(Privacy(1.0), Accuracy(ALPHA, BETA))
    generator = np.random.default_rng(1)
    law = np.array([[0.97, 0.01, 0.01, 0.01], [0.25] * 4, [0.49, 0.01, 0.01, 0.49]])[np.arange(TRIALS) % 3]
    x = np.array([generator.choice(4, (n, 1), p=p) for p in law]).astype(np.uint32)
    made = jax.jit(jax.vmap(lambda k, x: plan.sanitize(k, x, jnp.ones(n, bool), numbers)))(
        jax.random.split(key, TRIALS), jnp.asarray(x)
    )
    errors = [error(queries, jax.tree.map(lambda a: a[t], made), x[t], np.ones(n, bool)) for t in range(TRIALS)]  # noqa: B023
    stats.mostly(sum(e <= ALPHA for e in errors), TRIALS, BETA)
    assert max(errors) > ALPHA / 5


def test_sizes_by_hand_and_refusals():
    error = sizes.sampled_error(3, 40)
    assert error == math.sqrt(math.log(6) / 80)
    assert sizes.blr(10, error, 0.5, 0.3, 0.1) == math.ceil(4 * math.log(100) / (0.3 - error))
    goal = Privacy(1.0), Accuracy(0.3, 0.1)
    with pytest.raises(InputError, match=r"at least 10 for alpha = 0\.3"):
        BLR(Finite.of(TABLE), 9).sample_size(*goal)
    assert BLR(Finite.of(TABLE), 10).sample_size(*goal) > 0  # what was advised is enough
    wide = Finite.of(np.eye(64))
    with pytest.raises(InputError, match=r"766480 x \(64 \+ 4\)") as refused:
        BLR(wide, 4)
    assert "MWEM" in str(refused.value) and BLR(wide, 3).databases(3) == 45760
    with pytest.raises(InputError, match=r"about 2\*\*"):
        BLR(Finite.of(np.ones((1, 4096))), 10_000)  # a number too long to print
    for wrong in (
        lambda: BLR(wide, 0),
        lambda: BLR(wide, 2).sample_size(Privacy(0.0), Accuracy(0.1, 0.1)),
        lambda: BLR(wide, 2).sample_size(Privacy(1.0), Accuracy(1.0, 0.1)),
    ):
        with pytest.raises(InputError):
            wrong()


def test_planned_points_need_the_fewest_rows():
    queries, accuracy = Finite.of(TABLE), Accuracy(0.3, 0.1)
    found = BLR(queries).sample_size(Privacy(1.0), accuracy)
    assert found == min(BLR(queries, m).sample_size(Privacy(1.0), accuracy) for m in range(10, 98))
    with pytest.raises(InputError, match="multisets"):
        BLR(Finite.of(np.eye(64))).plan(Privacy(1.0), accuracy)


def test_buffers_in_which_counts_would_not_be_exact_are_refused():
    plan = BLR(Finite.of([[0, 1]]), 300)
    shape = lambda rows: (jax.ShapeDtypeStruct((rows, 1), jnp.uint32), jax.ShapeDtypeStruct((rows,), bool))  # noqa: E731
    numbers = plan.plan(Privacy(1.0), Accuracy(ALPHA, BETA))
    law = lambda x, mask: plan.law(x, mask, numbers)  # noqa: E731
    jax.eval_shape(law, *shape(2**31 // 300))
    with pytest.raises(InputError, match=r"at most .* rows"):
        jax.eval_shape(law, *shape(2**31 // 300 + 1))
    few = dataclasses.replace(numbers, size=1)
    with pytest.raises(InputError, match=r"at most .* rows"):
        jax.eval_shape(lambda x, mask: BLR(Finite.of(TABLE), 1).law(x, mask, few), *shape(2**24))


def test_the_guarantee_is_pure_and_nearly_used_up():
    """The class of the audit, at one to four rows: the worst pair comes to more than 3/4 of epsilon."""
    for budget in ((1.0, 1e-6), (4.0, 0.3)):
        report = audit.exact(evidence.sanitizer_target("sanitizer-blr"), Privacy(*budget))
        print(f"BLR: {report.epsilon_found:.3f} of {report.claim.epsilon}")
        assert not report.violated and report.claim.delta == 0 and report.claim.epsilon == budget[0]
        assert 0.75 * budget[0] < report.epsilon_found <= budget[0] * (1 + 1e-9)
        assert report.claim.neighboring is Neighboring.REPLACE_ONE


def test_a_sensitivity_of_half_is_refuted(monkeypatch):
    """Errors in rows of m n, declared to move by m / 2."""
    import dpjax.sanitizers.blr as module

    right = module.exponential
    monkeypatch.setattr(
        module, "exponential", lambda score, e, sensitivity: right(score, e, sensitivity=sensitivity / 2)
    )
    target = evidence.sanitizer_target("sanitizer-blr")
    few = dataclasses.replace(target, universes=lambda: target.universes()[3:])
    assert audit.exact(few, Privacy(1.0)).violated


@pytest.mark.slow
def test_replayed_questions_stay_within_their_sensitivity():
    assert not audit.replay(evidence.sanitizer_target("sanitizer-blr"), Privacy(1.0)).violated


@pytest.mark.parametrize("shape", [(1, 1), (3, 4), (5, 8), (9, 17), (3000, 900)])
def test_answers_are_exact_and_a_query_is_its_row(shape):
    generator = np.random.default_rng(3)
    table = generator.random(shape) < 0.5
    queries = Finite.of(table)
    counts = generator.integers(0, (2**24 - 1) // shape[1], shape[1]).astype(np.int32)
    found = jax.jit(lambda c: answers(queries, c))(jnp.asarray(counts))
    row = jax.jit(lambda number: query(queries, number))
    np.testing.assert_array_equal(found, table.astype(np.int64) @ counts)
    for number in (0, shape[0] - 1):
        np.testing.assert_array_equal(row(jnp.int32(number)), table[number])


def test_histogram_puts_what_is_beyond_into_the_last_value():
    x = np.array([[0], [2], [7], [2**32 - 1], [1]], np.uint32)
    found = jax.jit(lambda x, mask: histogram(3, x, mask))(x, np.array([1, 1, 1, 1, 0], bool))
    assert np.asarray(found).tolist() == [1, 0, 3]


def test_the_error_against_its_definition():
    generator = np.random.default_rng(4)
    for _ in range(50):
        table, n = generator.random((4, 5)) < 0.4, int(generator.integers(0, 9))
        rows, points, weights = generator.integers(0, 5, 9), generator.integers(0, 5, 6), generator.integers(0, 9, 6)
        weights[0] += not weights.any()
        made = Sanitized.of(jnp.asarray(points[:, None], jnp.uint32), jnp.asarray(weights, jnp.int32))
        want = (
            max(
                abs(Fraction(int(weights[q[points]].sum()), int(weights.sum())) - Fraction(int(q[rows[:n]].sum()), n))
                for q in table
            )
            if n
            else 0
        )
        assert error(Finite.of(table), made, rows[:, None].astype(np.uint32), np.arange(9) < n) == want
