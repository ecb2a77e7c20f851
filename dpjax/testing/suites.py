"""The suites: all checks of a learner, a concept class, a law or a mechanism."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import numpy as np

from dpjax.accounting.guarantee import Guarantee
from dpjax.audit import Pair, Target, Universe, table_of_run
from dpjax.core.types import Privacy
from dpjax.testing import concept_checks, faces, identity, law_checks, mechanism_checks, plans, privacy, runs, success
from dpjax.testing.concept_checks import ConceptsUnderTest
from dpjax.testing.findings import Check, Finding, run_checks
from dpjax.testing.law_checks import LawUnderTest
from dpjax.testing.mechanism_checks import MechanismUnderTest
from dpjax.testing.under_test import LearnerUnderTest

Tell = Callable[[str, int, int], None] | None

LEARNER_FIRST: tuple[Check, ...] = (
    faces.it_has_the_members_of_a_learner,
    faces.it_is_a_frozen_value,
    faces.it_is_structure_without_leaves,
    plans.leaves_of_plans_are_narrow,
    faces.it_runs,
)
LEARNER_QUICK: tuple[Check, ...] = (
    faces.an_equal_learner_is_the_same_program,
    faces.hypotheses_are_described_and_have_errors,
    faces.hard_neighbors_are_neighbors,
    plans.a_sweep_of_epsilon_has_few_programs,
    plans.plans_run_side_by_side,
    plans.the_guarantee_is_within_the_budget,
    plans.sample_sizes_move_the_right_way,
    runs.only_typed_keys_are_taken,
    runs.no_key_is_used_twice,
    runs.all_randomness_comes_from_laws,
    runs.the_answer_depends_on_the_key,
    runs.padding_does_not_matter,
    runs.capacity_batch_and_64_bit_types_do_not_matter,
    runs.promotion_of_types_is_explicit,
    runs.every_database_and_budget_has_an_answer,
    identity.it_has_a_name,
    identity.hash_seeds_do_not_matter,
    privacy.no_guarantee_is_exceeded,
    success.it_succeeds_at_its_sample_size,
)
LEARNER_LONG: tuple[Check, ...] = (runs.jit_does_not_matter,)
CONCEPTS_FIRST: tuple[Check, ...] = (
    concept_checks.it_has_the_members_of_a_class,
    concept_checks.it_is_a_frozen_value,
    concept_checks.targets_are_encoded_concepts,
)
CONCEPTS: tuple[Check, ...] = (
    concept_checks.elements_are_encoded_and_decoded,
    concept_checks.labels_are_columns,
    concept_checks.hypotheses_are_sentences,
    concept_checks.errors_are_a_pseudometric,
    concept_checks.errors_are_those_of_draws,
    concept_checks.pieces_are_the_errors_of_all_concepts,
)
LAW_FIRST: tuple[Check, ...] = (law_checks.it_has_the_members_of_a_law,)
LAW: tuple[Check, ...] = (
    law_checks.draws_are_marked,
    law_checks.masses_add_up_to_one,
    law_checks.log_prob_is_the_mass,
    law_checks.samples_follow_the_law,
)
MECHANISM_FIRST: tuple[Check, ...] = (mechanism_checks.it_claims_a_guarantee, mechanism_checks.it_is_traced)
MECHANISM: tuple[Check, ...] = (
    mechanism_checks.all_randomness_comes_from_laws,
    mechanism_checks.it_asks_within_its_sensitivity,
    mechanism_checks.no_guarantee_is_exceeded,
)


def check_learner(learner: Any, k: int | None = None, *, tell: Tell = None, **how: Any) -> list[Finding]:
    """Runs all checks of a learner.

    Args:
      learner: an instance.
      k: number of concepts that it learns at once; by default its own ``k``, else 1.
      tell: called before each check with its name, the number of finished checks and their total.
      how: see `LearnerUnderTest`: ``small`` and ``rows`` for the exact audit, ``task``, ``quick``, ``seconds``, ...

    Returns: a finding for each check. InputError if the object is not a learner.

    Statistical checks have a fixed seed, and fail a correct learner with probability at most 1e-6.
    """
    subject = LearnerUnderTest(learner, k, **how)
    return run_checks(subject, LEARNER_FIRST, LEARNER_QUICK + LEARNER_LONG * (not subject.quick), tell)


def check_concepts(concepts: Any, *, task: Any = None, quick: bool = False, tell: Tell = None) -> list[Finding]:
    """Runs all checks of a concept class: members, equality, encodings, labels, descriptions, errors, pieces.

    task: a `Task` of the class, whose distribution defines errors; by default eight elements of equal mass.
    """
    return run_checks(ConceptsUnderTest(concepts, task, quick), CONCEPTS_FIRST, CONCEPTS, tell)


def check_law(law: Any, *, quick: bool = False, tell: Tell = None) -> list[Finding]:
    """Runs all checks of a law: ``sample`` is marked, ``support`` is complete, and both agree with ``log_prob``."""
    return run_checks(LawUnderTest(law, quick), LAW_FIRST, LAW, tell)


def check_mechanism(
    mechanism: Any,
    guarantee: Callable[[float, float], Guarantee] | None = None,
    *,
    universe: Universe | None = None,
    plan: Callable[[Privacy], Any] | None = None,
    quick: bool = False,
    seconds: float = 20.0,
    tell: Tell = None,
) -> list[Finding]:
    """Runs all checks of a mechanism: its claim, its randomness, its sensitivity and its privacy.

    Args:
      mechanism: a `dpjax.audit.Target`, or a function (database, plan) -> law.
      guarantee: (epsilon, delta) -> the claim; for a function.
      universe: the databases to enumerate, for example `dpjax.audit.histograms`; for a function.
      plan: Privacy -> the function's plan; by default the budget in float32, rounded down.
    """
    if not isinstance(mechanism, Target) and guarantee is not None and universe is not None:
        mechanism = target_of(mechanism, guarantee, universe, plan)
    return run_checks(MechanismUnderTest(mechanism, quick, seconds), MECHANISM_FIRST, MECHANISM, tell)


def target_of(
    law: Callable[[Any, Any], Any],
    guarantee: Callable[[float, float], Guarantee],
    universe: Universe,
    plan: Callable[[Privacy], Any] | None = None,
    name: str | None = None,
) -> Target:
    """An audit target from a function (database, plan) -> law, its claim and databases to enumerate."""

    def run(key: Any, database: Any, plan: Any) -> Any:
        return law(database, plan).sample(key)

    def pairs() -> list[Pair]:
        some = universe.pairs[np.unique(np.linspace(0, len(universe.pairs) - 1, 8).astype(int))]
        side = lambda at: jax.tree.map(lambda part: np.asarray(part)[at], universe.databases)  # noqa: E731
        return [Pair(side(i), side(j), universe.show) for i, j in some]

    called = str(name or getattr(law, "__name__", type(law).__name__))
    target = Target(called, guarantee, run, lambda: [universe], pairs, table_of_run(run))
    return target if plan is None else replace(target, plan=plan)
