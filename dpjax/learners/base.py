"""The base class of learners: plan, learn, guarantee and sample_size describe one algorithm and must agree."""

import inspect
import sys
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast, final

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.accounting.guarantee import Guarantee
from dpjax.accounting.splits import COMPOSITIONS
from dpjax.concepts import outside
from dpjax.concepts.base import ConceptClass
from dpjax.concepts.domain import Domain
from dpjax.core import checks
from dpjax.core.arithmetic import arithmetic
from dpjax.core.checks import InputError, NoTheoremError
from dpjax.core.members import Base, implements, member, required
from dpjax.core.plans import Spends, require_leaves
from dpjax.core.types import MOST_ROWS, Accuracy, Neighboring, Privacy, Sample, host_numbers, require_relation
from dpjax.learners.samples import Pairs, flipped_label_pairs, limbs_of


class Learner(Base):
    """Base class of learners: a frozen dataclass, equal by value, whose fields are structure, without a budget.

    `plan` computes on the host every number that depends on the budget and the accuracy, `learn` runs with the plan,
    and `guarantee` composes the costs of the plan's numbers. `learn` is pure, jittable and total: it returns a
    hypothesis for every database, realizable or not, empty or not, and `guarantee` holds for all of them.

    A subclass has ``concepts`` and implements ``_plan``, ``_learn``, ``_guarantee`` and, if there is a theorem,
    ``_sample_size``; the public methods of these names validate their arguments and call them. All other members have
    defaults. A subclass is a static pytree node: a learner may be an argument of a jitted function. To add a learner
    to dpjax, write one file and export it from `dpjax.learners`; the conformance tests then include it.

    Reference: Bun, Gaboardi, Sivakumar 2021, Definitions 2.6 and 2.9; Yan 2025, Definitions 4 and 10.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        jax.tree_util.register_static(cls)
        if overridden := [name for name in _TEMPLATES if name in vars(cls)]:
            name = overridden[0]
            advice = f"rename it: Learner.{name} checks its arguments and calls _{name}"
            raise InputError(f"{cls.__name__}.{name}", f"a method _{name}", name, advice)
        if "_plan" in vars(cls) and _kind_of_plan(cls) is None:
            raise InputError(f"{cls.__name__}._plan", "a return annotation", "none", "annotate it, such as -> MyPlan")

    @required
    def concepts(self) -> ConceptClass:
        """The class that is learned."""

    @member
    def neighboring(self) -> Neighboring:
        """The relation under which `guarantee` holds."""
        return Neighboring.REPLACE_ONE

    @member
    def spends(self) -> Spends:
        """Kind of guarantee at any budget: "pure", "bounded range" (which is pure) or "approximate".

        Learners of several runs split a budget by it; whether there is privacy is said by `guarantee` alone. A learner
        without privacy has "approximate", the kind that promises least.
        """
        return "approximate"

    @property
    def number_of_concepts(self) -> int:
        """The number of concepts that it learns from one sample, if its fields determine it; else 1."""
        return 1

    @member
    def proper(self) -> bool:
        """Whether hypotheses are concepts of the class."""
        return False

    @member
    def assumes(self) -> str:
        """What the sample sizes assume of the distribution, such as "uniform examples"; empty for none."""
        return ""

    @member
    def passes(self) -> int:
        """Approximate number of passes over the rows; with more passes fewer trials are put in one tile."""
        return 1

    @member
    def own_points(self) -> bool:
        """Whether ``x`` may have one column of elements per concept."""
        return False

    @member
    def hard_rows(self) -> int:
        """Number of rows from which on `hard_neighbors` reaches all parts; audits include so many rows."""
        return 1

    @member
    def exponent_of_k(self) -> float | None:
        """The power of k in the theorem's sample size, without logarithms; None if no theorem says it."""
        return None

    @member
    def compositions(self) -> Sequence[str]:
        """The values of its field ``composition`` that are worth comparing, if it has one."""
        return COMPOSITIONS

    @member
    def learner(self) -> "Learner | None":
        """The inner learner of one that runs another; else None."""
        return None

    @member
    def runs(self) -> Sequence[str]:
        """Full names of mechanisms and guarantees that an audit of the learner covers."""
        return ()

    @final
    def plan(self, privacy: Privacy, accuracy: Accuracy, n: int | None = None) -> Any:
        """Computes every number that `learn` needs, rounded toward less spending: a `core.plans.plan_type` instance.

        n: public number of rows, if the plan may use it; otherwise the theorem's. InputError if no plan exists.
        """
        require_relation(self.neighboring)
        if isinstance(self.concepts, type):
            actual, advice = f"the class {self.concepts.__name__}", f"call it: {self.concepts.__name__}(...)"
            raise InputError("concepts", "an instance", actual, advice)
        host_numbers(privacy, accuracy)
        checks.whole_or_none("n", n, 0)
        plan = self._plan(privacy, accuracy, n)
        try:
            self.guarantee(plan)
        except (InputError, ArithmeticError) as error:
            advice = "take an epsilon further from 0, a delta further from 0 and 1"
            raise InputError("privacy", "a budget with a guarantee", f"{privacy} ({error})", advice) from error
        if n is not None:
            checks.rows(n, self.most_rows(plan), type(self).__name__)
        return plan

    @abstractmethod
    def _plan(self, privacy: Privacy, accuracy: Accuracy, n: int | None = None) -> Any:
        """Implements `plan`; its return annotation is the type that `learn` and `guarantee` accept."""

    @final
    def learn(self, key: Array, sample: Sample, plan: Any) -> Any:
        """k hypotheses from one k-labeled sample. ``key`` is consumed.

        A row outside the domain is treated as the domain's last element, an empty buffer as a buffer for one row.
        """
        sample = self._checked_sample(key, sample)
        self._check_plan(plan)
        return self._learn(key, sample, plan)

    @abstractmethod
    def _learn(self, key: Array, sample: Sample, plan: Any) -> Any:
        """Implements `learn`."""

    @final
    def guarantee(self, plan: Any) -> Guarantee | None:
        """The privacy cost of the plan's numbers as a tree, on the host; None for a learner that is not private."""
        self._check_plan(plan)
        require_leaves(plan)
        return self._guarantee(plan)

    @abstractmethod
    def _guarantee(self, plan: Any) -> Guarantee | None:
        """Implements `guarantee`."""

    @final
    def sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """The theorem's n, with its constants, on the host; `core.checks.NoTheoremError` if no theorem covers the
        learner's own numbers, which can still be measured."""
        return self._at_most(self._sample_size, privacy, accuracy)

    def _sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """Implements `sample_size`."""
        raise NoTheoremError("learner", "one with a theorem", type(self).__name__, "search for n")

    @final
    def agnostic_sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """n for which the error exceeds the best concept's by at most alpha; NoTheoremError without a theorem."""
        return self._at_most(self._agnostic_sample_size, privacy, accuracy)

    def _agnostic_sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """Implements `agnostic_sample_size`."""
        raise NoTheoremError("learner", "one with an agnostic theorem", type(self).__name__, "take KLN")

    def sample_size_of(self, k: int, privacy: Privacy, accuracy: Accuracy) -> int:
        """The sample size for k concepts; overridden if `for_concepts` returns the learner itself and `sample_size` is
        for one concept."""
        return self.sample_size(privacy, accuracy)

    def agnostic_sample_size_of(self, k: int, privacy: Privacy, accuracy: Accuracy) -> int:
        """The agnostic sample size for k concepts; see `sample_size_of`."""
        return self.agnostic_sample_size(privacy, accuracy)

    def most_rows(self, plan: Any) -> int:
        """The most rows that `learn` accepts; plans and sample sizes for more are refused."""
        return MOST_ROWS

    def for_concepts(self, k: int) -> "Learner | None":
        """The corresponding learner of k concepts; None for k independent runs, see `columns.for_concepts`."""
        return None

    def with_weak(self, learner: "Learner") -> "Learner":
        """The same algorithm with another inner learner; of an algorithm without one, that learner."""
        return learner

    @classmethod
    def candidates(cls, concepts: Any, k: int) -> "Sequence[Learner] | None":
        """The learners of a class that are worth comparing, such as one for each method; None for all that can be
        built from the class, see `advice.candidates`."""
        return None

    def predict(self, hypothesis: Any, x: Array) -> Array:
        """``bool[..., k]`` of ``uint32[..., limbs]``, by the class, or by the hypothesis if it is a
        `concepts.outside.Outside`."""
        limbs_of(x, self.concepts.domain)
        return outside.predict(self.concepts, hypothesis, x)

    def hard_neighbors(self, rows: int) -> Pairs:
        """Pairs of neighboring samples of ``rows`` >= 1 rows that stress the guarantee: by default identical rows, one
        of which is moved or relabeled."""
        return flipped_label_pairs(self.concepts.domain, rows, self.concepts.columns)

    def _at_most(self, size: Callable[[Privacy, Accuracy], int], privacy: Privacy, accuracy: Accuracy) -> int:
        """The value of ``size``; NoTheoremError if `learn` does not accept so many rows."""
        host_numbers(privacy, accuracy)
        n = size(privacy, accuracy)
        if not implements(self, Learner.most_rows):
            return n  # theorems are computed for more rows than a sample can have
        most = self.most_rows(self.plan(privacy, accuracy))
        return n if most == MOST_ROWS else checks.rows(n, most, type(self).__name__, NoTheoremError)

    def _check_plan(self, plan: Any) -> None:
        kind, leaves = _kind_of_plan(type(self)), jax.tree.leaves(plan)
        if isinstance(kind, type) and kind is not Any:
            checks.instance("plan", plan, kind, f"make it with {type(self).__name__}.plan")
        if leaves and all(np.shape(leaf) for leaf in leaves):
            raise InputError("plan", "one plan", "a stack of plans", "use vmap, or a guarantee for each")

    def _checked_sample(self, key: Array, sample: Sample) -> Sample:
        is_key = isinstance(key, Array) and jax.dtypes.issubdtype(key.dtype, jax.dtypes.prng_key)
        if not is_key or key.shape != ():
            raise InputError("key", "one key, jax.random.key(seed)", f"{key!r}", "vmap over a batch of keys")
        checks.instance("sample", sample, Sample, "make it with dpjax.learners.database")
        for name, part, like in (
            ("x", sample.x, "uint32[capacity, limbs]"),
            ("y", sample.y, "bool[capacity, k]"),
            ("mask", sample.mask, "bool[capacity]"),
        ):
            dtype, shape = getattr(part, "dtype", type(part).__name__), np.shape(part)
            more = len(shape) - like.count(",") - 1
            allowed = (0, 1) if name == "x" and self.own_points else (0,)  # elements of each column
            if dtype != like.partition("[")[0] or more not in allowed or shape[:1] != np.shape(sample.mask)[:1]:
                advice = "make samples with dpjax.learners.database"
                raise InputError(f"sample.{name}", f"{like}, one capacity for all", f"{dtype}{shape}", advice)
        if not sample.capacity:
            sample = jax.tree.map(lambda part: jnp.zeros((1, *part.shape[1:]), part.dtype), sample)
        domain, x = self.concepts.domain, sample.x
        limbs_of(x, domain)
        if isinstance(domain, Domain) and domain.size < 2 ** (32 * domain.limbs):
            numbers = arithmetic(domain.limbs)
            with jax.enable_x64(True):
                x = numbers.element(numbers.lesser(numbers.read(x), numbers.constant(domain.size - 1)))
        return Sample(x, sample.y, sample.mask)


_TEMPLATES = "plan", "learn", "guarantee", "sample_size", "agnostic_sample_size"


def _kind_of_plan(cls: type) -> Any:
    """The type in the return annotation of `_plan`; None without an annotation."""
    for plan in (vars(base).get("_plan") for base in cls.__mro__ if base is not Learner):
        if plan is not None and "return" in (notes := inspect.get_annotations(plan)):
            kind = notes["return"] or type(None)
            return vars(sys.modules[plan.__module__]).get(kind, kind) if isinstance(kind, str) else kind
    return None


def require_learner(learner: Any, name: str = "learner") -> None:
    """Raises InputError unless ``learner`` is an instance of a subclass of `Learner`."""
    if isinstance(learner, type):
        raise InputError(name, "an instance", f"the class {learner.__name__}", f"call it: {learner.__name__}(...)")
    if not isinstance(learner, Learner):
        advice = "build one, such as KLN(concepts); a new kind of learner inherits from dpjax.learners.Learner"
        raise InputError(name, "a Learner", repr(learner), advice)


class OfColumns(Learner):
    """Base of learners of k label columns; a subclass has a field ``k``."""

    @required
    def k(self) -> int:
        """The number of concepts."""

    @property
    def number_of_concepts(self) -> int:
        """k."""
        return self.k

    def for_concepts(self, k: int) -> Learner:
        """The same learner with another ``k``."""
        return replace(cast(Any, self), k=k)

    def check_columns(self, sample: Sample) -> None:
        """Raises InputError for a sample with a different number of label columns."""
        if sample.y.shape[1] != self.k:
            raise InputError("labels", f"{self.k} concepts", f"{sample.y.shape[1]}", "make k the number of columns")

    def hard_neighbors(self, rows: int) -> Pairs:
        """Samples of identical rows in which one row is moved, or relabeled in every column at once."""
        return flipped_label_pairs(self.concepts.domain, rows, self.k)


class OfLearner(OfColumns):
    """Base of learners that run another learner; a subclass has fields ``learner`` and ``k``."""

    @required
    def learner(self) -> Learner:
        """The inner learner."""

    @property
    def neighboring(self) -> Neighboring:
        """The relation of the inner learner."""
        return self.learner.neighboring

    @property
    def concepts(self) -> ConceptClass:
        """The concept class of the inner learner."""
        return self.learner.concepts

    @property
    def assumes(self) -> str:
        """What the inner learner assumes."""
        return self.learner.assumes

    def predict(self, hypothesis: Any, x: Array) -> Array:
        """The prediction of the inner learner."""
        return self.learner.predict(hypothesis, x)


def require_one_column(name: str, concepts: Any) -> None:
    """Raises InputError for a class with several label columns, whose concepts are learned one at a time."""
    if (count := concepts.columns) > 1:
        expected = "one of a class with one label column: several concepts of more are not supported"
        actual, advice = f"{type(concepts).__name__} with {count} columns", "take k = 1, without Independent"
        raise InputError(name, expected, actual, advice)
