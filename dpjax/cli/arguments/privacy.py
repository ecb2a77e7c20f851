"""Flags of commands about privacy claims and lower bounds. Imports no JAX."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import tyro

from dpjax.cli.arguments.base import Command, GoalFlags
from dpjax.cli.arguments.numbers import Real, Whole


@dataclass
class AuditCommand(Command):
    """Audit a privacy claim: exactly if the output law is finite, else by a test with a stated confidence.

    Prints the claim, the result, the evidence, and the two databases that differ most. The exit status is 0 if the
    evidence is consistent with the claim, 1 if it refutes it, and 2 if the target cannot be audited or nothing is
    tested: there is only one outcome, or only one law on each pair.

    A function of your own (module:function) is a mechanism: one parameter is the data, the other its randomness. A
    parameter named key is a JAX key, and the function is traced by JAX; one named rng or generator is a NumPy
    generator, one named seed an integer, and the function runs on the host. Its claim is --epsilon, --delta,
    --relation; the databases are those of --pairs or --histograms.

    Example: dpjax audit stability --calibration printed
    Example: dpjax audit my_module:my_learner --method statistical --trials 10000000
    Example: dpjax audit my_module:noisy_sum --epsilon 1 --delta 0 --pairs my_module:pairs
    Example: dpjax audit my_module:noisy_counts --epsilon 1 --relation add-or-remove-one --histograms 4,2
    Example: dpjax audit "Independent(KLN(Points(3)), composition=zcdp)" --method tracing --k 1000 --epsilon 9
    Example: dpjax audit --all --out results/audit
    """

    compiles: ClassVar[bool] = True
    target: tyro.conf.Positional[str | None] = None
    """A name in the report of --all; a learner over a domain of two to four elements, "KLN(Thresholds(3))"; or your
    own module:object: a dpjax.audit.Target, a Learner, a function of concepts and k that returns a Learner, or a
    function of key and data."""
    all: bool = False
    """Audit everything that dpjax exports."""
    calibration: str = "corrected"
    """corrected, or printed for a paper's constants."""
    epsilon: Real | None = None
    """Privacy parameter epsilon of the claim; by default 1. Required for a function of your own."""
    delta: Real = 1e-6
    """Privacy parameter delta of the claim."""
    pairs: str | None = None
    """Databases for a function of your own: module:function, which returns or yields pairs of neighbors."""
    histograms: str | None = None
    """Alternatively ROWS,CELLS: all histograms of at most this many rows on this many cells; the function receives
    the counts of the cells, not rows."""
    data: str = "rows"
    """Type of the arrays of --pairs: rows along the first axis, or counts, for which the relation of every pair is
    checked; or other, for which it is your responsibility."""
    kind: str | None = None
    """Type of a function's randomness if its parameter names do not tell, by default of the first parameter: key,
    generator, seed; or own for a function of the data alone with its own generator."""
    method: str = "auto"
    """exact, statistical, sequential (a statistical test that stops at the first refutation), bitwise (a test of the
    low bits of floats, too), replay (compares queries to mechanisms on two neighbors under one key with their
    sensitivities), one-run (one run with many canaries, for targets with a score for each), tracing (of a learner of
    --k concepts on --rows rows: guesses one row from all answers together), or auto: exact if the law is finite."""
    k: Whole | None = None
    """Concepts, for tracing; by default those of the learner, or 100."""
    rows: Whole | None = None
    """Rows of the databases, for tracing; by default 16."""
    trials: Whole | None = None
    """Runs on each database, for statistical audits and, on average, for tracing; canaries, for one-run. By default
    1000000, with --all 100000, for tracing 10000."""
    confidence: Real = 0.95
    """Confidence of statistical audits: a correct claim is refuted with probability at most 1 - confidence; with --all,
    this holds for all correct claims together."""
    relation: str = "replace-one"
    """Neighboring relation: replace-one or add-or-remove-one."""
    distance: Whole = 1
    """Number of neighboring steps between the compared databases; the claim is amplified accordingly."""
    search: Whole = 0
    """Number of random neighbors that a statistical audit considers in addition to the target's pairs."""
    seed: Whole = 0
    """Root of all random keys; with --all each row has a separate seed, a digest of this seed and the row."""
    out: Path | None = None
    """Directory for audit.json, audit.md and the figure of the privacy curve; none by default."""


@dataclass
class AttackCommand(GoalFlags):
    """Attack a learner of k concepts with a fingerprinting code: does it betray a participant?

    A random codebook gives each of n users a code word of k bits. The code words become the labels of a database, the
    learner's hypotheses on it spell a word, and the code traces this word to users. Over many codebooks, prints how
    often a user is accused while in the database and while not, with exact intervals, and the least epsilon for which a
    private learner could do this, at --delta if it claims none: an accurate learner of many concepts from few rows
    cannot be private. The exit status is 1 if the learner's guarantee is refuted.

    The code BonehShaw labels as thresholds do, for any learner of a class with n + 1 labelings of n elements; the code
    Tardos is for agnostic learners of any class. With --uniform every element of the domain is a user's, as in uniform
    examples, from which parities are learned.

    With --packing there is no code: the databases of all 2^k targets of --k concepts, whose answers exclude each
    other, and the least epsilon with which a learner can be right on all of them as often as this one; exactly for
    learners with a finite law.

    Example: dpjax attack ERM
    Example: dpjax attack KLN --packing --k 3 --n 8
    Example: dpjax attack KLN --epsilon 1 --code Tardos --users 8
    Example: dpjax attack ERM --code "BonehShaw(calibration=printed)" --users 6
    Example: dpjax attack KLN --concepts "Parities(3)" --code Tardos --users 8 --uniform
    Example: dpjax attack "Independent(KLN, composition=zcdp)" --k 425 --sample-size --json
    """

    compiles: ClassVar[bool] = True
    learner: tyro.conf.Positional[str] = "ERM"
    """A learner of `dpjax list` with its arguments, or module:Learner of your own."""
    concepts: str = "Thresholds(64)"
    """The concept class."""
    code: str = "BonehShaw"
    """BonehShaw or Tardos with arguments, such as "Tardos(score=original)", or module:Code of your own."""
    users: Whole | None = None
    """Users of the code, at least 2; by default 4, or as many as need at most --k columns."""
    k: Whole | None = None
    """Columns of the code, the number of concepts; by default what the code needs."""
    packing: bool = False
    """Pack all 2^k targets instead of a code; --k is at most 10, by default 3, and --n by default 8."""
    security: Real | None = None
    """Probability xi that the code accuses an innocent user; by default 0.05."""
    uniform: bool = False
    """One user at each element of the domain, and no junk rows: --users is the size of the domain."""
    n: Whole | None = None
    """Rows of the database, at least --users: the others are junk; by default --users."""
    sample_size: bool = False
    """Take the learner's own sample size as --n, by its theorem at this epsilon, delta, alpha and beta."""
    trials: Whole = 1000
    """Codebooks with everybody present, and as many with one user absent; a quarter more choose this user."""
    confidence: Real = 0.95
    """Confidence of each interval and of the implied epsilon."""
    seed: Whole = 0
    """Root of all random keys."""


@dataclass
class OptimumCommand(Command):
    """Compute the best worst-case success of any private learner of a tiny class, with a proof.

    Solves a linear program whose variables are the probabilities of all hypotheses on all databases of n rows. For each
    n prints the success that no private learner exceeds (certified in exact arithmetic), the success of the learner
    found, on the distributions of the program and a lower bound over all distributions, and beside them the exact
    success of other learners on the same distributions.

    Example: dpjax optimum "thresholds(2)" --n 2 4 6 8 --epsilon 1 --alpha 0.3
    Example: dpjax optimum "thresholds(2)" --n 2 4 6 8 --alpha 0.3 --grid 4 --rounds 0
    Example: dpjax optimum "points(3)" --n 4 --alpha 0.3 --delta 0.01 --proper --learners KLN
    """

    compiles: ClassVar[bool] = True
    matrix: tyro.conf.Positional[str]
    """The class, as for `dpjax dimension`: "thresholds(2)" has the empty concept, "Thresholds(2)" has not."""
    n: tuple[Whole, ...] = (2, 4, 6, 8)
    """Numbers of rows."""
    epsilon: Real = 1.0
    """Privacy parameter epsilon, at most 16."""
    delta: Real = 0.0
    """Privacy parameter delta; 0 for pure privacy."""
    alpha: Real = 0.3
    """Accuracy alpha, the largest error of a good hypothesis (agnostic: beyond the best concept's)."""
    relation: str = "replace-one"
    """Neighboring relation: replace-one, or add-or-remove-one over databases of at most n rows."""
    k: Whole = 1
    """Number of concepts that are learned at once; all of them have to be good."""
    proper: bool = False
    """Hypotheses are concepts of the class; otherwise all functions on the domain."""
    agnostic: bool = False
    """Rows come from any distribution of labeled elements."""
    noise: Real = 0.0
    """Every label is flipped with this probability, below 1/2."""
    grid: Whole = 4
    """The program begins with all distributions whose probabilities are multiples of 1/grid."""
    rounds: Whole = 20
    """How often the found learner's worst distributions are added; 0 for those of the grid alone."""
    gap: Real = 0.001
    """Rounds end when the two bounds over all distributions differ by at most this."""
    method: str = "highs"
    """highs, or first-order for programs under replace-one that are a hundred times as large."""
    learners: tuple[str, ...] = ("KLN",)
    """Learners to compare, with their arguments as for `dpjax curve`."""


@dataclass
class AtlasCommand(Command):
    """Print what is known of a tiny class: dimensions, and how many rows its best private learner needs.

    For a class on at most 4 points prints its dimensions with witnesses; the least number of rows n* with which some
    learner, without privacy and with each epsilon and delta, has error at most alpha with probability 1 - beta for
    every target and distribution, or a bracket of it; what proves each end of the bracket; and lower bounds by name.
    For the default alpha and beta, epsilon .5, 1 and 2, and delta 0 it is looked up in the collection that comes with
    dpjax, which has delta .01 too, or derived from other classes of it; others are computed for --seconds.

    Example: dpjax atlas "thresholds(2)"
    Example: dpjax atlas "0000 0001 0010 0100" --epsilon 1
    Example: dpjax atlas my_class.csv --epsilon 2 --json
    """

    compiles: ClassVar[bool] = True
    matrix: tyro.conf.Positional[str]
    """The class, as for `dpjax dimension`, or its concepts, each by its labels, as "00 01 10"."""
    epsilon: tuple[Real, ...] = (0.5, 1.0, 2.0)
    """Privacy parameters epsilon, at most 16."""
    delta: Real = 0.0
    """Privacy parameter delta; 0 for pure privacy."""
    alpha: Real = 0.3
    """Accuracy alpha, the largest error of a good hypothesis."""
    beta: Real = 0.1
    """Failure probability beta."""
    seconds: Real = 60.0
    """Time limit of all that is computed, about; also of each dimension."""
    store: Path | None = None
    """A folder of scripts/atlas.py: its programs are used too, and proofs of its programs are verified."""


@dataclass
class DimensionCommand(GoalFlags):
    """Compute the combinatorial dimensions of a finite class, exactly and with witnesses.

    Littlestone, VC, dual VC, threshold and teaching dimensions, star number; for more than two labels the multiclass
    ones and those of each bit. A search that --seconds stops has proved bounds. Also prints how many rows the private
    learners of any finite class need by their theorems, some of them from the Littlestone dimension.

    Example: dpjax dimension "intervals(12)"
    Example: dpjax dimension "copies(one_bit_gap(7), 2)" --labels 8
    Example: dpjax dimension "Thresholds(64)" --epsilon 0.5
    Example: dpjax dimension my_class.csv --seconds 60 --json
    """

    matrix: tyro.conf.Positional[str]
    """A file of labels (CSV or .npy) with a line per concept; a function of dpjax.dimensions.families such as
    "points(8, 2)"; a concept class such as "Parities(4)"; or module:object of your own, either of both."""
    labels: Whole | None = None
    """Number of labels: others than 0..labels-1 are an error. By default any."""
    bit: Whole | None = None
    """Only this bit of the labels, 0 the least significant one."""
    seconds: Real = 10.0
    """Time limit of each dimension."""


@dataclass
class TheoremCommand(Command):
    """Print what a numbered definition, algorithm or theorem of a paper states, and what dpjax has of it.

    The papers are bgs, bns, kmms and yan. Shows the statement in other words, printed and corrected constants, the code
    whose docstrings cite it, audits, simulations, figures, pages and proofs. A number that belongs to one item is its
    key, bns:3.12; where kinds are numbered apart the kind is part of it, bns:algorithm-2, yan:theorem-11. An
    algorithm without a number has its name, kmms:SetCoverLearner.

    Example: dpjax theorem bns:3.12
    Example: dpjax theorem yan:algorithm-2 --json
    Example: dpjax theorem bns
    """

    key: tyro.conf.Positional[str | None] = None
    """PAPER:NUMBER for an item, PAPER for a list of its items; by default the papers, with how many of their items
    dpjax has, has in a corrected form, and lacks."""
