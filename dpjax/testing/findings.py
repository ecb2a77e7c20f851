"""The result of a check: passed, failed, skipped, or stopped by an error in the checked code."""

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from dpjax.core import checks
from dpjax.core.checks import InputError, NoTheoremError
from dpjax.core.user_code import user_frames

Verdict = Literal["passed", "failed", "skipped", "error"]
Check = Callable[[Any], str | None]
"""Takes the subject; returns a remark or None, raises `Failed` or `Skipped`. Its name in words names the check."""


@dataclass(frozen=True)
class Finding:
    """The result of one check of one subject.

    Args:
      check: its name in words.
      verdict: "passed"; "failed"; "skipped", if it does not apply; "error", if the checked code raised.
      expected, given, advice: of a failure. given is the remark of a passed check, the reason of a skipped one.
      trace: of an error, the traceback without dpjax's frames.
      seconds: duration.
    """

    check: str
    verdict: Verdict
    expected: str = ""
    given: str = ""
    advice: str = ""
    trace: str = ""
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether the check found no fault: passed or skipped."""
        return self.verdict in ("passed", "skipped")

    def __str__(self) -> str:
        if self.passed:
            return f"{self.check}: {self.verdict}" + f" ({self.given})" * bool(self.given)
        text = f"{self.check}: {self.verdict}: expected {self.expected}, got {self.given}; {self.advice}"
        return f"{text}\n{self.trace}".rstrip()


class Failed(Exception):
    """A check failed."""

    def __init__(self, expected: str, given: str, advice: str):
        self.expected, self.given, self.advice = expected, given, advice
        super().__init__(f"expected {expected}, got {given}; {advice}")


class Skipped(Exception):
    """A check does not apply; the text gives the reason."""


def require(condition: Any, expected: str, given: Any, advice: str) -> None:
    """Raises `Failed` unless the condition holds."""
    if not condition:
        raise Failed(expected, str(given), advice)


def name_of(check: Check) -> str:
    """The name of a check in words."""
    return check.__name__.replace("_", " ")


def run_checks(
    subject: Any, first: Sequence[Check], others: Sequence[Check], tell: Callable[[str, int, int], None] | None = None
) -> list[Finding]:
    """Runs checks in sequence. Unless all of ``first`` pass, the others are skipped.

    tell: called before each check with its name, the number of finished checks and of all checks.
    """
    findings: list[Finding] = []
    total = len(first) + len(others)
    for check in (*first, *others):
        if tell is not None:
            tell(name_of(check), len(findings), total)
        if len(findings) >= len(first) and not all(finding.passed for finding in findings[: len(first)]):
            findings.append(Finding(name_of(check), "skipped", given="the checks above must pass first"))
        else:
            findings.append(run_check(check, subject))
    return findings


def run_check(check: Check, subject: Any) -> Finding:
    """One finding. Any exception of the checked code becomes a finding."""
    begin, name = time.perf_counter(), name_of(check)

    def finding(verdict: Verdict, **words: str) -> Finding:
        return Finding(name, verdict, **words, seconds=round(time.perf_counter() - begin, 3))

    try:
        remark = check(subject)
    except Failed as failure:
        return finding("failed", expected=failure.expected, given=failure.given, advice=failure.advice)
    except Skipped as reason:
        return finding("skipped", given=str(reason))
    except NoTheoremError as none:
        return finding("skipped", given=f"no theorem has a sample size: {none}")
    except InputError as refusal:
        message = f"{refusal.name}: {refusal.given} where {refusal.expected} is expected"
        return finding("failed", expected="no refusal", given=message, advice=refusal.advice)
    except checks.RAISED as error:
        lines = f"{type(error).__name__}: {error}".splitlines()
        advice = "correct the code that the traceback names"
        return finding("error", expected="code that runs", given=lines[0], advice=advice, trace=user_frames(error))
    return finding("passed", given=remark or "")


def failures(findings: Iterable[Finding]) -> list[Finding]:
    """The findings that are failures or errors."""
    return [finding for finding in findings if not finding.passed]


def assert_passed(findings: Sequence[Finding]) -> None:
    """For pytest: raises AssertionError that lists every failed check, or if no check passed."""
    wrong = failures(findings)
    if wrong:
        raise AssertionError("\n".join(map(str, wrong)))
    if not any(finding.verdict == "passed" for finding in findings):
        raise AssertionError("no check applied:\n" + "\n".join(map(str, findings)))


def short(value: Any, most: int = 120) -> str:
    """A value as text, truncated if long."""
    text = ""
    with suppress(Exception):  # the repr of user code may raise
        text = repr(value)
    text = text or type(value).__name__
    return text if len(text) <= most else text[: most - 3] + "..."
