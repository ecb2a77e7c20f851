"""Checks of a learner's interface: members, equality by value, and the shapes of its outputs."""

import copy
from dataclasses import fields, is_dataclass
from typing import Any, get_args

import chex
import jax
import jax.numpy as jnp
import numpy as np

from dpjax.concepts import outside
from dpjax.concepts.base import ConceptClass
from dpjax.concepts.elements import elements, mass_of
from dpjax.core.checks import InputError
from dpjax.core.plans import Spends
from dpjax.core.types import Neighboring
from dpjax.testing.comparisons import traced_at_most
from dpjax.testing.findings import require, short
from dpjax.testing.under_test import LearnerUnderTest


def it_has_the_members_of_a_learner(subject: LearnerUnderTest) -> None:
    """A relation, ``spends``, and a class with its members."""
    learner = subject.learner
    relation, advice = learner.neighboring, "write neighboring: Neighboring = Neighboring.REPLACE_ONE"
    require(isinstance(relation, Neighboring), "neighboring, a member of Neighboring", short(relation), advice)
    spends, known = learner.spends, get_args(Spends)
    require(spends in known, f"spends, one of {', '.join(known)}", short(spends), 'write spends: ClassVar = "pure"')
    advice = "inherit from dpjax.ConceptClass"
    require(isinstance(learner.concepts, ConceptClass), "a concept class", short(learner.concepts), advice)


def it_is_a_frozen_value(subject: LearnerUnderTest) -> None:
    """A frozen dataclass, hashable, equal to a copy: otherwise each copy has a separate program and cell."""
    require_frozen(subject.learner)


def require_frozen(learner: Any) -> None:
    """Raises `Failed` unless the learner is a frozen dataclass, hashable and equal by value."""
    advice = "write @dataclass(frozen=True) above the class"
    require(is_dataclass(learner), "a frozen dataclass", type(learner).__name__, advice)
    frozen = type(learner).__dataclass_params__.frozen
    require(frozen, "a frozen dataclass", f"{type(learner).__name__}, which is not frozen", advice)
    try:
        digest = hash(learner)
    except TypeError as error:
        fault = next((field.name for field in fields(learner) if not _hashes(getattr(learner, field.name))), "?")
        require(False, "fields that are hashable", f"{fault}: {error}", "hold tuples, numbers, strings, bytes")
    again = copy.deepcopy(learner)
    advice = "compare by value: no arrays and no plain objects in fields"
    require(again == learner and hash(again) == digest, "a copy that is equal", short(learner), advice)


def _hashes(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def it_is_structure_without_leaves(subject: LearnerUnderTest) -> None:
    """A static pytree node: none of its fields is traced, so it may be an argument of a jitted function."""
    leaves = jax.tree.leaves(subject.learner)
    actual = "a type that JAX does not know" if leaves == [subject.learner] else f"leaves {short(leaves)}"
    advice = "derive it from dpjax.learners.Learner, or decorate it by jax.tree_util.register_static"
    require(not leaves, "a static pytree node", actual, advice)


def it_runs(subject: LearnerUnderTest) -> None:
    """An ordinary sample and budget: outputs have leading axis k, for any data."""
    learner, k = subject.learner, subject.k
    sample = subject.draw()
    hypothesis = jax.eval_shape(learner.learn, jax.random.key(0), sample, subject.plan())
    for name, dtype in (("concept", jnp.uint32), ("zero", jnp.bool_), ("outcome", jnp.int32)):
        part = getattr(hypothesis, name, None)
        expected = f"a Hypothesis with {name}: {jnp.dtype(dtype).name}[{k}{', ...' * (name == 'concept')}]"
        ok = part is not None and part.dtype == dtype and part.shape[:1] == (k,)
        require(ok, expected, short(part), "return dpjax.Hypothesis, for example Hypothesis.of(number[None])")
    labels = jax.eval_shape(learner.predict, hypothesis, sample.x)
    columns = sample.y.shape[1]
    expected = f"labels bool[{sample.capacity}, {columns}]"
    advice = "predict one column of labels for each hypothesis, or one for each bit of its labels"
    require((labels.shape, labels.dtype) == ((sample.capacity, columns), jnp.bool_), expected, short(labels), advice)


def an_equal_learner_is_the_same_program(subject: LearnerUnderTest) -> None:
    """A copy is not traced again, as a static argument or as a pytree."""
    sample, plan, key = subject.draw(), subject.plan(), jax.random.key(0)
    advice = "equality and hash by value: a frozen dataclass of plain values"
    for static in (True, False):
        learn = jax.jit(chex.assert_max_traces(_learn, n=1), static_argnums=0 if static else ())
        with traced_at_most("one trace for equal learners", advice):
            for learner in (subject.learner, copy.deepcopy(subject.learner)):
                jax.eval_shape(lambda k, s, learner=learner, learn=learn: learn(learner, k, s, plan), key, sample)


def _learn(learner: Any, key: Any, sample: Any, plan: Any) -> Any:
    return learner.learn(key, sample, plan).outcome


def hypotheses_are_described_and_have_errors(subject: LearnerUnderTest) -> str:
    """``concepts.describe`` gives a sentence for each of the k; the error of each is a number in [0, 1], and on small
    domains the mass of the elements on which the hypothesis predicts another label than the target."""
    concepts, task = subject.learner.concepts, subject.task

    @jax.jit
    def errors_of(found: Any) -> tuple[Any, Any]:
        target = task.draw_targets(jax.random.key(0), subject.k)
        return task.error(found, target), _counted_mass(subject, found, target)

    for sample in (subject.draw(), subject.draw(0)):
        found = jax.tree.map(lambda part: part[0], subject.learn(sample))
        error, mass = jax.tree.map(np.asarray, errors_of(found))
        expected = f"errors in [0, 1], {subject.k} of them"
        advice = "check concepts.error, and hypotheses of abstaining runs"
        require(error.shape == (subject.k,) and np.all((error >= 0) & (error <= 1)), expected, short(error), advice)
        counted = None if mass is None else mass.astype(float) / task.total * float(task.scale)
        advice = "correct concepts.error, or the hypothesis's error_in"
        ok = counted is None or np.allclose(counted, error, rtol=1e-4, atol=1e-6)
        require(ok, f"the mass of wrong predictions, {short(counted)}", short(error), advice)
        words = outside.describe(concepts, jax.tree.map(np.asarray, found))
        ok = (
            isinstance(words, list)
            and len(words) == subject.k
            and all(isinstance(text, str) and text for text in words)
        )
        require(ok, f"{subject.k} sentences", short(words), "return a list of strings, one a hypothesis")
    return f"for example: {words[0]}"


def _counted_mass(subject: LearnerUnderTest, found: Any, target: Any) -> Any:
    """The mass of wrong predictions, ``uint64[k]``, element by element; None if the elements cannot be listed."""
    learner, task = subject.learner, subject.task
    with jax.enable_x64(True):
        try:
            x, mass = elements(learner.concepts.domain, task.distribution)
        except (InputError, AttributeError):
            return None
        if jnp.issubdtype(mass.dtype, jnp.floating):
            return None
        wrong = learner.predict(found, x) != learner.concepts.predict(target, x)
        of_concepts = jnp.any(wrong.reshape(len(x), subject.k, -1), axis=-1)  # of all label columns of a concept
        return mass_of(of_concepts, mass)


def hard_neighbors_are_neighbors(subject: LearnerUnderTest) -> None:
    """Of the requested number of rows: under replace-one one row differs, else one sample lacks one row."""
    learner = subject.learner
    for rows in (1, 5):
        pairs = learner.hard_neighbors(rows)
        advice = "derive it from dpjax.learners.Learner, or make pairs with dpjax.learners.database"
        require(pairs, "pairs of neighboring samples", "none", advice)
        for pair in pairs:
            first, second = (jax.tree.map(np.asarray, part) for part in pair)
            differs = (
                np.any(first.x != second.x, axis=1) | np.any(first.y != second.y, axis=1) | (first.mask != second.mask)
            )
            count = int(np.sum(differs & (first.mask | second.mask)))
            require(count == 1, "samples that differ in one row", f"{count} rows", "change one row")
            sizes = sorted({int(first.mask.sum()), int(second.mask.sum())})
            same_n = learner.neighboring is Neighboring.REPLACE_ONE
            ok = sizes == [rows] if same_n else rows in sizes and sizes[-1] - sizes[0] <= 1
            require(ok, f"samples of {rows} rows", sizes, "make as many rows as asked for")
            jax.eval_shape(learner.learn, jax.random.key(0), pair[0], subject.plan())
