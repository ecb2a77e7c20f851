"""Numbers in the index of theorems are what the code computes, and no other numbers are in it."""

import itertools
import math
import re

import numpy as np
import pytest
from papers import bgs_boosting, bgs_dimensions
from papers.cover_instance import instance_epsilon
from scipy.special import gammaln, log_expit

from dpjax import audit, evidence
from dpjax.accounting import calibrate_set_cover, set_cover_epsilon
from dpjax.accounting.numeric.profile import loss_delta
from dpjax.attacks import BonehShaw
from dpjax.baselines import ERM
from dpjax.concepts import Domain, Finite, Points, Thresholds
from dpjax.core.types import Accuracy, Neighboring, Privacy
from dpjax.dimensions import families, littlestone_dimension
from dpjax.learners import Boosted, SparseAggregate
from dpjax.lists import VersionSpace
from dpjax.mechanisms import choosing, stability_histogram_guarantee
from dpjax.mechanisms.cover.lines.measures import Box, Kinematic
from dpjax.papers.theorems import papers, search
from dpjax.sanitizers import BLR, MWEM
from dpjax.theory import boosting, parities, representations
from dpjax.theory.vc1 import printed_subsample_size, subsample_size

pytestmark = pytest.mark.site

NUMBER = re.compile(r"(?<![\w./^-])(?:\d+\.\d+(?:e[+-]?\d+)?|\d+e[+-]?\d+|\d{2,})(?![\w/]|\.\d)")
SETTING = re.compile(r"\b(?:alpha|beta|delta|epsilon|xi|[a-zA-Z]) = \d[\d.e-]*\d")
OTHERS = re.compile(
    r"\b(?:Theorem|Lemma|Claim|Corollary|Definition|Remark|Proposition)s? [A-Z]?\.?\d[\d.]*\d(?: and \d[\d.]*\d)?"
    r"|\bbinary learner \(3\.6\)|where 1e-6 is claimed|at 1\.5 alpha|(?:of|with|by|not needed:|that|constants of) "
    r"(?:\d\.\d+)(?: and \d\.\d+)?(?=\b)"
)  # items of the paper, hypotheses, and parts of a formula


def of_7_1():
    found = bgs_dimensions.measure(bgs_dimensions.COUNTEREXAMPLE)
    rows = ", ".join("".join(map(str, row)) for row in bgs_dimensions.COUNTEREXAMPLE)
    bits, k = found.largest_bit, found.k
    return [
        f"rows {rows} (dimension {found.multiclass}, bits of dimension {bits}, log2({k + 1}) = {math.log2(k + 1):.3f})"
    ]


def of_7_2():
    small, full = (littlestone_dimension(families.independent_bits(2, 1, count)).value for count in (2, 3))
    assert full == 2
    return [f"with 2 elements (L = 2, d = 1) the dimension is {small}"]


def of_8_3():
    near, failure = 0.05, 0.025
    size = representations.point_hashing_printed(near, failure)[2]
    quarter = representations.point_hashing_printed(*representations.CONSTANT)[2]
    rows = [representations.printed(one, 1.0, near, failure) for one in (size, quarter)]
    return [f"n = {rows[0]} for {size} functions, where the printed form has {rows[1]}"]


def of_boosting():
    turns = boosting.rounds(0.1 / 3, 1 / 6)
    off = f"{bgs_boosting.last_step_factor(0.25, turns):.3g}".replace("e+", "e")
    return [f"off by {off} at epsilon = 1/4, T = {turns}"]


def of_the_histogram():
    delta = lambda n: stability_histogram_guarantee(1.0, 1e-6, calibration="printed", alpha=0.1, n=n).delta  # noqa: E731
    last = max(n for n in range(1, 3000) if delta(n) > 1e-6)
    target = evidence.mechanism_target("stability_histogram", calibration="printed", n=100)
    found = audit.exact(target, Privacy(1.0, 1e-6)).delta_found
    return [f"fails up to n = {last} (delta = {found:.3g} at n = 100)"]


def of_a_dist():
    found = audit.exact(evidence.mechanism_target("stability", calibration="printed"), Privacy(1.0, 1e-6))
    votes = {sum(found.witness[name]) for name in ("database", "neighbor")}
    return [f"over three candidates with {votes.pop()} votes delta is {found.delta_found:.3g} at epsilon = 1"]


def of_parities():
    m, rows = parities.parity_learner(128, 1.0, 1e-6, 0.1)
    about = 2 + 2 * math.log(1 / (4 * 1e-6 * 0.1))
    assert "m about 2 + (2/epsilon) ln(1/(4 delta beta))" in search("bns:3.12").why and abs(m - about) < 1
    assert "each of d rows plus a few" in search("bns:3.12").why and 0 <= rows - 128 <= 12
    return [f"{m} x {rows} = {m * rows} rows at d = 128, epsilon = 1, delta = 1e-6, beta = 0.1"]


def of_codes():
    a, b, c = (BonehShaw(n, 0.05).length for n in (4, 8, 16))
    return [f"k = {a}, {b} and {c} at n = 4, 8 and 16, xi = 0.05"]


def of_set_cover():
    relation, ours, printed, halved, least, hidden = Neighboring.ADD_OR_REMOVE_ONE, [], set(), set(), [], []
    for k in (1, 2, 4, 8):
        m = math.ceil(2 * k * math.log(2 / 0.1))
        paper, half, own = (
            calibrate_set_cover(1.0, 1e-6, m, k, relation, name) for name in ("paper", "paper_corrected", "hidden")
        )
        assert (paper.scale, half.scale) == (m, 2 * m)
        assert math.isclose(half.coefficient, math.log1p(0.5 / math.log(math.e * 1e6)), rel_tol=1e-6)
        printed.add(f"{paper.coefficient:.4f}")
        halved.add(f"{half.coefficient:.4f}")
        ours.append(f"{own.coefficient:.4f}")
        if k <= 2:
            numbers = paper.coefficient, m
            least.append((f"{instance_epsilon(1e-6, *numbers, paper.scale):.3f}", m))
            spent = set_cover_epsilon(1e-6, *numbers, k, relation, paper.scale, published=False)
            hidden.append(f"{spent:.3f}")
    (e, m), (e2, m2) = least
    return [
        f"epsilon = 1, delta = 1e-6 and m = {m} and {m2} (k = 1 and 2) it spends at most {hidden[0]} and {hidden[1]}",
        f"were the counts published, at least {e} and {e2}",
        f"allows {', '.join(ours[:3])} and {ours[3]} for k = 1, 2, 4 and 8, where the printed formula has "
        f"{printed.pop()}",
        f"coefficient ln(1 + (1/2) epsilon/ln(e/delta)), {halved.pop()}",
    ]


def of_lines():
    constants = [math.ceil(measure.log_cost(1) * 10) / 10 for measure in (Box(), Kinematic())]
    growth = [(one.log_cost(2**20) - one.log_cost(1)) / (20 * math.log(2)) for one in (Box(), Kinematic())]
    (box, kinematic), (steep, flat) = constants, map(round, growth)
    return [f"{steep} ln d + {box} nats here, and {flat} ln d + {kinematic} for the kinematic measure"]


def of_subsamples():
    printed, ours = printed_subsample_size(453, 0.1, 0.05), subsample_size(453, 0.1, 0.05 / 3)
    return [f"{printed} examples a subsample where {ours} are enough"]


GOAL = Privacy(1.0, 1e-6), Accuracy(0.1, 0.1)


def of_boosted_lists():
    learner, budget = SparseAggregate(VersionSpace(Finite.of(families.thresholds(4)))), Privacy(0.25, 1e-6)
    rows, boosted = (one.sample_size(budget, Accuracy(0.1, 0.05)) for one in (learner, Boosted(learner)))
    return [f"it needs {rows} rows, boosted {boosted}"]


def of_erm():
    learner = ERM(Thresholds(Domain(2**64)))
    one, many = (learner.sample_size_of(k, *GOAL) for k in (1, 10**9))
    return [f"thresholds from {one} rows (one) to {many} (any number of them)"]


def of_blr():
    found = {kind: BLR(kind(Domain(16))) for kind in (Thresholds, Points)}
    rows, points = ({k: size(s) for k, s in found.items()} for size in (_rows, lambda s: s.plan(*GOAL).size))
    return [
        f"thresholds over 16 values from {rows[Thresholds]} rows with {points[Thresholds]} points",
        f"points from {rows[Points]} rows with {points[Points]}",
    ]


def of_mwem():
    sanitizer = MWEM(Finite.of(families.thresholds(16)[1:]))
    return [f"{_rows(sanitizer)} rows and {sanitizer.plan(*GOAL).rounds} rounds for 16 thresholds"]


def of_triangles():
    return [f"the {len(families.polyhedra(list(itertools.product(range(4), repeat=2)), 3))} cuts of {{0, ..., 3}}^2"]


def of_simplices():
    box = list(itertools.product(range(3), range(2), range(2)))
    return [f"the {len(families.polyhedra(box, 4))} cuts of {{0, 1, 2}} x {{0, 1}}^2"]


def of_halfspaces():
    return [f"the {len(families.halfspaces(list(itertools.product(range(3), repeat=3))))} halfspaces of {{0, 1, 2}}^3"]


def of_discs():
    return [f"{len(families.balls(list(itertools.product(range(5), repeat=2))))} discs and outsides of discs on"]


def _rows(sanitizer):
    return sanitizer.sample_size(*GOAL)


COMPUTED = {
    "bgs:7.1": of_7_1,
    "bgs:7.2": of_7_2,
    "bgs:8.3": of_8_3,
    "bgs:A.1": of_boosting,
    "bgs:A.3": of_boosted_lists,
    "bns:2.12": of_erm,
    "bns:2.18": of_blr,
    "bns:2.19": of_mwem,
    "bns:2.20": of_the_histogram,
    "bns:3.11": of_a_dist,
    "bns:3.12": of_parities,
    "bns:4.5": of_codes,
    "kmms:3.4": of_set_cover,
    "kmms:4.7": of_lines,
    "kmms:Hyperplanes": of_halfspaces,
    "kmms:Linearization": of_discs,
    "kmms:SelectTriangle": of_triangles,
    "kmms:Simplices": of_simplices,
    "yan:theorem-3": of_subsamples,
}


def text_of(item):
    return " | ".join((item.printed, item.right, item.why))


@pytest.mark.parametrize("key", COMPUTED)
def test_a_number_is_what_the_code_computes(key):
    text = text_of(search(key))
    for words in COMPUTED[key]():
        assert words in text
        text = text.replace(words, "")
    assert not NUMBER.findall(OTHERS.sub("", SETTING.sub("", text)))


FAULTS = {"bns:3.11": "statement", "bgs:7.1": "slip", "bgs:7.2": "slip", "bns:4.5": "slip", "kmms:3.4": "open"}
"""Of items with a computed number: false as printed, or not what the number is about."""


@pytest.mark.parametrize("key", FAULTS)
def test_only_a_counterexample_to_what_is_claimed_makes_a_statement_false(key):
    assert search(key).fault == FAULTS[key] and key in COMPUTED


def test_the_printed_point_sanitizer_is_private_at_its_number_of_rows():
    """Proposition 2.20 with the constant of its proof; below it the exact audit refutes the thresholds."""
    assert search("bns:2.20").status == search("bns:algorithm-1").status == "have"
    for alpha, epsilon in ((0.1, 1.0), (0.1, 0.5), (0.25, 0.2)):
        rows = math.ceil(8 / (alpha * epsilon) * (math.log(1e6) + epsilon / 2))
        deltas = [
            stability_histogram_guarantee(epsilon, 1e-6, calibration="printed", alpha=alpha, n=n).delta
            for n in (rows, 2 * rows, 100 * rows, rows // 2)
        ]
        assert max(deltas[:3]) <= 1e-6 < deltas[3]


@pytest.mark.parametrize(
    ("k", "epsilon", "delta"), [(2, 10.0, math.exp(-0.25)), (1000, 1.0, 1e-6), (30_000, 0.2, 1e-6)]
)
def test_the_printed_advanced_composition_is_false(k, epsilon, delta):
    """yan:theorem-7 against k randomized responses, exactly."""
    assert search("yan:theorem-7").fault == "statement"
    wins = np.arange(k + 1)
    log_mass = gammaln(k + 1) - gammaln(wins + 1) - gammaln(k - wins + 1)
    log_mass += wins * log_expit(epsilon) + (k - wins) * log_expit(-epsilon)
    assert loss_delta(log_mass, (2 * wins - k) * epsilon, math.sqrt(2 * k * math.log(1 / delta)) * epsilon) > delta


def test_the_printed_loss_of_a_round_is_false_and_the_sum_of_all_losses_true():
    """yan:claim-4: one child of the best score, the others just beyond ln(m)/epsilon below, at any beta below .9.

    But the best leaf has no rows with label 0, so all losses together may be 2 alpha N more, which N rows allow.
    """
    assert search("yan:claim-4").fault == "proof"
    m, epsilon = 100, 1.0
    weight = (m - 1) * math.exp(-epsilon * 1.001 * math.log(m) / epsilon / 2)
    assert weight / (1 + weight) > 0.9
    for alpha, beta, epsilon in itertools.product((0.5, 0.1, 1e-3), (0.5, 0.1, 1e-6), (0.01, 1.0)):
        rounds, n = 2 / alpha, 4 * (math.log(1 / alpha) + math.log(1 / beta)) / (alpha**2 * epsilon)
        lost = rounds * 2 / epsilon * (math.log(2 / alpha) + math.log(1 / beta))  # each with probability 1 - beta
        assert lost <= 2 * alpha * n + rounds * math.log(2 / alpha) / epsilon


def test_a_sample_of_no_concept_that_determines_all_points_is_seen():
    """yan:definition-15 as printed: one subsample has a vote for every node of a depth, which the choice shows."""
    assert search("yan:definition-15").fault == "use"
    votes = np.zeros(10**4, np.int32)
    votes[0] = 10
    one, other = (np.exp(np.asarray(choosing(each, 1.0, 1e-6).log_probs())) for each in (votes, votes + 1))
    assert np.sum(np.maximum(0, other - math.e * one)) > 1000 * 1e-6


@pytest.mark.parametrize(("k", "elements"), [(2, 3), (3, 3), (4, 4), (5, 4)])
def test_the_upper_bound_by_bits_is_tight_for_every_number_of_labels(k, elements):
    """bgs:7.2 at d = 1: one point for each bit, no two on an element, so that no label is above k."""
    bits = k.bit_length()
    matrix = [
        [sum(1 << bit for bit, place in enumerate(places) if place == x) for x in range(elements)]
        for places in itertools.permutations(range(elements), bits)
    ]
    found = bgs_dimensions.measure(matrix)
    assert max(map(max, matrix)) <= k and found.largest_bit == 1
    assert found.multiclass == bits == math.ceil(math.log2(k + 1))


def test_no_code_is_sound_if_a_user_has_a_constant_word():
    """bns:4.5: a word of one user that the others can output has to be traced to it, and must not be."""
    for users in (2, 4, 8):
        types = np.arange(1, users)  # thresholds on as many elements as users
        words = np.arange(users)[:, None] < types
        assert words[0].all() and not words[1:].all(axis=1).any()
    assert search("bns:4.5").right.startswith("|X| >= n + 1, types 0..n")


def test_the_printed_code_of_a_halfplane_misses_one_slope():
    """kmms:4.1: a sign is lost at a = -2 d^2, and nowhere else."""
    for most in (2, 8, 18):
        halfplanes = [(a, sign) for a in range(-most, most + 1) for sign in (1, -1)]
        codes = [a + 2 * most * (sign == -1) for a, sign in halfplanes]
        read = [(code - 2 * most * (code > most), 1 - 2 * (code > most)) for code in codes]
        assert [one for one, other in zip(halfplanes, read, strict=True) if one != other] == [(-most, -1)]
    assert search("kmms:4.1").fault == "slip"


def test_the_printed_area_of_cells_is_true():
    printed, right = (
        re.search(r"1/\((\d) d\^(\d)\)", text) for text in (search("kmms:4.6").printed, search("kmms:4.6").right)
    )
    for d in range(1, 100):
        assert int(printed[1]) * d ** int(printed[2]) >= int(right[1]) * d ** int(right[2])
    assert search("kmms:4.6").fault == "proof"


def test_no_other_item_has_a_number():
    items = [item for paper in papers().values() for item in paper.items.values() if item.key not in COMPUTED]
    left = {item.key: NUMBER.findall(OTHERS.sub("", SETTING.sub("", text_of(item)))) for item in items}
    assert not {key: found for key, found in left.items() if found}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("4352 rows", ["4352"]),
        ("delta is 0.363 here", ["0.363"]),
        ("off by 9.37e11 at", ["9.37e11"]),
        ("alpha = 0.1 and n = 20", []),
        ("Lemma 3.7 with 2.20", []),
        ("32 x 136", ["32", "136"]),
    ],
)
def test_what_a_number_is(text, found):
    assert NUMBER.findall(OTHERS.sub("", SETTING.sub("", text))) == found
