"""Writes fingerprinting.md: codes, the coalition attack and informed tracing, measured.

Run: python scripts/fingerprinting.py [--trials CODEBOOKS] [--seed SEED] [--out FOLDER]
     python scripts/fingerprinting.py --million      # replaces the rows of 10^6 trials a side in a written page
"""

import math
import os
import re
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from pages import about, figure_path, options, table, write_page
from papers.bns_codes import (
    ACCURACY,
    CASES,
    CONFIDENCE,
    FRACTIONS,
    HUGE,
    LONGEST,
    PRIVACY,
    SECURITY,
    THRESHOLDS,
    Brackets,
    Fractions,
    Sweep,
    crossings,
    every_word,
    exponent,
)
from papers.by_score import by_score
from papers.traced import Constant, LastLabel, constant, noise, opposed, opposite

import dpjax as dp
from dpjax.accounting.gaussian import gaussian_epsilon
from dpjax.attacks import BonehShaw, CoalitionAttack, Report, Tardos, demonstrate, measure, pirates, trace
from dpjax.attacks.codes.base import Code
from dpjax.attacks.pirates import Pirate
from dpjax.attacks.rates import Rate
from dpjax.cli.commands.table import heading_of
from dpjax.core.checks import InputError
from dpjax.core.types import host_numbers
from dpjax.experiments.run.engine import host_devices
from dpjax.papers import bns_table
from dpjax.plots.lines import Line, Panel, plot_lines
from dpjax.theory import fingerprinting

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT))
from benchmarks import codes  # noqa: E402

LEVEL, BITS = 0.05, dp.Finite.of([[0], [1]])
TABLE = bns_table.APPROXIMATE, bns_table.ACCURACY
MEASURED = ROOT / "docs" / "gallery" / "bns-multi.md"
ROWS, COLUMNS, MILLION = 16, 1000, 1_000_000
BUDGET = dp.Privacy(8.855, 1e-6)  # epsilon .1 in each of the columns


HEAD = """# Tracing participants by fingerprinting codes

A learner of many concepts that is accurate from few rows betrays its participants: a fingerprinting code traces its
hypotheses to rows of the database. Learning without privacy is traced nearly always, private learners at their sample
sizes are not, and a false claim of privacy is refuted. The code as printed accuses innocent users of a learner that
ignores its data; the corrected code does not.

Written by `python scripts/fingerprinting.py --trials {trials} --seed {seed}`. A fingerprinting code turns a learner of
k concepts into evidence about its participants: the code words of n users are the labels of a database, the
hypotheses spell a word, the word is traced ([guide](../guide/lower-bounds.md), [proofs](../proofs/fingerprinting.md)).
xi = {xi:g} is the probability that the code may accuse somebody innocent. Intervals are exact (Clopper-Pearson) with
confidence {confidence:g}; seeds are fixed, and every number of trials was chosen in advance.

## The code as printed, and the constant learner

A learner that labels everything 1, whatever the data, is private at epsilon = 0. "Accused" means somebody, with all
users in the database; "absent" means the user who was accused most often in other trials, now without a row.

"""
PRINTED = """
The code as printed accuses user 1, present or not, because it reads a 1 in block 1 as that user's fault. It is sound
only for words that satisfy the marking assumption, and nobody promises that about a learner. The corrected code has a
block of zeros and a block of ones, and is shorter.

## Soundness and completeness

{trials} codebooks each, n = 8. Two numbers in each cell: how often somebody outside of the coalition was accused, and
how often nobody was accused, with the upper ends of their intervals. {legal}

"""
SOUND = """
Words that may violate the marking assumption, for soundness alone: fair coins, ones, the complement of the majority,
the complement of the first member's code word. {anything} The exact threshold spends all of xi, an eighth for each
user who is not in the coalition: 0.044 for seven of them, and more codebooks would be needed to tell it from 0.05.

"""
LEARNERS = """
## Who betrays a participant

Everybody is in the database ("somebody", "present"), or the user who was accused most often in separate trials is not
("absent"). "Allowed" is what privacy allows the learner for "present": e^epsilon times the upper end of "absent",
plus delta. "Implied" is the least epsilon that a private learner could have, with confidence {confidence:g}. Private
learners have epsilon = {epsilon:g}, delta = {delta:g}, alpha = {alpha:g}, beta = {beta:g}, and as many rows as their
theorems ask for; the others have one row for each user.

"""
FRACTIONS_HEAD = """
{verdict}

## Traced fraction against n

The fraction of runs in which the participant who is accused most often is accused; each row is a user, k is fixed,
{trials} runs a point. Accuracy is not needed: privacy alone keeps the fraction low, whatever n is. ERM is traced until
the code is too short for so many users. A budget of epsilon = {huge:g} for all k columns hides nobody when n is small.

![traced fraction against n](figures/fingerprinting-fraction.png)

## The crossing

From which k on is a given participant among n accused in half of all codebooks, by codes of k columns? Brackets are
of k, up to {longest}; {trials} codebooks for each tested k, which is on the wrong side with probability at most
{error:g}. The exponent is that of n in k: the reciprocal of the least-squares slope of k / ln(n / xi) in n, with the
range that the brackets allow. "No log" is the same without the logarithm.

"""
CROSSED = """
Tardos (Corollary 4.10) has the square root. The score of a participant has mean (2 / pi) k / n for every strategy that
treats users alike, and Z is about sqrt(2 k ln(n / xi)): half of all cases are at k = (pi^2 / 2) n^2 ln(n / xi).

Boneh-Shaw (Corollary 4.6) has the cube root. "Every word" is the length with which the code provably traces whatever
satisfies the marking assumption; "slow" is a strategy, 1 with probability (t / n)^2 in block t, that comes close to
it. ERM itself is an easy target: its rounded word has all ones from one block on, so n grows like k / ln(n / xi). The
cube root is about the accurate learner that is hardest to trace.

A learner with empirical error alpha is traced on databases that are 1 / (2 alpha) times as large, padded by junk rows.

![rows against concepts](figures/fingerprinting-crossing.png)

Up to the lines "traced up to", n rows, one for each user, are too few for privacy at small epsilon. The measured n*
of private agnostic learners are upper ends of brackets from [the measured table](bns-multi.md) at epsilon =
{epsilon:g}, delta = {delta:g}, alpha = {alpha:g}, beta = {beta:g}; "no private learner below" are the bounds by
expected scores at that budget.
"""
INFORMED = """
## Informed tracing

An audit of a learner of k concepts may know all rows but one. {rows} rows, k = {columns}, an exponential mechanism
with epsilon = 0.1 in each column, delta = {delta:g} for all. The separation is the distance of the two mean scores in
standard deviations. A Gaussian of the separation measured with {trials} trials a side has epsilon = {true:.2f} at
this delta. The symmetric score is that of a Tardos codebook: a row that was in the database, or one drawn anew. Both
are certified by the same test of guesses at confidence 0.95.

"""
TRACED = """
`python scripts/fingerprinting.py --million` measures the rows of 10^6 trials a side, and replaces them here.

A tight and correct claim (randomized response, epsilon = 1) was refuted at level {level:g} in {alarmed} runs.

## Speed

{codebooks} Tardos codebooks with n = 32 users and k = {length} columns, each generated, combined by majority, and
traced (threshold "chernoff"), in {seconds:.1f} s on {cores} cores: {rate:.0f} codebooks a second. A loop in NumPy, one
codebook at a time, had {numpy:.0f} a second in the same run, measured on {few} codebooks in turn with ours:
**{ratio:.1f} times** as fast.
"""


def printed(trials: int, seed: int) -> Iterator[list[Any]]:
    """The constant learner under both calibrations."""
    for users in (4, 8):
        for calibration in ("printed", "corrected"):
            code = BonehShaw(users, SECURITY, calibration=calibration)
            attack = CoalitionAttack(Constant(THRESHOLDS), code)
            found = demonstrate(attack, PRIVACY, ACCURACY, trials, seed, CONFIDENCE)
            yield [calibration, users, code.length, found.somebody, found.absent, found.epsilon]


LEGAL: tuple[Pirate, ...] = (pirates.majority, pirates.minority, pirates.coin, pirates.ones)
ANY: tuple[Pirate, ...] = (noise, constant, opposite, opposed)
CODES = {
    "Boneh-Shaw": BonehShaw(8, SECURITY),
    "Tardos, exact": Tardos(8, SECURITY),
    "Tardos, chernoff": Tardos(8, SECURITY, threshold="chernoff"),
    "Tardos, proof": Tardos(8, SECURITY, score="original", threshold="proof"),
}


def failures(trials: int, seed: int, legal: bool) -> tuple[list[list[Any]], str]:
    """Rows (code, strategy, a cell for each coalition), and a sentence about all intervals."""
    rows, seen = [], []
    for name, code in CODES.items():
        sizes = (1, code.users // 2, code.users - 1, code.users)
        for pirate in LEGAL if legal else ANY:
            cells = []
            for size in sizes if legal else sizes[:-1]:
                found = measure(code, pirate, size, trials, seed, CONFIDENCE, any_word=not legal)
                rates = [found.innocent, found.missed] if legal else [found.innocent]
                cells.append(", ".join(f"{one.count} (≤ {one.high:.2g})" for one in rates))
                seen += rates
            rows.append([name, pirate.__name__, *cells])
    above, below = sum(one.low > SECURITY for one in seen), sum(one.high <= SECURITY for one in seen)
    words = f"Of {len(seen)} intervals {above} are above xi and {below} below; the largest upper end is "
    return rows, f"{words}{max(one.high for one in seen):.3f}."


def _cells(name: str, code: Code, found: Report) -> list[Any]:
    claim = found.guarantee
    allowed = None if claim is None else min(1.0, math.exp(claim.epsilon) * found.absent.high + claim.delta)
    verdict = None if claim is None else "refuted" if found.violated else "not refuted"
    return [
        name,
        _named(code),
        found.users,
        found.columns,
        found.rows,
        found.somebody,
        found.present,
        found.absent,
        allowed,
        found.epsilon,
        None if claim is None else claim.epsilon,
        verdict,
    ]


def _named(code: Code) -> str:
    return f"Tardos, {code.threshold}" if isinstance(code, Tardos) else "Boneh-Shaw"


def _fraction_panel(chosen: Fractions, trials: int, seed: int) -> Panel:
    lines = []
    for name, learner, privacy in chosen.learners:
        rates = chosen.rates(learner, privacy, trials, seed)
        low, high = [rate.low for rate in rates], [rate.high for rate in rates]
        lines.append(Line(name, name, chosen.users, [rate.count / rate.trials for rate in rates], low, high))
    return Panel(chosen.title, "users and rows $n$", "fraction of runs", lines, log="x")


def _fitted(name: str, claimed: float, brackets: Brackets) -> list[Any]:
    fit, raw = exponent(brackets), exponent(brackets, log=False)
    ends = " ".join(f"{n}: {f'({low}, {high}]' if low < high else low}" for n, low, high in brackets)
    return [
        name,
        f"{claimed:.3f}",
        f"{1 / fit.slope:.3f}",
        f"[{1 / fit.high:.3f}, {1 / fit.low:.3f}]",
        f"{1 / raw.slope:.3f}",
        ends,
    ]


def upper_bounds(text: str, title: str) -> list[tuple[int, int]]:
    """(k, upper end of n*) of a table of docs/gallery/bns-multi.md."""
    part = text.partition(f"\n## {heading_of(title)}\n\n")[2].partition("\n\n")[2].partition("\n\n")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in part.splitlines()[2:]]
    return [(int(row[0]), int(row[2])) for row in rows if row[2] != "-"]


def _crossing_panel(found: Sequence[tuple[Sweep, Brackets]]) -> Panel:
    lines = []
    for sweep, brackets in found:
        if brackets:
            lines.append(
                Line(
                    f"traced up to: {sweep.name}",
                    sweep.name,
                    [math.sqrt(a * b) for _, a, b in brackets],
                    [n for n, _, _ in brackets],
                )
            )
    word = every_word()
    lines.append(
        Line(
            "traced up to: Boneh-Shaw, every word",
            "every word",
            [k for _, k, _ in word],
            [n for n, _, _ in word],
            kind="theorem",
        )
    )
    given, ks = host_numbers(*TABLE), [2**i for i in range(4, 15)]
    lines += [
        Line(
            "no private learner below: any labels",
            "agnostic",
            ks,
            [fingerprinting.agnostic(k, *given) for k in ks],
            kind="formula",
        ),
        Line(
            "no private learner below: thresholds",
            "thresholds",
            ks,
            [fingerprinting.thresholds(k, *given, 2**32) for k in ks],
            kind="formula",
        ),
    ]
    text = MEASURED.read_text(encoding="utf-8")
    for problem in ("points", "thresholds"):
        points = upper_bounds(text, f"approximate: {problem}, agnostic, in k")
        lines.append(Line(f"n* at most: {problem}, agnostic", f"{problem} learned", *zip(*points, strict=True)))
    return Panel("rows against concepts", "concepts $k$", "rows $n$", lines)


def informed(trials: int, seed: int) -> Iterator[list[Any]]:
    """Rows of the informed score and of the symmetric score, by the same test of guesses."""
    learner = dp.Independent(dp.KLN(BITS), COLUMNS, "zcdp")
    found = trace(learner, COLUMNS, ROWS, BUDGET, trials=trials, seed=seed)
    yield [trials, "informed", found.details["separation"], found.epsilon_found, found.details["seconds"]]
    scored = by_score(learner, Tardos(ROWS + 1, k=COLUMNS), BUDGET, trials=trials, seed=seed)
    yield [trials, "symmetric, Tardos", scored.separation, scored.epsilon, scored.seconds]


def false_alarms(runs: int) -> Rate:
    """Refutations of a tight, correct claim, at the level `LEVEL`."""
    budget = dp.Privacy(1.0, 0.0)
    return Rate.of(
        [
            trace(LastLabel(), 1, 4, budget, trials=1000, confidence=1 - LEVEL, seed=seed).violated
            for seed in range(runs)
        ],
        CONFIDENCE,
    )


_EACH = 64  # codebooks of a call on each device


def speed(codebooks: int, loops: int) -> tuple[float, float]:
    """(Codebooks a second, those of a loop in NumPy): in turn, so that other load hits both."""
    devices, numpy = jax.local_device_count(), codes.by_numpy()
    calls = max(loops, -(-codebooks // (_EACH * devices)))
    run, seconds, done = jax.pmap(partial(codes.traced, count=_EACH, at_once=2)), [0.0, 0.0], 0
    for call in range(-1, calls):  # the first call compiles
        begin = time.perf_counter()
        run((jnp.arange(devices, dtype=jnp.uint32) + call * devices) * _EACH).block_until_ready()
        seconds[0] += (call >= 0) * (time.perf_counter() - begin)
        if (call + 1) * loops // calls > done:
            begin, done = time.perf_counter(), done + 1
            numpy()
            seconds[1] += time.perf_counter() - begin
    return calls * _EACH * devices / seconds[0], done / seconds[1]


_INFORMED = ("trials a side", "score", "separation", "certified epsilon", "seconds")


def main(arguments: Sequence[str] | None = None) -> int:
    """The page and its figures, or with --million two rows of the page; returns the number of refuted claims."""
    flags = {"million": "replace two rows of a written page by those of 10^6 trials a side"}
    given = options(__doc__, 0, 10_000, arguments, flags=flags)
    out, trials, seed = given.out, given.trials, given.seed
    if given.million:
        update(out / "fingerprinting.md", _said("informed tracing", informed(MILLION, seed)))
        return 0
    some, carried = max(50, trials // 10), about({"script": "fingerprinting", "trials": trials}, seed)
    page = HEAD.format(trials=trials, seed=seed, xi=SECURITY, confidence=CONFIDENCE)
    rows = _said("printed", printed(some, seed))
    page += table(("calibration", "n", "k", "accused", "absent", "implied epsilon"), rows)
    page += _page_of_codes(trials, seed)
    found = _said("learners", ((case.name, case.code, case.run(trials, seed)) for case in CASES))
    page += LEARNERS.format(confidence=CONFIDENCE, **_numbers(PRIVACY, ACCURACY))
    head = ("learner", "code", "n", "k", "rows", "somebody", "present", "absent", "allowed", "implied", "claim", "is")
    page += table(head, [_cells(*one) for one in found])
    panels = [_fraction_panel(one, some, seed) for one in FRACTIONS]
    plot_lines(panels, figure_path(out, "fingerprinting-fraction"), carried, "How often a participant is accused")
    _said("fractions", ())
    error = (1 - CONFIDENCE) / 2
    page += FRACTIONS_HEAD.format(
        verdict=_verdict(found), trials=some, huge=float(HUGE.epsilon), error=error, longest=LONGEST
    )
    swept = _said("crossings", crossings(some, seed))
    fits = [_fitted(sweep.name, sweep.claimed, brackets) for sweep, brackets in swept if len(brackets) > 1]
    fits.append(_fitted("Boneh-Shaw, every word", 1 / 3, every_word()))
    page += table(("code and word", "claimed", "measured", "range", "no log", "n: k"), fits)
    page += CROSSED.format(**_numbers(*TABLE))
    plot_lines([_crossing_panel(swept)], figure_path(out, "fingerprinting-crossing"), carried, "Traced, and learned")
    page += _page_of_tracing(trials, seed)
    write_page(out / "fingerprinting.md", page)
    return sum(one.violated for _, _, one in found)


def _page_of_codes(trials: int, seed: int) -> str:
    (legal, of_legal), (anything, of_any) = _said("codes", (failures(trials, seed, kind) for kind in (True, False)))
    sizes = ("coalition of 1", "4", "7", "8")
    page = PRINTED.format(trials=trials, legal=of_legal) + table(("code", "strategy", *sizes), legal)
    return page + SOUND.format(anything=of_any) + table(("code", "word", *sizes[:-1]), anything)


def _page_of_tracing(trials: int, seed: int) -> str:
    found = _said("informed tracing", informed(max(trials, 1000), seed))
    delta = float(BUDGET.delta)
    true = gaussian_epsilon(found[0][2], delta)
    page = INFORMED.format(rows=ROWS, columns=COLUMNS, delta=delta, trials=found[0][0], true=true)
    page += table(_INFORMED, found + [[MILLION, row[1], None, None, None] for row in found])
    alarms = false_alarms(max(20, trials // 10))
    loops = max(5, trials // 100)
    ours, theirs = speed(trials, loops)
    _said("speed", [[ours, theirs]])
    return page + TRACED.format(
        level=LEVEL,
        alarmed=alarms,
        codebooks=trials,
        few=loops,
        length=codes.CODE.length,
        seconds=trials / ours,
        cores=len(os.sched_getaffinity(0)),
        rate=ours,
        numpy=theirs,
        ratio=ours / theirs,
    )


def _numbers(privacy: dp.Privacy, accuracy: dp.Accuracy) -> dict[str, float]:
    return dict(zip(("epsilon", "delta", "alpha", "beta"), host_numbers(privacy, accuracy), strict=True))


def update(path: Path, rows: Sequence[Sequence[Any]]) -> None:
    """Replaces the rows of a written page that have the same number of trials and the same score."""
    text = path.read_text(encoding="utf-8")
    for row in rows:
        line = table(_INFORMED, [row]).splitlines()[-1]
        start = "|".join(line.split("|")[:3]) + "|"
        text, count = re.subn(f"^{re.escape(start)}.*$", line, text, flags=re.MULTILINE)
        if count != 1:
            raise InputError("--million", f"a page with one row {start}", f"{count} in {path}", "write the page first")
    path.write_text(text, encoding="utf-8")


def _said(what: str, rows: Iterable[Any]) -> list[Any]:
    found = list(rows)
    jax.clear_caches()  # thousands of programs exhaust the memory maps of a process
    print(time.strftime("%H:%M:%S"), what, flush=True)
    return found


def _verdict(found: Sequence[tuple[str, Code, Report]]) -> str:
    """What the table of learners says, counted."""
    free = [(code, one) for _, code, one in found if one.guarantee is None]
    traced = sum(one.somebody.low >= 1 - code.security - float(ACCURACY.beta) for code, one in free)
    private = [one for name, _, one in found if one.guarantee is not None and "leak" not in name]
    leaks = [one for name, _, one in found if "leak" in name]
    return (
        f"ERM is traced with probability at least 1 - xi - beta in {traced} of {len(free)} cases, by the lower ends of "
        f'"somebody". Of {len(private)} private learners {sum(one.violated for one in private)} are refuted, of '
        f"{len(leaks)} planted leaks {sum(one.violated for one in leaks)}."
    )


if __name__ == "__main__":
    host_devices(None)
    main()
