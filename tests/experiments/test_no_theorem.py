"""Learners with numbers that no theorem covers are measured; only the theorem's number is missing."""

from dataclasses import dataclass, replace

import pytest

import dpjax as dp
from dpjax.cli import main
from dpjax.concepts import Finite, Unions
from dpjax.core.checks import InputError, NoTheoremError
from dpjax.dimensions import families
from dpjax.learners import UnionLearner
from dpjax.lists import Irreducibility
from dpjax.mechanisms.cover import Pieces
from dpjax.sanitizers import BLR, MWEM, PointCounts
from tests.experiments import fast

ACCURACY = dp.Accuracy(0.2, 0.1)


class Untold(fast.Coin):
    """A learner without a theorem."""

    def _sample_size(self, privacy, accuracy):
        raise NoTheoremError("tries", "at least 2", "1", "take more")


def test_a_study_runs_and_searches_without_a_theorem(tmp_path):
    coins = fast.task()
    found = dp.Study(
        coins,
        {"few": Untold(coins.concepts), "all": fast.Coin(coins.concepts)},
        accuracy=dp.Accuracy(0.2, 0.2),
        trials=32,
        points=2,
        search=dp.Search(n_min=8, n_max=64, steps_per_doubling=1, most_trials=2000, confidence=0.9),
    ).run(tmp_path, quiet=True)
    stars = {star["learner"]: star["theorem"] for star in found.data["n_star"]}
    assert stars == {"few": None, "all": 64} and not found.data["failures"]


def test_exponents_without_a_theorem():
    from dpjax.experiments.run.rows import exponents

    row = {"learner": "few", "epsilon": 1.0, "confidence": 0.95, "exponent_of_k": None, "theorem": None}
    stars = [row | {"k": k, "n_low": 90 * k, "n_high": 100 * k} for k in (1, 10)]
    (fit,) = exponents(stars)
    assert fit["theorem"] is None and abs(fit["slope"] - 1) < 1e-9


def test_plan_says_that_there_is_none(capsys):
    flags = ["--learner", "HashedPoints(tries=1, bits=2)", "KLN", "--concepts", "Points(64)", "--n", "50"]
    assert main(["plan", *flags]) == 0
    said = capsys.readouterr().out
    assert "no theorem for these numbers" in said and "theorem's n = " in said
    assert "bits: expected" in said


def test_plan_says_why_there_is_none_for_noise(capsys):
    flags = ["--learner", "StablePoints", "--concepts", "Points(64)", "--n", "50", "--noise", "0.1"]
    assert main(["plan", *flags]) == 0
    assert "expected one with an agnostic theorem, got StablePoints" in capsys.readouterr().out


@dataclass(frozen=True)
class Complete(Pieces):
    """A family that claims to have the pieces of all targets."""

    complete = True


def test_a_union_of_more_pieces_than_k_has_no_theorem():
    learner, numbers = UnionLearner(Unions(64, 3), k=2, family=Complete(64)), (dp.Privacy(1.0, 1e-6), ACCURACY)
    with pytest.raises(NoTheoremError, match=r"at least 3.*got 2"):
        learner.sample_size(*numbers)
    assert replace(learner, k=3).sample_size(*numbers) > 1000


def test_plan_says_that_unions_of_few_lines_have_none(capsys):
    learners = ["UnionLearner(family=dpjax.mechanisms.cover:Pieces(1023))", "UnionLearner"]
    flags = ["--concepts", "Unions(1023,1)", "--epsilon", "100", "--n", "500"]
    assert main(["plan", "--learner", learners[1], *flags]) == 0
    assert "theorem's n = " in capsys.readouterr().out
    assert main(["plan", "--learner", learners[0], *flags]) == 0
    said = capsys.readouterr().out
    assert "no theorem for these numbers" in said and "family: expected a complete one" in said


def test_lists_with_smaller_trees_have_no_theorem():
    concepts = Finite.of(families.thresholds(6))
    learner = dp.SparseAggregate(Irreducibility(concepts, 1), 40)
    line = dp.Study(dp.Task(concepts, dp.uniform(concepts.domain)), {"small": learner}, n=[40]).curves[0]
    assert line.theorem() is None and line.guarantee().delta <= 1e-6


POINTS, CHAIN, MATRIX = dp.Points(dp.Domain(16)), dp.Thresholds(dp.Domain(16)), Finite.of(families.thresholds(6))
TREE = dp.Tree.of_class(families.thresholds(5))
TOO_FEW = {
    "improper": lambda: dp.ImproperVC1(CHAIN, subsamples=3),
    "proper": lambda: dp.ProperVC1(TREE, subsamples=3),
    "interior": lambda: dp.ThresholdInterior(CHAIN, "exponential", records=1),
    "fillers": lambda: dp.GenericLearner(POINTS, 1, PointCounts(POINTS.domain, 15, 10)),
    "rounds of MWEM": lambda: dp.GenericLearner(MATRIX, 1, MWEM(MATRIX.xor(), 3)),
    "points of BLR": lambda: dp.GenericLearner(MATRIX, 1, BLR(MATRIX.xor(), 2)),
    "queries": lambda: dp.GenericLearner(MATRIX, 1, MWEM(MATRIX, 3)),
    "rounds of a cover": lambda: dp.ConjunctionLearner(dp.Conjunctions(8), 4, rounds=1),
}


@pytest.mark.grid(keep=4)
@pytest.mark.parametrize("name", TOO_FEW)
def test_numbers_below_a_theorem_do_not_stop_a_study(name):
    """The plan exists, so the learner can be measured, in a list of sizes or by a search."""
    learner = TOO_FEW[name]()
    (line,) = dp.Study(dp.Task(learner.concepts, dp.uniform(learner.concepts.domain)), {"few": learner}).curves
    assert line.theorem() is None and "expected" in line.why_no_theorem()
    assert 0 < line.guarantee().epsilon <= 1


@pytest.mark.parametrize("name", ["improper", "proper", "fillers"])
def test_a_plan_that_cannot_exist_stops_a_study(name):
    learner = TOO_FEW[name]()
    with pytest.raises(InputError, match="delta"):
        dp.Study(dp.Task(learner.concepts, dp.uniform(learner.concepts.domain)), {"few": learner}, delta=0.0)
