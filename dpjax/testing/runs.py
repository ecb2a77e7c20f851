"""Checks that outputs depend on rows, key and plan alone, and that learning is total."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpjax import audit
from dpjax.core.checks import InputError
from dpjax.core.types import Sample
from dpjax.testing.comparisons import difference
from dpjax.testing.findings import Skipped, require, short
from dpjax.testing.samples import CAPACITY, words
from dpjax.testing.under_test import BATCH, LearnerUnderTest

_FEW, _HALVINGS = 7, 12
_ORDINARY = "a plan for an ordinary budget"


def only_typed_keys_are_taken(subject: LearnerUnderTest) -> None:
    """Raw ``uint32[2]`` keys and keys of another generator are refused before anything runs."""
    for bad in (jax.random.key_data(jax.random.key(0)), jax.random.key(0, impl="rbg")):
        try:
            jax.eval_shape(subject.learner.learn, bad, subject.draw(), subject.plan())
        except InputError:
            continue
        advice = "split keys by dpjax.keys.streams, or derive the learner from dpjax.learners.Learner"
        require(False, "an InputError for it", f"an answer with the key {short(bad)}", advice)


def no_key_is_used_twice(subject: LearnerUnderTest) -> None:
    """No key is reused, by JAX's check for reused keys."""
    sample, plan, learner = subject.draw(), subject.plan(), subject.learner
    with jax.debug_key_reuse(True):
        try:
            jax.eval_shape(jax.jit(lambda key: learner.learn(key, sample, plan).outcome), jax.random.key(0))  # traced
        except jax.errors.KeyReuseError as error:
            first = str(error).splitlines()[0]
            require(False, "each key used once", first, "split it: dpjax.keys.streams(key, 'one', 'other')")


def all_randomness_comes_from_laws(subject: LearnerUnderTest) -> None:
    """Random bits occur only inside draws from laws, for which audits can supply outcomes."""
    outside = audit.random_bits_outside(subject.learner.learn, jax.random.key(0), subject.draw(), subject.plan())
    advice = "draw from a law, for example dpjax.mechanisms.exponential(scores, epsilon).sample(key)"
    require(not outside, "draws from laws of dpjax or of your own", short(outside), advice)


def the_answer_depends_on_the_key(subject: LearnerUnderTest) -> None:
    """For private learners; at a small budget on few rows, at one of several larger budgets, or at a budget between two
    with different answers. A learner that gives one answer to everything need not draw."""
    if subject.learner.guarantee(subject.plan()) is None:
        raise Skipped("it claims no privacy")
    few, many = subject.draw(3), subject.draw()
    tries: list[Any] = [(few, (0.01,)), (many, (4.0, 0.4)), (many, (9.0,)), (many, (40.0,))]
    seen: list[np.ndarray] = []
    for sample, budget in tries:
        if len(answers := _answers(subject, sample, *budget)) > 1:
            return
        seen.append(answers)
    for sample, delta in ((few, 0.4), (many, 0.4), (many, 1e-6)):
        low, high = 0.01, 40.0
        ends = [_answers(subject, sample, epsilon, delta) for epsilon in (low, high)]
        seen += ends
        for _ in range(_HALVINGS):
            if max(map(len, ends)) > 1:
                return
            if np.array_equal(ends[0], ends[1]):
                break
            middle = float(np.sqrt(low * high))
            answers = _answers(subject, sample, middle, delta)
            low, high, ends = (
                (middle, high, [answers, ends[1]])
                if np.array_equal(answers, ends[0])
                else (low, middle, [ends[0], answers])
            )
    if len(np.unique(np.concatenate(seen), axis=0)) == 1:
        raise Skipped("it gave the same answer to all samples and budgets that were tried")
    require(False, "answers that differ between keys", f"one answer for {BATCH} keys", "draw from the key")


def _answers(subject: LearnerUnderTest, sample: Sample, *budget: float) -> np.ndarray:
    """The different answers to a batch of keys."""
    hypotheses = subject.learn(sample, *budget)
    rows = np.concatenate([np.asarray(hypotheses.concept).reshape(BATCH, -1), np.asarray(hypotheses.outcome)], axis=1)
    return np.unique(rows, axis=0)


def padding_does_not_matter(subject: LearnerUnderTest) -> None:
    """Masked rows may have any content, in any order."""
    for n, epsilon in [(0, 1.0), (5, 4.0), *((40, e) for e in subject.budgets)]:
        clean, dirty = (subject.draw(n, realizable=n < 40, garbage=garbage) for garbage in (False, True))
        order = np.concatenate([np.arange(n), n + np.argsort(words(f"order {n}", CAPACITY - n))])
        mixed = Sample(jnp.asarray(np.asarray(dirty.x)[order]), jnp.asarray(np.asarray(dirty.y)[order]), dirty.mask)
        answer = subject.learn(clean, epsilon)
        for other in (dirty, mixed):
            differs = difference(answer, subject.learn(other, epsilon))
            actual = f"another one at n = {n}, epsilon = {epsilon:g} when masked rows change: {differs}"
            require(not differs, "the same answer", actual, "count rows where mask is True: others are garbage")


def capacity_batch_and_64_bit_types_do_not_matter(subject: LearnerUnderTest) -> None:
    """One run at a time in a larger buffer with 64-bit types equals a batch in a small buffer without, bitwise."""
    with jax.enable_x64(True):
        large = subject.draw(40, 2 * CAPACITY, realizable=False)
        runs = [subject.learn(large, epsilon, batch=_FEW, how=subject.one_by_one) for epsilon in subject.budgets]
        answers = [jax.tree.map(np.asarray, run) for run in runs]
    small = subject.draw(realizable=False)
    for epsilon, other in zip(subject.budgets, answers, strict=True):
        answer = jax.tree.map(lambda part: np.asarray(part)[:_FEW], subject.learn(small, epsilon))
        differs = difference(answer, other)
        actual = f"another one at epsilon = {epsilon:g}: {differs}"
        advice = "pad draws on the leading axis only, name every dtype, sort and decide on whole numbers"
        require(not differs, "the same answer in another capacity, batch and 64-bit mode", actual, advice)


def jit_does_not_matter(subject: LearnerUnderTest) -> None:
    """The same output without jit, in a small buffer since every operation is then compiled separately."""
    sample, key, learn = subject.draw(12, capacity=16), jax.random.key(1), subject.learner.learn
    plan = jax.tree.map(jnp.asarray, subject.plan(4.0))
    differs = difference(learn(key, sample, plan), jax.jit(learn)(key, sample, plan))
    require(not differs, "the same answer without jit", f"another one: {differs}", "decide on whole numbers")


def promotion_of_types_is_explicit(subject: LearnerUnderTest) -> None:
    """The learner can be traced under ``jax_numpy_dtype_promotion=strict``."""
    sample, plan = subject.draw(), subject.plan()
    with jax.numpy_dtype_promotion("strict"):
        try:
            jax.eval_shape(subject.learner.learn, jax.random.key(0), sample, plan)
        except jax.dtypes.TypePromotionError as error:
            first = str(error).splitlines()[0]
            require(False, "no implicit promotion of types", first, "write astype, or jnp.float32(...)")


def every_database_and_budget_has_an_answer(subject: LearnerUnderTest) -> None:
    """n = 0, 1, 2 and a full buffer, realizable or not, at ordinary and extreme budgets; also an empty buffer.

    The host may refuse a plan for an extreme budget. If the learner abstains, outcome is -1 and the hypothesis is the
    same in every run.
    """
    budgets = (
        (1.0, 1e-6, 0.1, 0.1),
        (1e4, 1e-12, 0.1, 0.1),
        (1e-6, 1e-12, 1e-6, 1e-6),
        (1e-30, 1e-30, 0.9, 0.9),
        (1.0, 0.0, 0.1, 0.1),
        (0.5, 0.99, 0.1, 0.1),
    )
    for epsilon, delta, alpha, beta in budgets:
        try:
            subject.plan(epsilon, delta, alpha, beta)
        except InputError as error:
            ordinary = 1e-3 <= epsilon <= 1e3 and delta > 0 and alpha >= 1e-3
            require(not ordinary, _ORDINARY, f"{error}", "plan every ordinary budget")
            continue
        for n, realizable in ((n, realizable) for n in (0, 1, 2, CAPACITY) for realizable in (True, False)):
            answer = subject.learn(subject.draw(n, realizable=realizable), epsilon, delta, alpha, beta)
            concept, zero, outcome = (np.asarray(part) for part in (answer.concept, answer.zero, answer.outcome))
            at = f" at n = {n}, epsilon = {epsilon:g}, delta = {delta:g}"
            codes = np.unique(outcome)
            require(set(codes) <= {0, -1}, "outcomes 0 and -1", f"{codes}{at}", "return -1 to abstain")
            silent = np.concatenate([zero[outcome == -1][:, None], concept[outcome == -1]], axis=1)
            advice = "return one hypothesis wherever outcome is -1, for example zero = True and concept = 0"
            expected = "one fixed hypothesis if the learner abstains"
            require(len(np.unique(silent, axis=0)) <= 1, expected, f"several{at}", advice)
            for part in jax.tree.leaves(answer):
                whole = not jnp.issubdtype(part.dtype, jnp.floating)
                require(whole or not np.isnan(part).any(), "no NaN", f"NaN{at}", "abstain with outcome -1 instead")
    empty = jax.tree.map(lambda part: part[:0], subject.draw(0))
    jax.eval_shape(subject.learner.learn, jax.random.key(0), empty, subject.plan())
