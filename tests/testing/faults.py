"""Learners, classes and laws with one fault each, which a check has to find."""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import register_dataclass

import dpjax as dp
from dpjax.concepts.outside import Outside
from dpjax.core import wide
from dpjax.core.draws import drawn
from dpjax.core.plans import STATIC, down, plan_type, up
from dpjax.laws import Categorical
from dpjax.laws.base import Law, Support, listed
from dpjax.learners.samples import single_column
from dpjax.mechanisms import exponential, exponential_guarantee
from dpjax.templates.concept_class import Intervals
from dpjax.templates.learner import Learner, Plan

CONCEPTS = dp.Thresholds(dp.Domain(16))
RELATION = dp.Neighboring.REPLACE_ONE


def require_failed(findings, check, words):
    """Raises AssertionError unless this check failed and its finding has these words."""
    found = {one.check: one for one in findings}
    assert found[check].verdict == "failed" and words in str(found[check]), str(found[check])


def errors(learner, sample, mask):
    numbers = jnp.asarray(wide.encode(range(learner.concepts.size)))
    labels = learner.concepts.predict(dp.Hypothesis.of(numbers), sample.x)
    wrong = (labels != single_column(sample, "fault")[:, None]) & mask[:, None]
    return numbers, jnp.sum(wrong, axis=0, dtype=jnp.int32)


@dataclass(frozen=True)
class ReadsPadding(Learner):
    """Counts all rows of the buffer."""

    def _learn(self, key: Array, sample: dp.Sample, plan: Plan) -> dp.Hypothesis:
        numbers, wrong = errors(self, sample, jnp.ones_like(sample.mask))
        return dp.Hypothesis.of(numbers[exponential(-wrong, plan.epsilon).sample(key)][None])


@dataclass(frozen=True)
class ReadsCapacity(Learner):
    """Scales epsilon by the buffer."""

    def _learn(self, key: Array, sample: dp.Sample, plan: Plan) -> dp.Hypothesis:
        scaled = plan.epsilon * jnp.float32(64 / sample.capacity)
        return Learner._learn(self, key, sample, Plan(scaled))


@dataclass(frozen=True)
class PlansTooMuch(Learner):
    """Rounds epsilon up."""

    def _plan(self, privacy: dp.Privacy, accuracy: dp.Accuracy, n: int | None = None) -> Plan:
        return Plan(up(float(privacy.epsilon)))


@dataclass(frozen=True)
class RunsMore(Learner):
    """Runs with twice the epsilon that its guarantee adds up."""

    def _learn(self, key: Array, sample: dp.Sample, plan: Plan) -> dp.Hypothesis:
        return Learner._learn(self, key, sample, Plan(2 * plan.epsilon))


@dataclass(frozen=True)
class OtherRelation(Learner):
    """Guarantees another relation than it names."""

    def _guarantee(self, plan: Plan) -> Any:
        return exponential_guarantee(float(plan.epsilon), "other", dp.Neighboring.ADD_OR_REMOVE_ONE)


@dataclass(frozen=True)
class SaysNothing(Learner):
    """Has no guarantee and does not say so."""

    def _guarantee(self, plan: Plan) -> Any:
        return None


@dataclass(frozen=True)
class ListField(Learner):
    """Holds a list."""

    weights: Any = field(default_factory=lambda: [1, 2])


class Plain:
    """Equal to itself only."""


@dataclass(frozen=True)
class ByAddress(Learner):
    """Holds a plain object."""

    of: Any = field(default_factory=Plain)


@dataclass(frozen=True)
class OtherDtype(Learner):
    """Has a leaf whose dtype follows epsilon."""

    def _plan(self, privacy: dp.Privacy, accuracy: dp.Accuracy, n: int | None = None) -> Plan:
        return Plan(down(float(privacy.epsilon)) if privacy.epsilon < 1 else np.int32(privacy.epsilon))


@dataclass
class Thawed(dp.Learner):
    """Is not frozen."""

    concepts: Any
    neighboring: dp.Neighboring = RELATION
    spends: ClassVar = "pure"

    def _plan(self, privacy: dp.Privacy, accuracy: dp.Accuracy, n: int | None = None) -> Plan:
        return Plan(np.float32(1))

    _learn, _guarantee, _sample_size = Learner._learn, Learner._guarantee, Learner._sample_size


@dataclass(frozen=True)
class WidePlan(Learner):
    """Has a float64 leaf."""

    def _plan(self, privacy: dp.Privacy, accuracy: dp.Accuracy, n: int | None = None) -> Plan:
        return Plan(np.float64(privacy.epsilon))


@plan_type
class Structured:
    """epsilon: a number. many: of a program for each budget."""

    epsilon: Any
    many: int = field(default=0, metadata=STATIC)


@dataclass(frozen=True)
class ProgramForEach(Learner):
    """Its plan's structure follows epsilon."""

    def _plan(self, privacy: dp.Privacy, accuracy: dp.Accuracy, n: int | None = None) -> Structured:
        return Structured(down(float(privacy.epsilon)), int(100 * privacy.epsilon))

    def _learn(self, key: Array, sample: dp.Sample, plan: Structured) -> dp.Hypothesis:
        numbers, wrong = errors(self, sample, sample.mask)
        return dp.Hypothesis.of(numbers[exponential(-wrong, plan.epsilon).sample(key)][None])

    def _guarantee(self, plan: Structured) -> Any:
        return exponential_guarantee(float(plan.epsilon), "one", self.neighboring)


@dataclass(frozen=True)
class UsesKeyTwice(Learner):
    """Draws twice from one key."""

    def _learn(self, key: Array, sample: dp.Sample, plan: Plan) -> dp.Hypothesis:
        numbers, wrong = errors(self, sample, sample.mask)
        law = exponential(-wrong, plan.epsilon)
        return dp.Hypothesis.of(numbers[jnp.minimum(law.sample(key), law.sample(key))][None])


@dataclass(frozen=True)
class DrawsOutside(Learner):
    """Takes bits from JAX, which no audit can answer."""

    def _learn(self, key: Array, sample: dp.Sample, plan: Plan) -> dp.Hypothesis:
        number = jax.random.bits(key, (1, 2), jnp.uint32) % jnp.uint32(16)
        return dp.Hypothesis.of(number.at[:, 0].set(jnp.uint32(0)))


@dataclass(frozen=True)
class Constant(Learner):
    """Always the same concept."""

    def _learn(self, key: Array, sample: dp.Sample, plan: Plan) -> dp.Hypothesis:
        return dp.Hypothesis.of(jnp.zeros((1, 2), jnp.uint32))


@dataclass(frozen=True)
class KeyBlind(Learner):
    """The concept that errs least, whatever the key and the budget."""

    def _learn(self, key: Array, sample: dp.Sample, plan: Plan) -> dp.Hypothesis:
        numbers, wrong = errors(self, sample, sample.mask)
        return dp.Hypothesis.of(numbers[jnp.argmin(wrong)][None])


@register_dataclass
@dataclass(frozen=True)
class Halved(dp.Hypothesis, Outside):
    """A concept that says that it errs half as often."""

    def predict_in(self, concepts: Any, x: Array) -> Array:
        return concepts.predict(dp.Hypothesis.of(self.concept), x)

    def error_in(self, concepts: Any, distribution: Any, target: dp.Hypothesis) -> Array:
        return concepts.error(distribution, dp.Hypothesis.of(self.concept), target) // 2

    def describe_in(self, concepts: Any, rule: Any = None) -> list[str]:
        return ["a concept"]


@dataclass(frozen=True)
class Flatters(Learner):
    """Its hypotheses understate their errors."""

    def _learn(self, key: Array, sample: dp.Sample, plan: Plan) -> Halved:
        return Halved(**vars(Learner._learn(self, key, sample, plan)))


@dataclass(frozen=True)
class ChangingSilence(Learner):
    """Has no answer, and another hypothesis each time."""

    def _learn(self, key: Array, sample: dp.Sample, plan: Plan) -> dp.Hypothesis:
        found = Learner._learn(self, key, sample, plan)
        return replace(found, outcome=jnp.full(1, -1, jnp.int32))


@dataclass(frozen=True)
class Raises(Learner):
    """Has a fault that one budget meets."""

    def _plan(self, privacy: dp.Privacy, accuracy: dp.Accuracy, n: int | None = None) -> Plan:
        if privacy.delta == 0.99:
            raise ZeroDivisionError("a planner that stumbles")
        return Learner._plan(self, privacy, accuracy)


@dataclass(frozen=True)
class Optimist(Learner):
    """Promises success from 4 rows on."""

    def _sample_size(self, privacy: dp.Privacy, accuracy: dp.Accuracy) -> int:
        return max(1, round(4 * (0.1 / accuracy.alpha) * (0.1 / accuracy.beta) ** 0.01 / privacy.epsilon**0.01))


@dataclass(frozen=True)
class Backwards(Learner):
    """Needs more rows for a larger budget."""

    def _sample_size(self, privacy: dp.Privacy, accuracy: dp.Accuracy) -> int:
        return 100 + round(100 * privacy.epsilon)


@dataclass(frozen=True)
class FarNeighbors(Learner):
    """Its neighbors differ in all rows."""

    def hard_neighbors(self, rows: int) -> Any:
        one, other = ([value] * rows for value in (3, 9))
        return [tuple(dp.database(self.concepts.domain, x, [1] * rows) for x in (one, [*other[:-1], 4]))]


@dataclass(frozen=True)
class FromSet(Learner):
    """Its program has constants in the order of a set of strings."""

    words: frozenset = frozenset({"alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"})

    def _learn(self, key: Array, sample: dp.Sample, plan: Plan) -> dp.Hypothesis:
        ties = jnp.asarray([len(word) % 3 for word in self.words] * 2, jnp.int32)
        numbers, wrong = errors(self, sample, sample.mask)
        return dp.Hypothesis.of(numbers[exponential(-(8 * wrong + ties), plan.epsilon / 8).sample(key)][None])


def host(wrong):
    return np.asarray(wrong)


@dataclass(frozen=True)
class CallsHost(Learner):
    """Its program calls a host function."""

    def _learn(self, key: Array, sample: dp.Sample, plan: Plan) -> dp.Hypothesis:
        numbers, wrong = errors(self, sample, sample.mask)
        wrong = jax.pure_callback(host, jax.ShapeDtypeStruct(wrong.shape, wrong.dtype), wrong, vmap_method="sequential")
        return dp.Hypothesis.of(numbers[exponential(-wrong, plan.epsilon).sample(key)][None])


@dataclass(frozen=True)
class CallsHostByName(CallsHost):
    """The same with a name for the host function."""

    cache_token: ClassVar[str] = "host, first version"


# --- classes -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Asymmetric(Intervals):
    """Its error counts one side."""

    def error(self, distribution: Any, hypothesis: dp.Hypothesis, target: dp.Hypothesis) -> Array:
        elements = jnp.arange(self.domain.size, dtype=jnp.uint32)[:, None]
        extra = self.predict(hypothesis, elements) & ~self.predict(target, elements)
        return jnp.sum(jnp.where(extra, distribution.mass_at(elements), jnp.uint64(0)), axis=0)


@dataclass(frozen=True)
class Doubled(Intervals):
    """Its error is the half of what it should be: a pseudometric, and wrong."""

    def error(self, distribution: Any, hypothesis: dp.Hypothesis, target: dp.Hypothesis) -> Array:
        return Intervals.error(self, distribution, hypothesis, target) // 2


@dataclass(frozen=True)
class OneSentence(Intervals):
    """Says one sentence for all concepts."""

    def describe(self, hypothesis: dp.Hypothesis, rule: Any = None) -> list[str]:
        return ["an interval"]


@dataclass(frozen=True)
class LabelsFirst(Intervals):
    """Puts the concepts' axis first."""

    def predict(self, hypothesis: dp.Hypothesis, x: Array) -> Array:
        return jnp.moveaxis(Intervals.predict(self, hypothesis, x), -1, 0)


@dataclass(frozen=True)
class NoZero(Intervals):
    """Does not know the all-zero function."""

    def predict(self, hypothesis: dp.Hypothesis, x: Array) -> Array:
        return Intervals.predict(self, replace(hypothesis, zero=jnp.zeros_like(hypothesis.zero)), x)


@dataclass(frozen=True)
class ManyTargets(Intervals):
    """Gives more targets than asked for."""

    def targets(self, count: int) -> np.ndarray:
        return Intervals.targets(self, count + 1)


@dataclass(frozen=True)
class PaddedPieces(Intervals):
    """Its pieces count rows of the padding."""

    def errors(self, x: Array, y: Array, mask: Array) -> Array:
        return Intervals.errors(self, x, y, jnp.ones_like(mask))


# --- laws --------------------------------------------------------------------------------------------------------


@register_dataclass
@dataclass(frozen=True)
class Coin(Law):
    """A law on {0, 1, 2}: what the faults below change."""

    weights: Array

    @drawn
    def sample(self, key: Array) -> Array:
        return Categorical(self.weights).sample(key)

    def log_prob(self, outcome: Array) -> Array:
        with jax.enable_x64(True):
            return jax.nn.log_softmax(self.weights.astype(jnp.float64))[outcome]

    def support(self, limit: int) -> Support | None:
        return None if limit < 3 else listed(np.arange(3, dtype=np.int32), self.log_prob)


class _Off(Coin):
    def log_prob(self, outcome: Array) -> Array:
        return Coin.log_prob(self, outcome) + jnp.where(outcome == 0, 1e-3, 0.0)

    def support(self, limit: int) -> Support | None:
        return Coin(self.weights).support(limit)


OffLogProb = register_dataclass(dataclass(frozen=True)(_Off))


@register_dataclass
@dataclass(frozen=True)
class NotNormal(Coin):
    """Its masses do not add up to 1."""

    def log_prob(self, outcome: Array) -> Array:
        return Coin.log_prob(self, outcome) - 0.1


@register_dataclass
@dataclass(frozen=True)
class OtherSampler(Coin):
    """Its sampler follows other weights."""

    @drawn
    def sample(self, key: Array) -> Array:
        return Categorical(self.weights * jnp.float32(0.8)).sample(key)


@register_dataclass
@dataclass(frozen=True)
class Unmarked(Coin):
    """Its sampler is not marked."""

    def sample(self, key: Array) -> Array:
        return jax.random.randint(key, (), 0, 3, jnp.int32)


@register_dataclass
@dataclass(frozen=True)
class Twice(Coin):
    """Lists an outcome twice."""

    def support(self, limit: int) -> Support | None:
        with jax.enable_x64(True):
            halves = jnp.full(2, jnp.log(0.5), jnp.float64)
            return None if limit < 2 else Support(jnp.zeros(2, jnp.int32), halves)
