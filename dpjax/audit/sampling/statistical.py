"""Statistical audits: run the algorithm many times on two neighbors and test its claim at a stated confidence."""

import itertools
import time
from typing import Any

import jax
import numpy as np

from dpjax.accounting.distance import group
from dpjax.accounting.guarantee import Guarantee
from dpjax.audit.outputs.events import marks
from dpjax.audit.outputs.laws import of_samples, swapped
from dpjax.audit.report import Report
from dpjax.audit.sampling.allotment import MAIN, Marks, Posed, Sizes, allotted, answered, bet_on, corrections
from dpjax.audit.sampling.choices import choose
from dpjax.audit.sampling.machine import Machine, repeats
from dpjax.audit.sampling.questions import Question, asked
from dpjax.audit.sampling.results import Result
from dpjax.audit.sampling.thresholds import Aim
from dpjax.audit.target.target import Pair, Target, require_target
from dpjax.audit.watch import Watch, Work, unwatched
from dpjax.core import checks, keys
from dpjax.core.checks import InputError
from dpjax.core.types import Privacy
from dpjax.core.user_code import calling

_TRAINING = 0.2  # fraction of the trials that select pair, event and direction
_SCREENING, _KEPT = 0.1, 8  # fraction of the trials that screens random pairs, and the number of pairs kept
_MOST_TRAINING = 1 << 20  # outputs held in memory per database


def statistical(
    target: Target,
    privacy: Privacy,
    *,
    trials: int = 1_000_000,
    confidence: float = 0.95,
    seed: int = 0,
    distance: int = 1,
    sequential: bool = False,
    bitwise: bool = False,
    search: int = 0,
    watch: Watch = unwatched,
) -> Report:
    """Tests the claim of ``target`` at this budget on its ``pairs``.

    A fifth of the trials selects a pair and what to ask of the others: how often one event occurs on either database
    (`ratio_test`), or how often a rule guesses the database, by one event for each (`guesses`). The question with the
    largest expected bound is asked once, at the whole level 1 - confidence. If another question is expected to be
    closer to a refutation of the claim, it is asked, too, and the two have 3/4 and 1/4 of the level. If the target has
    a `known` law or event, its question is fixed before any run: all trials answer it, those of the training included,
    at 3/4 of the level, and the questions chosen in training share the last quarter. So a correct claim is refuted, and
    the bound exceeds the true epsilon, with probability at most 1 - confidence, and a wrong law costs only power.

    Where guesses are counted, a fair coin chooses the database of each trial, so that the two have about equally many.
    If all trials have one outcome the audit tests nothing and the verdict is "vacuous".

    Proof: docs/proofs/statistical-audit.md.

    Args:
      trials: per database, 1000 to 2**32 in all.
      distance: databases of the pairs are this many neighboring steps apart; the claim is amplified.
      sequential: test after each tile of at most 65536 trials by betting, which is valid at any stopping time, and stop
        at the first refutation. The bound found is then the claim itself or nothing, and there is no curve: other
        bounds need a fixed number of trials.
      bitwise: include the low bits of floats. Laplace and Gaussian noise fail this test, since the low bits of
        floating-point noise reveal the value it was added to. Outputs that are not floats have no low bits, so a
        choice among candidates passes it, although its contract is "ideal" as well.
      search: this many neighbors drawn from the target's universes compete with its own pairs: a screening with a tenth
        of the trials and separate keys keeps the eight most promising pairs.
      watch: receives the number of finished runs and the total.

    Raises InputError for a target that is not a pure function of (key, database, plan) into arrays of fixed shapes.
    NaN is an outcome like any other.
    """
    require_target(target)
    checks.integer("trials", trials, 1000, 2**32)
    checks.probability("confidence", confidence)
    checks.integer("seed", seed, 0, 2**32 - 1)
    claim = target.claimed(privacy)
    claim = claim if distance == 1 else group(claim, distance)
    begin, level = time.perf_counter(), 1 - confidence
    checks.integer("search", search, 0, 1 << 16)
    pairs = [*target.pairs(), *drawn_pairs(target, search, seed)]
    if not pairs:
        raise InputError("target", "neighboring databases to compare", "none", "give the target some pairs")
    compared = len(pairs)
    rows = max(100, int(_SCREENING * trials) // compared) if search else 0
    kept = min(compared, _KEPT) if search else compared
    training = max(100, min(int(_TRAINING * trials), _MOST_TRAINING * kept) // kept)
    fresh = max(trials - training * kept - rows * compared, 100)
    again = repeats(target, training) + repeats(target, rows) * bool(search)
    work = Work(watch, 2 * (rows * compared + training * kept + fresh) + again)
    if search:
        screen = Machine(target, privacy, seed, rows, rows, bitwise, "screening", work)
        pairs = _screened(screen, pairs, rows, claim)
    machine = Machine(target, privacy, seed, fresh, training, bitwise, "training", work)
    aim = Aim.of(claim.epsilon, claim.delta, training + fresh, 1 - level * float(MAIN))
    stated = _stated(target, machine, pairs, aim, not sequential)
    aim = Aim.of(claim.epsilon, claim.delta, fresh, confidence if stated is None else 1 - level * float(1 - MAIN))
    options: list[Any] = []
    outcomes = np.zeros(0, np.uint32)
    laws: dict[int, dict[str, Any]] = {}
    trained: Marks | None = None
    for number, pair in enumerate(pairs):
        sides = machine.outputs(pair, number)
        outcomes = np.unique(np.concatenate([outcomes, *(side.code for side in sides)]))
        both = choose(*sides, aim, guesses=not sequential)
        for which, question in enumerate(both):  # of the best questions so far
            if question.merits[which] >= max((old[which].merits[which] for old, _ in options), default=-np.inf):
                laws[id(question)] = of_samples(question.events, machine.namings[number], sides)
        options.append((both, number))
        if stated is not None and stated[1] == number:
            first, second = (np.asarray(marks(stated[0].events, side)) for side in sides)
            laws[id(stated[0])] = of_samples(stated[0].events, machine.namings[number], sides)
            trained = first, second
    picked = [
        max(((both[which], number) for both, number in options), key=lambda option: option[0].merits[which])
        for which in range(2)
    ]
    of_question = {id(question): (question, number) for question, number in picked}
    chosen = [of_question[id(question)] for question in asked(picked[0][0], picked[1][0], fresh)]
    tests = allotted(stated, chosen)
    # the design of a question depends on the question alone, so training runs may answer a stated one
    coined = Sizes.coined(keys.stream(machine.root, "coins"), training, fresh)
    sizes = {False: Sizes.equal(training, fresh), True: coined}
    groups = [[test for test in tests if test.pair == number] for number in sorted({test.pair for test in tests})]
    work.more(2 * fresh * (len(groups) - 1))
    results: list[tuple[Result, int, Posed]] = []
    for group_ in groups:
        if sequential and results and results[-1][0].refutes:
            break
        pair, questions = pairs[group_[0].pair], [test.question for test in group_]
        limits = [sizes[test.question.coins].limits(test.stated) for test in group_]
        needed = [max(limit[side][1] for limit in limits) for side in (0, 1)]
        tiles = machine.count(questions, pair, group_[0].pair, (needed[0], needed[1]))
        if sequential:
            copies = itertools.tee(tiles, len(group_))
            for place, test in enumerate(group_):
                test_tiles = (tile[place] for tile in copies[place])
                results.append((*bet_on(test, trained, test_tiles, claim, level), test))
                if results[-1][0].refutes:
                    break
        else:
            answers = answered(group_, limits, trained, tiles, machine.tile, claim, level)
            results += [(*result, test) for result, test in zip(answers, group_, strict=True)]
    work.end()
    result, count, test = min(results, key=lambda entry: entry[0].rank)
    question, pair = test.question, pairs[test.pair]
    evidence = f"{fresh} fresh trials a side, events chosen on {training} others from {compared} pair(s)"
    evidence += f", and one stated in advance on all {training + fresh}" * (stated is not None)
    evidence += f"; {target.caveat}" * bool(target.caveat)
    # fresh trials, too: chosen questions are about any other outcome, and a stated one has equal marks in all trials
    silent = len(outcomes) == 1 and all(
        sum(answer.counts) in ((0, 2 * number) if posed.stated else (0,)) for answer, number, posed in results
    )
    also = [
        f"{item.question.words(machine.namings[item.pair])}: epsilon {res.epsilon:.4g} at {item.share} of the level"
        for res, _, item in results
        if item is not test
    ]
    details = {
        "event": question.words(machine.namings[test.pair]),
        **machine.said(),
        "event_outputs": machine.namings[test.pair].outputs(question.events),
        "trials": count,
        "successes": list(result.counts),
        "outcomes": 1 if silent else max(2, len(outcomes)),
        "p_value": min(1.0, *(answer.p_value / float(posed.share) for answer, _, posed in results)),
        "direction": question.direction,
        "corrections": corrections(tests) + ", by a bet, valid at any time" * sequential,
        **({"also": "; ".join(also)} if also else {}),
        "tests": [
            {
                "event": posed.question.words(machine.namings[posed.pair]),
                "direction": posed.question.direction,
                "trials": number,
                "successes": list(answer.counts),
                "level": answer.level,
                "p_value": answer.p_value,
                "epsilon": answer.epsilon,
            }
            for answer, number, posed in results
        ],
        "laws": swapped(laws.get(id(question), {}), question.swapped),
        "seed": seed if target.repeatable else None,
        "distance": distance,
        "seconds": round(time.perf_counter() - begin, 2),
    }
    method = "statistical" + ", sequential" * sequential + ", bitwise" * bitwise
    head = target.name, target.calibration, claim, method, evidence, result.epsilon, result.delta
    return Report(*head, confidence, pair.witness(question.swapped), result.refutes, result.curve(claim), details)


def _stated(
    target: Target, machine: Machine, pairs: list[Pair], aim: Aim, guesses: bool
) -> tuple[Question, int] | None:
    """The question that is known in advance, and the index of the pair for which it promises most."""
    if target.known is None:
        return None
    root = keys.stream(machine.root, "known")
    options = []
    for number, pair in enumerate(pairs):
        key, both = keys.stream(root, str(number)), (pair.first, pair.second)
        expected = "a KnownLaw, (database, plan) -> law, or a KnownEvent, output -> bool[]"
        with calling("known", expected, "call it by hand on a database and on an output"):
            options.append((target.known.question(key, both[0], both[1], machine.plan, aim, guesses), number))
    return max(options, key=lambda option: option[0].merits[0])


def drawn_pairs(target: Target, count: int, seed: int) -> list[Pair]:
    """This many pairs of neighbors, drawn equally often from each of the target's universes."""
    universes = target.universes() if count else []
    if count and not universes:
        raise InputError(
            "search", "0, or a target with universes", str(count), "give the target universes to draw from"
        )
    pairs = []
    bits = np.asarray(jax.random.bits(keys.stream(keys.root(seed), "search"), (count,), "uint32"))
    for turn, word in enumerate(bits):
        universe = universes[turn % len(universes)]
        first, second = (
            jax.tree.map(lambda part, at=at: np.asarray(part)[at], universe.databases)
            for at in universe.pairs[int(word) % len(universe.pairs)]
        )
        pairs.append(Pair(first, second, universe.show))
    return pairs


def _screened(machine: Machine, pairs: list[Pair], rows: int, claim: Guarantee) -> list[Pair]:
    """The pairs with the strongest evidence against the claim in a small number of trials."""
    aim = Aim.of(claim.epsilon, claim.delta, rows, 0.5)
    merits = [choose(*machine.outputs(pair, number), aim)[1].merits[1] for number, pair in enumerate(pairs)]
    return [pairs[i] for i in np.argsort(-np.array(merits), kind="stable")[:_KEPT]]
