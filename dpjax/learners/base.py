"""What every learner is: four faces of one algorithm that must agree."""

import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import wraps
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.accounting.guarantee import Guarantee
from dpjax.concepts.base import ConceptClass as ConceptClass
from dpjax.concepts.base import InPieces as InPieces
from dpjax.concepts.cube import Cube
from dpjax.concepts.domain import Domain
from dpjax.concepts.hypothesis import Hypothesis
from dpjax.concepts.plane import Plane
from dpjax.core import checks, wide
from dpjax.core.checks import InputError
from dpjax.core.plans import Spends
from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample, host_numbers, require_relation

Pairs = list[tuple[Sample, Sample]]


class Learner(Protocol):
    """A frozen dataclass, equal by value, without state and without a budget: its fields are structure.

    `plan` fixes on the host every number that a budget and an accuracy decide, `learn` runs with the plan, `guarantee`
    adds up the plan's own numbers. `learn` is pure, jittable and total: it answers for every database, realizable or
    not, empty or not, and is as private as `guarantee` says on all of them. To add a learner, write one file and export
    it from `dpjax.learners`; the conformance tests then run it without another line.

    A learner may say as ``passes`` (int) about how often it goes through its rows: the more, the fewer trials share a
    tile. Without it one pass is assumed. ``for_concepts(k)`` is the learner of k concepts that it belongs to; without
    it k runs are composed. ``exponent_of_k`` is the power of k in its theorem's sample size, logarithms left out.
    ``own_points`` (bool): whether ``x`` may have a column of elements for each concept.
    """

    @property
    def neighboring(self) -> Neighboring:
        """The relation under which `guarantee` holds."""

    @property
    def concepts(self) -> ConceptClass:
        """The class that is learned."""

    @property
    def spends(self) -> Spends:
        """What it spends whatever its budget: "pure", "bounded range" (and pure) or "approximate"."""

    def plan(self, privacy: Privacy, accuracy: Accuracy, n: int | None = None) -> Any:
        """Every number that `learn` needs, rounded towards less spending: a class made by `core.plans.plan_type`.

        n: public rows, where the plan may use them; without it the theorem's. InputError for what cannot be planned.
        """

    def learn(self, key: Array, sample: Sample, plan: Any) -> Hypothesis:
        """k hypotheses from one k-labelled sample. ``key`` is consumed."""

    def predict(self, hypothesis: Hypothesis, x: Array) -> Array:
        """``bool[..., k]``."""

    def guarantee(self, plan: Any) -> Guarantee | None:
        """What the numbers of the plan spend, as a tree, on the host; None for a learner that is not private."""

    def sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """The theorem's n, with its constants, on the host."""

    def hard_neighbors(self, rows: int) -> Pairs:
        """Pairs of neighbouring samples of ``rows`` >= 1 rows that stress the guarantee."""


def _plan(method: Callable, self: Any, privacy: Privacy, accuracy: Accuracy, n: int | None = None) -> Any:
    require_relation(self.neighboring)
    host_numbers(privacy, accuracy)
    checks.whole_or_none("n", n, 0)
    made = method(self, privacy, accuracy, n)
    try:
        self.guarantee(made)
    except (InputError, ArithmeticError) as error:
        advice = "take an epsilon further from 0, a delta further from 0 and 1"
        raise InputError("privacy", "a budget with a guarantee", f"{privacy} ({error})", advice) from error
    return made


def _kind_of_plan(cls: Any) -> Any:
    """What the annotation of `plan` says that it returns, its own or else inherited; None without one."""
    for plan in (vars(base).get("plan") for base in cls.__mro__):
        if "return" in (notes := getattr(plan, "__annotations__", {})):
            found = notes["return"] or type(None)
            return vars(sys.modules[plan.__module__]).get(found, found) if isinstance(found, str) else found
    return None


def _guarantee(method: Callable, self: Any, plan: Any) -> Any:
    kind, leaves = _kind_of_plan(type(self)), jax.tree.leaves(plan)
    if isinstance(kind, type):
        checks.instance("plan", plan, kind, f"make it with {type(self).__name__}.plan")
    if leaves and all(getattr(leaf, "shape", ()) for leaf in leaves):
        raise InputError("plan", "one plan", "a stack of plans", "use vmap, or a guarantee for each")
    return method(self, plan)


def _learn(method: Callable, self: Any, key: Array, sample: Sample, plan: Any) -> Any:
    is_key = jax.dtypes.issubdtype(getattr(key, "dtype", np.float32), jax.dtypes.prng_key)
    if not is_key or key.shape != ():
        raise InputError("key", "one key, jax.random.key(seed)", f"{key!r}", "vmap over a batch of keys")
    checks.instance("sample", sample, Sample, "make it with dpjax.learners.database")
    for name, like in (("x", "uint32[capacity, limbs]"), ("y", "bool[capacity, k]"), ("mask", "bool[capacity]")):
        part, dtype = getattr(sample, name), like.partition("[")[0]
        given, shape = getattr(part, "dtype", type(part).__name__), np.shape(part)
        more = len(shape) - like.count(",") - 1  # each column may have elements of its own
        if given != dtype or more < 0 or (more and name != "x") or shape[:1] != np.shape(sample.mask)[:1]:
            advice = "make samples with dpjax.learners.database"
            raise InputError(f"sample.{name}", f"{like}, one capacity for all", f"{given}{shape}", advice)
    if not sample.capacity:
        sample = jax.tree.map(lambda part: jnp.zeros((1, *part.shape[1:]), part.dtype), sample)
    domain, x = self.concepts.domain, sample.x
    limbs_of(x, domain)
    if isinstance(domain, Domain) and domain.size < 2 ** (32 * domain.limbs):
        with jax.enable_x64(True):
            x = wide.split(jnp.minimum(wide.join(x), jnp.uint64(domain.size - 1)), domain.limbs)
    return _guarantee(lambda self, plan: method(self, key, Sample(x, sample.y, sample.mask), plan), self, plan)


def limbs_of(x: Any, domain: Any) -> None:
    """Refuses elements that are not encoded: ``uint32[..., limbs]``."""
    if np.ndim(x) < 1 or np.shape(x)[-1] != domain.limbs:
        raise InputError("x", f"rows of {domain.limbs} limbs", f"shape {np.shape(x)}", "encode them: domain.encode")


def _sized(method: Callable, self: Any, privacy: Privacy, accuracy: Accuracy) -> int:
    host_numbers(privacy, accuracy)
    return method(self, privacy, accuracy)


def require_learner(learner: Any) -> None:
    """Refuses what has not the faces of a learner, and a class in place of an instance."""
    if isinstance(learner, type):
        raise InputError("learner", "an instance", f"the class {learner.__name__}", f"call it: {learner.__name__}(...)")
    if missing := [face for face in ("concepts", "plan", "learn", "guarantee", "spends") if not hasattr(learner, face)]:
        raise InputError(
            "learner", "a Learner", f"{learner!r} without {missing[0]}", "build one, such as KLN(concepts)"
        )


def _behind(door: Callable, method: Callable) -> Callable:
    return wraps(method)(lambda *given, **named: door(method, *given, **named))


class OfClass:
    """What learners share that predict as their class does.

    A subclass is a static pytree node: a learner may be an argument of a jitted function.

    Of a subclass `plan`, `guarantee`, `learn` and the sample sizes check what they are given, in this one place. A row
    beyond the domain counts as the domain's last element, and an empty buffer as one with room for a row.
    """

    def __init_subclass__(cls, **how: Any) -> None:
        super().__init_subclass__(**how)
        jax.tree_util.register_static(cls)
        doors: dict[str, Callable] = {
            "plan": _plan, "guarantee": _guarantee, "learn": _learn, "sample_size": _sized,
            "agnostic_sample_size": _sized,
        }  # fmt: skip
        if "plan" in vars(cls) and _kind_of_plan(cls) is None:
            raise InputError(f"{cls.__name__}.plan", "a return annotation", "none", "write -> MyPlan, to refuse others")
        for name, door in doors.items():
            if name in vars(cls):
                setattr(cls, name, _behind(door, vars(cls)[name]))

    def predict(self: Any, hypothesis: Hypothesis, x: Array) -> Array:
        """``bool[..., k]`` of ``uint32[..., limbs]``."""
        limbs_of(x, self.concepts.domain)
        return self.concepts.predict(hypothesis, x)

    def hard_neighbors(self: Any, rows: int) -> Pairs:
        """All rows alike, one moved or relabelled."""
        return flipped_label_pairs(self.concepts.domain, rows)


class OfColumns(OfClass):
    """What learners of k columns share; a subclass has ``k``."""

    def for_concepts(self: Any, k: int) -> Any:
        """The same learner with another ``k``."""
        return replace(self, k=k)

    def check_columns(self: Any, sample: Sample) -> None:
        """Refuses a sample of another number of label columns."""
        if sample.y.shape[1] != self.k:
            raise InputError("labels", f"{self.k} concepts", f"{sample.y.shape[1]}", "make k the number of columns")

    def hard_neighbors(self: Any, rows: int) -> Pairs:
        """All rows alike, one moved or relabelled in every column at once."""
        return flipped_label_pairs(self.concepts.domain, rows, self.k)


class OfLearner(OfColumns):
    """What learners share that run another one; a subclass has ``learner`` and ``k``."""

    @property
    def neighboring(self: Any) -> Neighboring:
        """The learner's."""
        return self.learner.neighboring

    @property
    def concepts(self: Any) -> ConceptClass:
        """The learner's."""
        return self.learner.concepts

    def predict(self: Any, hypothesis: Hypothesis, x: Array) -> Array:
        """As the learner does."""
        return self.learner.predict(hypothesis, x)


def require_pieces(concepts: Any, learner: str) -> None:
    """Refuses a class whose concepts cannot be listed by their errors."""
    if not hasattr(concepts, "pieces"):
        raise InputError(
            "concepts", f"a class with pieces for {learner}, whose concepts can be listed by their errors",
            type(concepts).__name__, "choose a learner of this class: see `dpjax list`",
        )  # fmt: skip


def replace_one_only(neighboring: Neighboring, why: str) -> None:
    """Refuses another relation for a learner that is private only where n is public."""
    if neighboring is not Neighboring.REPLACE_ONE:
        raise InputError("neighboring", "Neighboring.REPLACE_ONE", str(neighboring), why)


def single_column(sample: Sample, learner: str) -> Array:
    """The one label column of a sample for a learner of one concept, ``bool[capacity]``."""
    if sample.y.shape[1] != 1:
        raise InputError(
            f"labels for {learner}", "one concept, bool[capacity, 1]", f"{sample.y.shape[1]} concepts",
            f"wrap it: Independent({learner}(...), k, composition)",
        )  # fmt: skip
    return sample.y[:, 0]


def database(domain: Domain | Cube | Plane, values, labels, capacity: int | None = None) -> Sample:
    """A Sample from host data: values in the domain ``[n]``, labels 0/1 ``[n]`` or ``[n, k]``."""
    checks.members("domain", domain, ("limbs", "encode"), "give the domain of a class: concepts.domain")
    labels = np.asarray(labels)
    if labels.ndim not in (1, 2):
        raise InputError("labels", "0/1 of shape [n] or [n, k]", f"shape {labels.shape}", "give one row a label")
    if not isinstance(values, Iterable):
        raise InputError("values", "a list of elements", repr(values), "give one element a row")
    labels = labels[:, None] if labels.ndim == 1 else labels
    rows, values = len(labels), list(values)
    if len(values) != rows:
        raise InputError("values", f"one for each of {rows} rows of labels", str(len(values)), "give as many of both")
    capacity = checks.integer("capacity", rows if capacity is None else capacity, max(rows, 1), 2**31 - 1)
    wrong = labels[~np.isin(labels, (0, 1))]
    if wrong.size:
        raise InputError("labels", "0 or 1", repr(wrong[0]), "encode the two classes as 0 and 1")
    x = np.zeros((capacity, domain.limbs), np.uint32)
    y = np.zeros((capacity, labels.shape[1]), bool)
    x[:rows], y[:rows] = domain.encode(values).reshape(rows, domain.limbs), labels.astype(bool)
    return Sample(jnp.asarray(x), jnp.asarray(y), jnp.asarray(np.arange(capacity) < rows))


def flipped_label_pairs(domain: Domain | Cube | Plane, rows: int, concepts: int = 1) -> Pairs:
    """Neighbours that differ in one row: all rows alike but one, moved or relabelled in all columns."""
    checks.integer("rows", rows, 1)
    low, high = domain.size // 3, domain.size - 1
    pairs = []
    for base, other in (((low, 1), (low, 0)), ((low, 1), (high, 0)), ((low, 0), (high, 1))):
        values, labels = [base[0]] * rows, np.full((rows, concepts), base[1])
        changed, relabelled = [*values[:-1], other[0]], labels.copy()
        relabelled[-1] = other[1]
        pairs.append((database(domain, values, labels), database(domain, changed, relabelled)))
    return pairs
