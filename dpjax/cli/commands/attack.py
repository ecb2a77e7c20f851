"""`dpjax attack`: the coalition attack on a learner."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from dpjax.attacks.coalition import CoalitionAttack
from dpjax.attacks.codes.base import MOST_USERS
from dpjax.attacks.report import Report, demonstrate
from dpjax.cli.arguments.privacy import AttackCommand
from dpjax.cli.commands.attack_packing import USUAL_CONCEPTS, packed
from dpjax.cli.named import builder_of
from dpjax.cli.output import Answer, console
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Privacy
from dpjax.experiments.config.builder import CODES, CONCEPTS, LEARNERS, Builder, public_names
from dpjax.experiments.config.calls import call
from dpjax.experiments.run.progress import Estimate
from dpjax.learners.columns import for_concepts

_USERS, _SECURITY = 4, 0.05


def run(command: AttackCommand) -> Answer:
    """The report; ``violated`` says whether the learner's guarantee is refuted."""
    privacy = Privacy(checks.epsilon(command.epsilon), checks.delta(command.delta))
    accuracy = Accuracy(checks.probability("alpha", command.alpha), checks.probability("beta", command.beta))
    checks.integer("trials", command.trials, 1)
    checks.integer("seed", command.seed, 0, 2**32 - 1)
    checks.probability("confidence", command.confidence)
    if command.users is not None:
        checks.integer("users", command.users, 2, MOST_USERS)
    builder = builder_of(command)
    if command.packing:
        k = USUAL_CONCEPTS if command.k is None else command.k
        return packed(command, _of_concepts(_learner(command, builder), k), k, privacy, accuracy)
    code = _code(command, builder)
    learner = _of_concepts(_learner(command, builder), code.length)
    if (rows := command.n) is not None:
        if command.sample_size:
            raise InputError("n", "none beside --sample-size", str(rows), "leave one of the two out")
        if rows < code.users:
            raise InputError("n", f"at least {code.users}, a row for each user", str(rows), "give more, or fewer users")
    elif command.sample_size:
        rows = max(learner.sample_size(privacy, accuracy), code.users)
    attack = CoalitionAttack(learner, code, rows, command.uniform)
    with Estimate() as watch:
        report = demonstrate(attack, privacy, accuracy, command.trials, command.seed, command.confidence, watch)
    head = {"learner": command.learner, "concepts": command.concepts, "code": command.code}
    return head | report.to_dict(), lambda: _show(command, attack, report)


def _learner(command: AttackCommand, builder: Builder) -> Any:
    """The learner as written, over the class of the flags."""
    concepts = builder.build("concepts", command.concepts, CONCEPTS)
    if _has_a_class(call("learner", command.learner)):
        advice = "leave the class out, it is that of --concepts"
        raise InputError("learner", "a learner without its class", command.learner, advice)
    return builder.of_class(concepts).knowing(k=1).build("learner", command.learner, LEARNERS)


def _has_a_class(written: Mapping[str, Any]) -> bool:
    """Whether a learner, or a learner inside of it, is written with a class as for `dpjax audit`."""
    inner = [spec for spec in written.get("arguments", ()) if isinstance(spec, Mapping)]
    classes, learners = public_names(CONCEPTS), public_names(LEARNERS)
    return any(spec["use"] in classes or (spec["use"] in learners and _has_a_class(spec)) for spec in inner)


def _of_concepts(learner: Any, k: int) -> Any:
    """The learner of k concepts; InputError for one that was written with another number of concepts."""
    if (count := learner.number_of_concepts) not in (1, k):
        raise InputError("learner", f"one of {k} concepts", f"k = {count}", "leave k out of it")
    return for_concepts(learner, k)


def _code(command: AttackCommand, builder: Builder) -> Any:
    """The code as written; numbers of users, columns and security that are not written come from the flags."""

    def made(users: int, k: int | None = command.k) -> Any:
        security = _SECURITY if command.security is None else command.security
        numbers = {"security": security} | ({} if k is None else {"k": k})
        known = Builder(builder.imports, {"users": users}, numbers)
        return known.build("code", command.code, CODES)

    users = command.users
    if users is None:
        users = _USERS if command.k is None else _most_users(partial(made, k=None), command.k)
    code = made(users)
    for flag in ("users", "k", "security"):
        flag_value, code_value = getattr(command, flag), getattr(code, flag, None)
        if None not in (flag_value, code_value) and flag_value != code_value:
            raise InputError(flag, f"{code_value}, as in --code", f"{flag_value}", "leave one of the two out")
    return code


def _most_users(made: Callable[[int], Any], k: int) -> int:
    """The most users whose code, of the length that it needs, has at most k columns."""
    if (needed := made(2).length) > k:
        advice = "give more columns, or --users for a shorter code if it allows one: it may trace nobody"
        raise InputError("k", f"k >= {needed} for 2 users", str(k), advice)
    low, high = 2, MOST_USERS + 1
    while high - low > 1:
        middle, fits = (low + high) // 2, False
        with suppress(InputError):
            fits = made(middle).length <= k
        low, high = (middle, high) if fits else (low, middle)
    return low


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
        out.print(line)
