"""Writes corrected-constants.md: printed constants, statements and proofs with a fault, by exact audits.

Run: python scripts/corrected_constants.py [--out FOLDER]
"""

import math
from collections.abc import Sequence
from itertools import product
from math import log2
from pathlib import Path

from pages import folder, table, write_page
from papers import bgs_boosting, bgs_dimensions
from papers.cover_instance import instance_epsilon

from dpjax import audit, evidence
from dpjax.accounting import calibrate_set_cover, set_cover_epsilon
from dpjax.accounting.subsampling import secrecy_pair, with_replacement_pair
from dpjax.core.types import Neighboring, Privacy
from dpjax.dimensions import families, littlestone_dimension
from dpjax.mechanisms import stability_histogram_guarantee
from dpjax.theory import boosting, parities, representations

DELTA = 1e-6
COLUMNS = """| mechanism | printed in | epsilon | delta found as printed | as corrected | two databases that show it |
|---|---|---|---|---|---|
"""
HEAD = f"""# Constants in papers that break their claim

Some constants and statements in papers do not give the privacy or the accuracy that is claimed for them, and some
proofs do not show a claim that holds. Each section says which of these it is: what is printed, what an exact audit or a
computation finds for the output that the paper has, and what is right; databases or classes show each violation. dpjax
uses the corrected constants unless it is asked for the printed ones.

Written by `scripts/corrected_constants.py` from exact audits: every neighbor in a small universe, in float64,
replace-one, claimed delta {DELTA:g}. `dpjax audit stability --calibration printed` shows the first row with its
witness. The corrected constants are the default of every mechanism and learner. `accounting.advanced` has
form="printed" as its default, Theorem 2.16(2) of Bun, Nissim and Stemmer with its 2 m epsilon^2: that bound holds, and
learners use the smaller form="tight".

{COLUMNS}"""
A_DIST = "A_dist | Bun, Nissim, Stemmer 2016, Algorithm 3"
SANITIZER = "point sanitizer, alpha = 0.1, n = {} | the same, Algorithm 1"
WHY = """
Reason: in A_dist the lead of the best over the second candidate changes by 2, not 1, when a row is replaced; noise and
threshold are calibrated for 1. A database is shown by the votes for three candidates.

## Private from a number of rows on

Algorithm 1 of the same paper, a sanitizer of points, releases noisy counts above alpha n / 2 for every delta.
Proposition 2.20 claims its privacy for the rows that accuracy needs, O(log(1/(alpha beta delta)) / (alpha epsilon)),
and there it holds: the proof needs n >= (8 / (alpha epsilon)) (ln(1/delta) + epsilon/2), which is 1146 for the rows
below. With fewer rows it does not; a guarantee of dpjax is for every n, so that dpjax has another threshold.

"""
LAST_N = """
The largest n at which the printed thresholds are not (epsilon, delta)-private: the audit refutes them at n, and not at
n + 1.

| alpha | epsilon | last n | n of the proof |
|---|---|---|---|
"""
WHY_N = """
Reason: a count of floor(alpha n / 4) + 1 gets noise while a smaller count is never released, so delta is at least the
probability that the noise lifts the former above alpha n / 2, which is large for small n. A database is shown by the
rows at two values, between which the replaced row moves; the other rows are at other values, as many at each in both
databases, and their noisy counts have the same law.
"""
SAMPLE_SIZE = """
## Statements that do not follow from their proofs

Theorem 3.12 of the same paper states d log(1/beta) + log(1/(beta delta)) / epsilon rows up to a constant C: a sum. It
holds without subsamples: the best of all vectors of k parities, by the most errors in a column, leads by n/4 from
about 8 (d ln 2 + ln(1/beta)) rows on, so that A_dist releases it; this takes time exponential in d. Algorithm 4, which
is the printed proof and is efficient, needs m subsamples that each solve for d unknowns, with m about 2 + (2/epsilon)
ln(1/(4 delta beta)): a product, which the last line of the proof has too. With the rows of the sum there are too few
subsamples for any lead to pass the test, for every d. epsilon = 1, beta = 0.1. "Subsamples that fit" and "success" are
of subsamples of d + 3 rows, each of full rank with probability at least 0.880; success is exact
(`theory.parities.success`). The last three columns are the plan of `ParityLearner` (`theory.parities.parity_learner`),
which has the fewest rows in total: m subsamples of d + 5 or d + 8 rows here.

"""
LEMMA = """
Lemma 2.25 prints the inverse of its ratio, by which drawing few rows from many would cost privacy. An algorithm on
{draws} rows
drawn with replacement, (epsilon, {delta:g})-private:

"""
SET_COVER = """
## Set cover, the printed proof

Kaplan, Mansour, Matias and Stemmer, Claim 3.4: m rounds of `SetCoverLearner` with coefficient epsilon / (2 ln(e/delta))
and counts with noise of scale m / epsilon are (epsilon, delta)-private. The algorithm outputs the selected functions,
not the noisy counts. The claim holds for a row added or removed ([proof](../proofs/set-cover-hidden.md)); the printed
proof does not show it, since its last line has 2 epsilon: one epsilon for the counts and one for the functions. For a
row that is replaced, the relation of the paper's definition, there is no proof of it. epsilon = {epsilon:g}, delta =
{delta:g}, m = ceil(2 k ln(2/alpha)) for alpha = {alpha:g}. "At most" is certified by `accounting.set_cover_epsilon`;
"at least" is the exact law of two databases, `scripts/papers/cover_instance.py`. The first two bounds are of the
functions alone. Were the noisy counts published too, the constants would break the claim for k = 1 and 2. "Halved":
the printed proof with one half of its epsilon for the counts, of scale 2 m / epsilon, and one half for the functions,
ln(1 + (epsilon/2) / ln(e/delta)). Ours: the largest coefficient that the [stopping game](../proofs/set-cover-game.md)
allows if the counts are not published.

"""
MULTICLASS = """
## Multiclass learning and boosting, slips and proofs

Bun, Gaboardi and Sivakumar 2021. Every number is computed here. Most are slips: what is meant is clear and holds. The
learners of dpjax use what is right: `BitReduction` counts bits, `RepresentationLearner` takes the size of its own
family, `Boosted` keeps a weight for every row and shrinks the rounds in place of amplifying them at the end.

"""


def main(path: Path) -> None:
    """Audits, and writes the tables."""
    rows = [_row(A_DIST, "stability", epsilon) for epsilon in (1.0, 0.5, 0.1)]
    few = [_row(SANITIZER.format(n), "stability_histogram", 1.0, n) for n in (100, 500, 1084)]
    last = [
        f"| {alpha:g} | {epsilon:g} | {_last(alpha, epsilon)} | {_of_proof(alpha, epsilon)} |"
        for alpha, epsilon in ((0.1, 1.0), (0.1, 0.5))
    ]
    page = HEAD + "\n".join(rows) + "\n" + WHY + COLUMNS + "\n".join(few) + "\n" + LAST_N + "\n".join(last) + "\n"
    write_page(path, page + WHY_N + _parities() + _secrecy() + _set_cover() + _multiclass())


def _parities() -> str:
    rows = []
    for d, delta, constant in product((16, 128, 1024), (1e-6, 1e-12), (1, 4)):
        total = constant * math.ceil(d * math.log(10) + math.log(10 / delta))
        fit = total // (d + 3)
        m, each = parities.parity_learner(d, 1.0, delta, 0.1)
        assert each - d in (5, 8)
        chance = parities.success(fit, d + 3, d, 1.0, delta)
        rows.append((d, f"{delta:g}", constant, total, fit, chance, m, each, m * each))
    head = (
        "d",
        "delta",
        "C",
        "rows of the sum",
        "subsamples that fit",
        "success",
        "m planned",
        "rows of each",
        "rows planned",
    )
    return SAMPLE_SIZE + table(head, rows)


def _secrecy() -> str:
    draws, rows = 100, []
    for epsilon, database in product((0.1, 1.0), (200, 900, 10_000)):
        forms = [secrecy_pair(epsilon, DELTA, draws, database, form) for form in ("printed", "corrected")]
        cells = [f"({e:.3g}, {d:.2g})" for e, d in (*forms, with_replacement_pair(epsilon, DELTA, draws, 1 / database))]
        rows.append((epsilon, database, *cells))
    return LEMMA.format(draws=draws, delta=DELTA) + table(("epsilon", "rows", "printed", "corrected", "dpjax"), rows)


def _set_cover() -> str:
    epsilon, alpha, relation, rows = 1.0, 0.1, Neighboring.ADD_OR_REMOVE_ONE, []
    for k in (1, 2, 4, 8):
        m = math.ceil(2 * k * math.log(2 / alpha))
        printed, halved, ours = (
            calibrate_set_cover(epsilon, DELTA, m, k, relation, name) for name in ("paper", "paper_corrected", "hidden")
        )
        spent = []
        for plan, published in ((printed, False), (printed, True), (halved, True)):
            least = instance_epsilon(DELTA, plan.coefficient, m, plan.scale if published else 0.0)
            most = set_cover_epsilon(DELTA, plan.coefficient, m, k, relation, plan.scale, published)
            assert least <= most
            spent += [least, most]
        assert spent[1] <= epsilon
        assert (spent[2] > epsilon) == (spent[3] > epsilon) == (k <= 2)
        assert spent[5] <= epsilon
        cells = (f"{value:.3f}" for value in (*spent[:4], spent[5]))
        rows.append((k, m, *cells, *(f"{plan.coefficient:.4f}" for plan in (printed, halved, ours))))
    head = (
        "k",
        "m",
        "epsilon at least",
        "at most",
        "counts published, at least",
        "at most",
        "halved, published, at most",
        "coefficient printed",
        "halved",
        "ours",
    )
    return SET_COVER.format(epsilon=epsilon, delta=DELTA, alpha=alpha) + table(head, rows)


def _multiclass() -> str:
    counter, base = bgs_dimensions.measure(bgs_dimensions.COUNTEREXAMPLE), families.one_bit_gap(7)
    twice = [littlestone_dimension(matrix).value for matrix in (base, families.copies(base, 2))]
    small = littlestone_dimension(families.independent_bits(2, 1, 2)).value
    full = littlestone_dimension(families.independent_bits(2, 1, 3)).value
    near, failure, epsilon = 0.05, 0.025, 1.0
    tries, buckets, size = representations.point_hashing_printed(near, failure)
    with_size = representations.printed(size, epsilon, near, failure)
    quarter = representations.point_hashing_printed(*representations.CONSTANT)[2]
    with_dimension = representations.printed(quarter, epsilon, near, failure)
    gamma, alpha, boosted = 1 / 6, 0.1, 0.25
    turns = boosting.rounds(alpha / 3, gamma)
    rows = [
        (
            "Theorem 7.1",
            f"MLD <= log(k + 1) max d_i, log2({counter.k + 1}) max d_i = "
            f"{log2(counter.k + 1) * counter.largest_bit:.3f} if that is not the number of bits",
            f"MLD = {counter.multiclass} for rows {_listed(bgs_dimensions.COUNTEREXAMPLE)}",
            f"with the number of bits, {(counter.k).bit_length()}",
        ),
        (
            "Section 6, copies",
            "dimension l D, with D that of a bit",
            f"{twice[1]} for l = 2 and dimension {twice[0]}",
            "l d, with d that of the class",
        ),
        (
            "Theorem 7.2",
            "labels 0..k for every k, d-point functions of the natural numbers in all bits",
            f"they have labels above k unless k + 1 is a power of two; on 3 points dimension {full} "
            "for L = 2 bits, d = 1",
            f"L = ceil(log2(k + 1)), functions without two bits on a point; d (L + 1) points (on 2: {small})",
        ),
        (
            "Lemma 8.3",
            f"the representation dimension in the sample size: n = {with_dimension}",
            f"the family chosen from has {size} functions ({tries} times {buckets} buckets, and 0): n = {with_size}",
            "the size of that family",
        ),
        (
            "Lemma 8.5",
            "every alpha; the last sentence draws the family from the outputs on one database",
            "the proof has those of every label, and 1 - 8 alpha",
            "a family for each label; alpha <= 1/8",
        ),
        (
            "Theorem 8.8",
            "a family is good for all distributions at once with probability 7/8",
            "Definition 8.1 has 7/8 for one distribution",
            "the distribution of the sequence; MLD/32 stands",
        ),
        (
            "Appendix A, last step",
            "subsampling divides 2 T epsilon, as if it were at most 1",
            f"at epsilon = {boosted:g}, T = {turns}: off by {bgs_boosting.last_step_factor(boosted, turns):.3g}",
            "fewer rows in every round",
        ),
        (
            "Appendix A, last step",
            "rate 1/(12 T) gives delta",
            f"{bgs_boosting.last_step_delta(boosted, 12):.3f} delta; 1/(16 T): "
            f"{bgs_boosting.last_step_delta(boosted, 16):.3f} delta",
            "none: the step is left out",
        ),
        (
            "Appendix A, density",
            "weights are 1/(alpha n)-smooth",
            "training error alpha/2 needs density alpha/2: "
            f"{bgs_boosting.density_factor(alpha, 10**6, 100, boosted):.3f} times the epsilon of a round",
            "kappa = alpha/3, and its smoothness",
        ),
        (
            "Appendix A, weak learner",
            "A' is (2 epsilon, delta)-private",
            "each row is read by one block or by the choice",
            "(epsilon, delta), parallel composition: `Confident`",
        ),
        ("Corollary A.3", "log d at d = 0", "a class of one function", "it is returned: no rows"),
    ]
    assert counter.multiclass > log2(counter.k + 1) * counter.largest_bit
    assert twice == [1, 2]
    assert small < 2 == full
    assert with_dimension < with_size
    return MULTICLASS + table(("where", "printed", "found", "right"), rows)


def _listed(matrix: Sequence[Sequence[int]]) -> str:
    return ", ".join("".join(map(str, row)) for row in matrix)


def _row(what: str, name: str, epsilon: float, n: int = 100) -> str:
    printed, corrected = (
        audit.exact(evidence.mechanism_target(name, calibration=calibration, n=n), Privacy(epsilon, DELTA))
        for calibration in ("printed", "corrected")
    )
    assert printed.violated
    assert not corrected.violated
    witness = f"{printed.witness['database']} and {printed.witness['neighbor']}"
    return f"| {what} | {epsilon:g} | {printed.delta_found:.3g} | {corrected.delta_found:.3g} | {witness} |"


def _last(alpha: float, epsilon: float) -> int:
    found = max(
        n
        for n in range(1, 5000)
        if stability_histogram_guarantee(epsilon, DELTA, calibration="printed", alpha=alpha, n=n).delta > DELTA
    )
    verdicts = [
        audit.exact(
            evidence.mechanism_target("stability_histogram", calibration="printed", n=n), Privacy(epsilon, DELTA)
        )
        for n in (found, found + 1)
    ]
    assert [verdict.violated for verdict in verdicts] == [True, False]
    assert found < _of_proof(alpha, epsilon)
    return found


def _of_proof(alpha: float, epsilon: float) -> int:
    """The rows from which the proof of Proposition 2.20 shows privacy."""
    return math.ceil(8 / (alpha * epsilon) * (math.log(1 / DELTA) + epsilon / 2))


if __name__ == "__main__":
    main(folder(__doc__) / "corrected-constants.md")
