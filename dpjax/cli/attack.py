"""`dpjax attack`: the coalition attack on a learner."""

from contextlib import suppress
from typing import Any

from dpjax.attacks.coalition import CoalitionAttack
from dpjax.attacks.codes.base import MOST_USERS
from dpjax.attacks.report import Report, demonstrate
from dpjax.cli import Answer
from dpjax.cli.attacking import AttackCommand
from dpjax.cli.packing import packed
from dpjax.cli.printing import console
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Privacy
from dpjax.experiments.build import CODES, CONCEPTS, LEARNERS, Builder
from dpjax.experiments.progress import Estimate
from dpjax.learners.columns import for_concepts

_USERS = 4


def run(command: AttackCommand) -> Answer:
    """The report; ``violated`` says whether the learner's guarantee is refuted."""
    privacy = Privacy(checks.epsilon(command.epsilon), checks.delta(command.delta))
    accuracy = Accuracy(checks.probability("alpha", command.alpha), checks.probability("beta", command.beta))
    checks.integer("trials", command.trials, 1)
    checks.integer("seed", command.seed, 0, 2**32 - 1)
    checks.probability("confidence", command.confidence)
    if command.users is not None:
        checks.integer("users", command.users, 2, MOST_USERS)
    builder = Builder(command.imports)
    if command.packing:
        return packed(command, _learner(command, builder), privacy, accuracy)
    code = _code(command, builder)
    learner = for_concepts(_learner(command, builder), code.length)
    rows = command.n
    if command.sample_size:
        if rows is not None:
            raise InputError("n", "none beside --sample-size", str(rows), "leave one of the two out")
        rows = max(learner.sample_size(privacy, accuracy), code.users)
    attack = CoalitionAttack(learner, code, rows)
    with Estimate() as watch:
        report = demonstrate(
            attack, privacy, accuracy, command.trials, command.seed, command.confidence, watch
        )  # fmt: skip
    head = {"learner": command.learner, "concepts": command.concepts, "code": command.code}
    return head | report.to_dict(), lambda: _show(command, attack, report)


def _learner(command: AttackCommand, builder: Builder) -> Any:
    """The learner as written, over the class of the flags."""
    concepts = builder.build("concepts", command.concepts, CONCEPTS)
    of_class = {name: getattr(concepts, name) for name in ("domain", "dimension", "d") if hasattr(concepts, name)}
    return builder.knowing(concepts=concepts, k=1, **of_class).build("learner", command.learner, LEARNERS)


def _code(command: AttackCommand, builder: Builder) -> Any:
    """The code as written; numbers of users, columns and security that are not written come from the flags."""

    def made(users: int) -> Any:
        numbers = {"security": command.security} | ({} if command.k is None else {"k": command.k})
        known = Builder(builder.imports, {"users": users}, numbers)
        return known.build("code", command.code, CODES)

    if command.users is not None or command.k is None:
        return made(command.users or _USERS)
    found = made(2)  # InputError if not even two users fit
    low, high = 2, MOST_USERS + 1
    while high - low > 1:
        middle, fits = (low + high) // 2, None
        with suppress(InputError):
            fits = made(middle)
        found, low, high = (fits, middle, high) if fits is not None else (found, low, middle)
    return found


def _show(command: AttackCommand, attack: CoalitionAttack, report: Report) -> None:
    out = console()
    lines = [
        f"{attack.code}: {report.users} users, k = {report.columns}, xi = {report.security:g}; "
        f"{report.rows} rows, {report.rows - report.users} of them junk",
        f"hypotheses with empirical error below {attack.accuracy:.3g} give a word of the coalition",
        f"word of the coalition (marking assumption)    {report.feasible}",
        f"somebody is accused                           {report.somebody}",
        f"user {report.user + 1} is accused, present" + " " * 20 + f"{report.present}",
        f"user {report.user + 1} is accused, absent" + " " * 21 + f"{report.absent}",
        f"in brackets the exact intervals of the probabilities, each of confidence {report.confidence:g}; the user was "
        f"chosen by {report.pilot} other trials",
        report.words(command.learner),
    ]
    for line in lines:
        out.print(line, highlight=False, markup=False, soft_wrap=True)
