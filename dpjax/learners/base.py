"""The learner protocol: plan, learn, guarantee and sample_size describe one algorithm and must agree."""

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
from dpjax.concepts import outside
from dpjax.concepts.base import ConceptClass as ConceptClass
from dpjax.concepts.base import InPieces as InPieces
from dpjax.concepts.base import columns_of as columns_of
from dpjax.concepts.cube import Cube
from dpjax.concepts.domain import Domain
from dpjax.concepts.hypothesis import Hypothesis
from dpjax.concepts.plane import Plane
from dpjax.core import checks, wide
from dpjax.core.checks import InputError, NoTheoremError
from dpjax.core.plans import Spends, require_leaves
from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample, host_numbers, require_relation
from dpjax.core.types import replace_one_only as replace_one_only

Pairs = list[tuple[Sample, Sample]]
MOST_ROWS = 2**31 - 1
"""The most rows of a sample."""


class Learner(Protocol):
    """A frozen dataclass, equal by value, without state and without a budget: its fields are structure.

    `plan` computes on the host every number that depends on the budget and the accuracy, `learn` runs with the plan,
    and `guarantee` composes the costs of the plan's numbers. `learn` is pure, jittable and total: it returns a
    hypothesis for every database, realizable or not, empty or not, and `guarantee` holds for all of them. To add a
    learner, write one file and export it from `dpjax.learners`; the conformance tests then include it.

    Optional attributes. ``passes`` (int): approximate number of passes over the rows, 1 by default; with more passes
    fewer trials are put in one tile. ``for_concepts(k)``: the corresponding learner of k concepts; without it k
    independent runs are composed. ``exponent_of_k``: the power of k in the theorem's sample size, without logarithms.
    ``candidates(concepts, k)``, a classmethod: the learners of a class that are worth comparing, such as one for each
    method; see `advice.candidates`.
    ``own_points`` (bool): whether ``x`` may have one column of elements per concept. ``hard_rows`` (int): the number of
    rows from which on `hard_neighbors` reaches all parts of the learner, 1 by default; audits include so many rows.
    ``proper`` (bool): whether hypotheses are concepts of the class.
    ``sample_size_of(k, privacy, accuracy)``: the sample size for k concepts, of a learner whose ``for_concepts``
    returns itself and whose `sample_size` is for one.
    ``assumes`` (str): what the sample sizes assume of the distribution, such as "uniform examples"; empty, the default,
    if they are for every distribution.
    ``most_rows(plan)``: the most rows that `learn` accepts, `MOST_ROWS` by default; plans and sample sizes for more are
    refused.

    Reference: Bun, Gaboardi, Sivakumar 2021, Definitions 2.6 and 2.9; Yan 2025, Definitions 4 and 10.
    """

    @property
    def neighboring(self) -> Neighboring:
        """The relation under which `guarantee` holds."""

    @property
    def concepts(self) -> ConceptClass:
        """The class that is learned."""

    @property
    def spends(self) -> Spends:
        """Kind of guarantee at any budget: "pure", "bounded range" (which is pure) or "approximate".

        Learners of several runs split a budget by it; whether there is privacy is said by `guarantee` alone. A learner
        without privacy has "approximate", the kind that promises least.
        """

    def plan(self, privacy: Privacy, accuracy: Accuracy, n: int | None = None) -> Any:
        """Computes every number that `learn` needs, rounded toward less spending: a `core.plans.plan_type` instance.

        n: public number of rows, if the plan may use it; otherwise the theorem's. InputError if no plan exists.
        """

    def learn(self, key: Array, sample: Sample, plan: Any) -> Hypothesis:
        """k hypotheses from one k-labeled sample. ``key`` is consumed."""

    def predict(self, hypothesis: Hypothesis, x: Array) -> Array:
        """``bool[..., k]``."""

    def guarantee(self, plan: Any) -> Guarantee | None:
        """The privacy cost of the plan's numbers as a tree, on the host; None for a learner that is not private."""

    def sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """The theorem's n, with its constants, on the host; `core.checks.NoTheoremError` if no theorem covers the
        learner's own numbers, which can still be measured."""

    def hard_neighbors(self, rows: int) -> Pairs:
        """Pairs of neighboring samples of ``rows`` >= 1 rows that stress the guarantee."""


def _plan(method: Callable, self: Any, privacy: Privacy, accuracy: Accuracy, n: int | None = None) -> Any:
    require_relation(self.neighboring)
    if isinstance(concepts := getattr(self, "concepts", None), type):
        given, advice = f"the class {concepts.__name__}", f"call it: {concepts.__name__}(...)"
        raise InputError("concepts", "an instance", given, advice)
    host_numbers(privacy, accuracy)
    checks.whole_or_none("n", n, 0)
    made = method(self, privacy, accuracy, n)
    try:
        self.guarantee(made)
    except (InputError, ArithmeticError) as error:
        advice = "take an epsilon further from 0, a delta further from 0 and 1"
        raise InputError("privacy", "a budget with a guarantee", f"{privacy} ({error})", advice) from error
    if n is not None:
        checks.rows(n, self.most_rows(made), type(self).__name__)
    return made


def _kind_of_plan(cls: Any) -> Any:
    """The type in the return annotation of `plan`, own or inherited; None without an annotation."""
    for plan in (vars(base).get("plan") for base in cls.__mro__):
        if "return" in (notes := getattr(plan, "__annotations__", {})):
            found = notes["return"] or type(None)
            return vars(sys.modules[plan.__module__]).get(found, found) if isinstance(found, str) else found
    return None


def _with_plan(method: Callable, self: Any, plan: Any) -> Any:
    kind, leaves = _kind_of_plan(type(self)), jax.tree.leaves(plan)
    if isinstance(kind, type):
        checks.instance("plan", plan, kind, f"make it with {type(self).__name__}.plan")
    if leaves and all(getattr(leaf, "shape", ()) for leaf in leaves):
        raise InputError("plan", "one plan", "a stack of plans", "use vmap, or a guarantee for each")
    return method(self, plan)


def _guarantee(method: Callable, self: Any, plan: Any) -> Any:
    def checked(self: Any, plan: Any) -> Any:
        require_leaves(plan)
        return method(self, plan)

    return _with_plan(checked, self, plan)


def _learn(method: Callable, self: Any, key: Array, sample: Sample, plan: Any) -> Any:
    is_key = jax.dtypes.issubdtype(getattr(key, "dtype", np.float32), jax.dtypes.prng_key)
    if not is_key or key.shape != ():
        raise InputError("key", "one key, jax.random.key(seed)", f"{key!r}", "vmap over a batch of keys")
    checks.instance("sample", sample, Sample, "make it with dpjax.learners.database")
    for name, like in (("x", "uint32[capacity, limbs]"), ("y", "bool[capacity, k]"), ("mask", "bool[capacity]")):
        part, dtype = getattr(sample, name), like.partition("[")[0]
        given, shape = getattr(part, "dtype", type(part).__name__), np.shape(part)
        more = len(shape) - like.count(",") - 1
        allowed = (0, 1) if name == "x" and getattr(self, "own_points", False) else (0,)  # elements of each column
        if given != dtype or more not in allowed or shape[:1] != np.shape(sample.mask)[:1]:
            advice = "make samples with dpjax.learners.database"
            raise InputError(f"sample.{name}", f"{like}, one capacity for all", f"{given}{shape}", advice)
    if not sample.capacity:
        sample = jax.tree.map(lambda part: jnp.zeros((1, *part.shape[1:]), part.dtype), sample)
    domain, x = self.concepts.domain, sample.x
    limbs_of(x, domain)
    if isinstance(domain, Domain) and domain.size < 2 ** (32 * domain.limbs):
        with jax.enable_x64(True):
            x = wide.split(jnp.minimum(wide.join(x), jnp.uint64(domain.size - 1)), domain.limbs)
    return _with_plan(lambda self, plan: method(self, key, Sample(x, sample.y, sample.mask), plan), self, plan)


def limbs_of(x: Any, domain: Any) -> None:
    """Raises InputError unless the elements are encoded, ``uint32[..., limbs]``."""
    if np.ndim(x) < 1 or np.shape(x)[-1] != domain.limbs:
        raise InputError("x", f"rows of {domain.limbs} limbs", f"shape {np.shape(x)}", "encode them: domain.encode")


def _sized(method: Callable, self: Any, privacy: Privacy, accuracy: Accuracy) -> int:
    host_numbers(privacy, accuracy)
    n = method(self, privacy, accuracy)
    if type(self).most_rows is OfClass.most_rows or (most := self.most_rows(self.plan(privacy, accuracy))) == MOST_ROWS:
        return n  # theorems are computed for more rows than a sample can have
    return checks.rows(n, most, type(self).__name__, NoTheoremError)


def require_learner(learner: Any) -> None:
    """Raises InputError unless ``learner`` is an instance that has the members of the protocol."""
    if isinstance(learner, type):
        raise InputError("learner", "an instance", f"the class {learner.__name__}", f"call it: {learner.__name__}(...)")
    if missing := [face for face in ("concepts", "plan", "learn", "guarantee", "spends") if not hasattr(learner, face)]:
        raise InputError(
            "learner", "a Learner", f"{learner!r} without {missing[0]}", "build one, such as KLN(concepts)"
        )


def _behind(door: Callable, method: Callable) -> Callable:
    return wraps(method)(lambda *given, **named: door(method, *given, **named))


class OfClass:
    """Base of learners whose hypotheses are evaluated by their concept class.

    A subclass is a static pytree node: a learner may be an argument of a jitted function.

    The methods `plan`, `guarantee`, `learn` and the sample sizes of a subclass validate their arguments in this class.
    A row outside the domain is treated as the domain's last element, an empty buffer as a buffer for one row.
    """

    def __init_subclass__(cls, **how: Any) -> None:
        super().__init_subclass__(**how)
        jax.tree_util.register_static(cls)
        doors: dict[str, Callable] = {
            "plan": _plan, "guarantee": _guarantee, "learn": _learn, "sample_size": _sized,
            "agnostic_sample_size": _sized,
        }  # fmt: skip
        if "plan" in vars(cls) and _kind_of_plan(cls) is None:
            raise InputError(f"{cls.__name__}.plan", "a return annotation", "none", "annotate plan, such as -> MyPlan")
        for name, door in doors.items():
            if name in vars(cls):
                setattr(cls, name, _behind(door, vars(cls)[name]))

    def most_rows(self, plan: Any) -> int:
        """See `Learner`."""
        return MOST_ROWS

    def predict(self: Any, hypothesis: Hypothesis, x: Array) -> Array:
        """``bool[..., k]`` of ``uint32[..., limbs]``, by the class, or by the hypothesis if it is a
        `concepts.outside.Outside`."""
        limbs_of(x, self.concepts.domain)
        return outside.predict(self.concepts, hypothesis, x)

    def hard_neighbors(self: Any, rows: int) -> Pairs:
        """Samples of identical rows in which one row is moved or relabeled."""
        return flipped_label_pairs(self.concepts.domain, rows, columns_of(self.concepts))


class OfColumns(OfClass):
    """Base of learners of k label columns; a subclass has a field ``k``."""

    def for_concepts(self: Any, k: int) -> Any:
        """The same learner with another ``k``."""
        return replace(self, k=k)

    def check_columns(self: Any, sample: Sample) -> None:
        """Raises InputError for a sample with a different number of label columns."""
        if sample.y.shape[1] != self.k:
            raise InputError("labels", f"{self.k} concepts", f"{sample.y.shape[1]}", "make k the number of columns")

    def hard_neighbors(self: Any, rows: int) -> Pairs:
        """Samples of identical rows in which one row is moved, or relabeled in every column at once."""
        return flipped_label_pairs(self.concepts.domain, rows, self.k)


class OfLearner(OfColumns):
    """Base of learners that run another learner; a subclass has fields ``learner`` and ``k``."""

    @property
    def neighboring(self: Any) -> Neighboring:
        """The relation of the inner learner."""
        return self.learner.neighboring

    @property
    def concepts(self: Any) -> ConceptClass:
        """The concept class of the inner learner."""
        return self.learner.concepts

    @property
    def assumes(self: Any) -> str:
        """What the inner learner assumes."""
        return getattr(self.learner, "assumes", "")

    def predict(self: Any, hypothesis: Hypothesis, x: Array) -> Array:
        """The prediction of the inner learner."""
        return self.learner.predict(hypothesis, x)


def require_pieces(concepts: Any, learner: str) -> None:
    """Raises InputError for a class without level sets of the empirical error (``pieces``)."""
    if not hasattr(concepts, "pieces"):
        raise InputError(
            "concepts", f"a class with level sets of the error (pieces), which {learner} needs",
            type(concepts).__name__, "choose a learner of this class: see `dpjax list`",
        )  # fmt: skip


def require_one_column(name: str, concepts: Any) -> None:
    """Raises InputError for a class with several label columns, whose concepts are learned one at a time."""
    if (count := columns_of(concepts)) > 1:
        expected = "one of a class with one label column: several concepts of more are not supported"
        given, advice = f"{type(concepts).__name__} with {count} columns", "take k = 1, without Independent"
        raise InputError(name, expected, given, advice)


def single_column(sample: Sample, learner: str) -> Array:
    """The one label column of a sample for a learner of one concept, ``bool[capacity]``."""
    if sample.y.shape[1] != 1:
        raise InputError(
            f"labels for {learner}", "one concept, bool[capacity, 1]", f"{sample.y.shape[1]} concepts",
            f"wrap it: Independent({learner}(...), k, composition)",
        )  # fmt: skip
    return sample.y[:, 0]


def label_columns(sample: Sample, concepts: Any, learner: str) -> Array:
    """The label column of one concept, ``bool[capacity]``; of a class with ``columns`` > 1, all the bits of its labels,
    ``bool[capacity, columns]``."""
    count = columns_of(concepts)
    if count == 1:
        return single_column(sample, learner)
    if sample.y.shape[1] != count:
        given = f"{sample.y.shape[1]} columns"
        raise InputError(f"labels for {learner}", f"{count} columns, the bits of a label", given, "give all bits")
    return sample.y


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


def flipped_label_pairs(domain: Domain | Cube | Plane, rows: int, concepts: int = 1, place: int = -1) -> Pairs:
    """Neighbors that differ in one row: all rows identical but that at ``place``, moved or relabeled in all columns."""
    checks.integer("rows", rows, 1)
    low, high = domain.size // 3, domain.size - 1
    pairs = []
    for base, other in (((low, 1), (low, 0)), ((low, 1), (high, 0)), ((low, 0), (high, 1))):
        values, labels = [base[0]] * rows, np.full((rows, concepts), base[1])
        changed, relabelled = values.copy(), labels.copy()
        changed[place], relabelled[place] = other
        pairs.append((database(domain, values, labels), database(domain, changed, relabelled)))
    return pairs
