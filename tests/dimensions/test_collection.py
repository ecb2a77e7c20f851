"""Values and relations of a public collection of combinatorial parameters, on its classes and on random ones."""

import json
from functools import cache
from inspect import signature
from itertools import product
from math import ceil, comb, floor, isclose, log2
from pathlib import Path

import numpy as np
import pytest

from dpjax import dimensions
from tests.dimensions.classes import random_class
from tests.oracles import classes, parameters

DATA = Path(__file__).parents[1] / "data" / "combinatorial_parameters"
VALUES, RELATIONS = (json.loads((DATA / name).read_text()) for name in ("values.json", "relations.json"))
PARAMETERS = {record["parameter"] for record in VALUES}
FUNCTIONS = {"__builtins__": {}, "log2": log2, "ceil": ceil, "floor": floor, "comb": comb, "sum": sum, "range": range}

# arguments of the classes: all parameters are computed for SMALL and LARGER, for WIDE and LARGEST those of the records
SMALL = {name: [()] for name in classes.EXPLICIT} | {
    "warmuth_c5": [()],
    "k4_incidence_with_empty": [()],
    "balanced_six_split": [()],
    "trivial_concepts": range(1, 7),
    "singletons": range(1, 8),
    "full_cube": range(1, 6),
    "singletons_plus_empty_set": range(1, 8),
    "halfintervals": range(1, 9),
    "tagged_singletons": range(2, 7),
    "majority": range(1, 6),
    "addressing": range(2, 6),
    "blockwiseaddressing": [2],
    "universal_class": range(1, 4),
    "coded_singletons": range(1, 6),
    "middle_layers": [1, 2],
    "majority_gap_products": [1],
    "ben_david_eiron_selfdirected": [(3, 0), (4, 0)],
    "common_core_singletons": range(1, 7),
    "common_core_cube": range(1, 5),
    "even_parity_class": range(1, 6),
    "cube_with_apex": range(1, 5),
    "quadratic_residue_tournament_classes": [3, 7],
    "antipodally_punctured_cube": [3, 4, 5],
    "cube_halfinterval_product": [(1, 2), (1, 3), (1, 4), (1, 7), (2, 2), (2, 3), (2, 4), (3, 2)],
    "branching_batch_tree": [(1, 1), (1, 2), (1, 3), (2, 1), (3, 1)],
    "singleton_cosingleton": range(4, 8),
    "private_coordinate_cube": [1, 2],
    "repeated_coordinate_cube": [2, 3],
    "parity_functions": [1],
}
LARGER = {
    "trivial_concepts": [7, 8],
    "singletons": [8, 9],
    "full_cube": [6],
    "singletons_plus_empty_set": [8, 9],
    "halfintervals": [9, 10, 11],
    "tagged_singletons": [7, 8],
    "majority": [6],
    "addressing": [6, 7, 8],
    "coded_singletons": [6, 7],
    "majority_gap_products": [2],
    "ben_david_eiron_selfdirected": [(3, 1)],
    "common_core_singletons": [7, 8],
    "common_core_cube": [5],
    "even_parity_class": [6, 7],
    "cube_with_apex": [5],
    "quadratic_residue_tournament_classes": [11],
    "antipodally_punctured_cube": [6],
    "cube_halfinterval_product": [(1, 9), (2, 6), (3, 4)],
    "branching_batch_tree": [(2, 2)],
    "anchored_torsion": [()],
    "singleton_cosingleton": [8],
    "private_coordinate_cube": [3],
    "repeated_coordinate_cube": [4],
}
WIDE = {
    "anchored_torsion": [()],
    "odd_torsion_dual": [()],
    "parity_functions": [2],
    "private_coordinate_cube": [3, 4],
    "rubinstein_minimum_degree": [10],
    "universal_class": [4],
    "chen_teaching_products": [1],
    "chen_neighbor_puncture": [()],
}
LARGEST = {
    "full_cube": [7],
    "tagged_singletons": [10, 12],
    "blockwiseaddressing": [4],
    "universal_class": [5],
    "middle_layers": [3],
    "rubinstein_minimum_degree": [10],
    "quadratic_residue_tournament_classes": [19],
    "branching_batch_tree": [(1, 4), (2, 3)],
    "chen_teaching_products": [1],
    "chen_neighbor_puncture": [()],
    "private_coordinate_cube": [5],
}
PROJECTED = {"monotone_recursive_teaching_dimension", "projected_minimum_degree"}
TOO_LONG = {
    "blockwiseaddressing(d=4)": {"covc_dimension", "equivalence_queries_complexity", "extended_teaching_dimension"},
    "branching_batch_tree(b=1, n=4)": {"monotone_recursive_teaching_dimension"},
    "branching_batch_tree(b=2, n=3)": {"monotone_recursive_teaching_dimension"},
}


class Class(dict):
    """A class with its parameters, which are computed when they are asked for."""

    def __init__(self, name, table, arguments=None):
        self.name, self.table, self.arguments = name, table, arguments or {}

    def __missing__(self, parameter):
        if parameter not in PARAMETERS:
            raise KeyError(parameter)
        self[parameter] = getattr(parameters, parameter)(self.table)
        return self[parameter]

    def __str__(self):
        return f"{self.name}({', '.join(f'{name}={value}' for name, value in self.arguments.items())})"


def instances(table):
    for name, listed in table.items():
        for given in listed:
            names = () if name in classes.EXPLICIT else signature(getattr(classes, name)).parameters
            arguments = dict(zip(names, given if isinstance(given, tuple) else (given,), strict=True))
            yield Class(name, classes.build(name, **arguments), arguments)


small, wide, larger, largest = (list(instances(table)) for table in (SMALL, WIDE, LARGER, LARGEST))


@cache
def random_classes(count):
    generator = np.random.default_rng(11)
    return [Class(f"random class {i}", random_class(generator, 10, 5, 2).astype(bool)) for i in range(count)]


def evaluate(expression, names):
    return eval(expression, FUNCTIONS, names)


def given(record, names):
    return evaluate(record.get("condition", "True"), names)


def value(record, arguments):
    """The value of a record; its sums need the arguments among the globals."""
    return eval(record["value"], FUNCTIONS | arguments)


def holds(relation, left, right):
    return isclose(left, right, abs_tol=1e-9) or (relation == ">=" and left > right)


def values_of(one, left_out=()):
    """The records of a class whose condition is fulfilled and whose parameter does not take too long."""
    skipped = {*left_out, *TOO_LONG.get(str(one), ())}
    records = [record for record in VALUES if record["class"] == one.name and record["parameter"] not in skipped]
    return [record for record in records if given(record, one.arguments)]


def check_values(one, left_out=()):
    for record in values_of(one, left_out):
        found, expected = one[record["parameter"]], value(record, one.arguments)
        left, right = (expected, found) if record.get("exactness") == "upper" else (found, expected)
        relation = ">=" if "exactness" in record else "=="
        assert holds(relation, left, right), f"{one}: {record} gives {expected}, found {found}"


def check_relation(record, listed):
    """The number of classes on which the relation was checked."""
    count = 0
    for one in listed:
        if given(record, one):
            left, right = evaluate(record["left"], one), evaluate(record["right"], one)
            assert holds(record["relation"], left, right), f"{one}: {record}, found {left} and {right}\n{one.table}"
            count += 1
    return count


@pytest.mark.parametrize("one", small, ids=str)
def test_values_of_small_classes(one):
    check_values(one)


@pytest.mark.parametrize("one", wide, ids=str)
def test_values_of_wide_classes_without_projections(one):
    check_values(one, left_out=PROJECTED)


@pytest.mark.slow
@pytest.mark.parametrize("one", larger + largest, ids=str)
def test_values_of_larger_classes(one):
    check_values(one)


@pytest.mark.parametrize("record", RELATIONS, ids=lambda one: "{left} {relation} {right}".format(**one))
def test_relations_of_small_and_random_classes(record):
    assert check_relation(record, small) and check_relation(record, random_classes(60))


@pytest.mark.slow
@pytest.mark.parametrize("record", RELATIONS, ids=lambda one: "{left} {relation} {right}".format(**one))
def test_relations_of_larger_and_more_random_classes(record):
    assert check_relation(record, larger) and check_relation(record, random_classes(2000))


def test_every_record_takes_part():
    assert len(PARAMETERS) >= 25 and len(RELATIONS) >= 80
    assert {"equal", "lower", "upper"} == {record.get("exactness", "equal") for record in VALUES}
    checked = [record for one in small + larger + largest for record in values_of(one)]
    checked += [record for one in wide for record in values_of(one, left_out=PROJECTED)]
    assert [record for record in VALUES if record not in checked] == []
    assert {str(one) for one in largest} >= set(TOO_LONG)


def names_of(record):
    """The parameters that a relation and its condition name."""
    text = f"({record['left']}, {record['right']}, {record.get('condition', 'True')})"
    return PARAMETERS & set(compile(text, "relation", "eval").co_names)


@pytest.mark.parametrize("n", [9, 16, 40, 64])
def test_values_agree_with_relations_for_classes_too_large_to_measure(n):
    compared = 0
    for name in {record["class"] for record in VALUES} - set(classes.EXPLICIT):
        if list(signature(getattr(classes, name)).parameters) == ["n"]:
            records = [record for record in VALUES if record["class"] == name and "exactness" not in record]
            known = {one["parameter"]: value(one, {"n": n}) for one in records if given(one, {"n": n})}
            possible = [record for record in RELATIONS if names_of(record) <= set(known)]
            for record in [record for record in possible if given(record, known)]:
                left, right = evaluate(record["left"], known), evaluate(record["right"], known)
                assert holds(record["relation"], left, right), f"{name}({n=}): {record} gives {left} and {right}"
                compared += 1
    assert compared > 400


def test_threshold_dimensions_with_and_without_the_empty_prefix():
    """The collection asks for a row with none of the points, too: its dimension is ours or one less."""
    differences = set()
    for one in small + random_classes(200):
        ours = dimensions.threshold_dimension(one.table).value
        differences.add(ours - one["threshold_dimension"])
    assert differences == {0, 1}


def queries(rows, elements):
    """The game itself: some hypothesis, then any element at which a row that is left differs from the hypothesis."""

    @cache
    def cost(rows):
        if len(rows) < 2:
            return 0
        halves = [parameters.split(rows, x) for x in elements]
        answers = [[pair[bit] for pair, bit in zip(halves, bits, strict=True)] for bits in hypotheses]
        return 1 + min(max(cost(left) for left in wrong if left) for wrong in answers if rows not in wrong)

    hypotheses = list(product((0, 1), repeat=len(elements)))
    return cost(rows)


def test_equivalence_queries_with_every_hypothesis():
    for one in random_classes(60):
        count = queries(parameters.sets(one.table), parameters.elements(one.table))
        assert count == one["equivalence_queries_complexity"] == one["littlestone_dimension"]
