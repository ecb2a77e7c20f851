"""The report of an audit, of one claim or of everything."""

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from dpjax.core.html import Column, Markup, block, details, element, number, table, terms
from dpjax.core.schemas import Document, check
from dpjax.reports import figures
from dpjax.reports.page import Section, notice, origin, page
from dpjax.reports.words import table_of

_VIOLATED, _VACUOUS = "VIOLATED", "vacuous"
_SHOWN = ("target", "calibration", "claim", "verdict", "curve", "versions", "witness", "laws", "event_outputs")
_MOST = 24  # figures


class _Claim(Document):
    epsilon: float
    delta: float
    relation: str


class _Report(Document):
    target: str
    calibration: str
    claim: _Claim
    method: str
    epsilon_found: float | None
    delta_found: float | None
    confidence: float
    verdict: str
    curve: list[Annotated[list[float], Field(min_length=2, max_length=2)]] | None = None
    seconds: float | None = None


class _Audit(Document):
    reports: list[_Report]
    left: int = 0
    confidence: float = 1.0


def audit_page(data: Mapping[str, Any]) -> str:
    """An audit's result as one HTML file, also of an unfinished run.

    data: as in audit.json, of one claim or of --all.
    """
    reports = _reports(data)
    refuted = [report for report in reports if _refuted(report)]
    vacuous = [report for report in reports if str(report["verdict"]).startswith(_VACUOUS)]
    single = len(reports) == 1 and "reports" not in data
    title = f"Privacy audit of {reports[0]['target']}" if single else "Privacy audit"
    consistent = len(reports) - len(refuted) - len(vacuous)
    about = f"Claims: {len(reports)}; consistent {consistent}, refuted {len(refuted)}, vacuous {len(vacuous)}"
    advice = [
        Section("claims", "Claims", list(_claims(data, reports))),
        Section("figures", "Privacy curves", list(_figures(reports))),
        Section("evidence", "Evidence", [_evidence(report) for report in reports]),
        Section("origin", "Versions", [origin(table_of(reports[0], "versions"), ())] if reports else []),
        Section("configuration", "Configuration", list(_configuration(data))),
    ]
    return page(title, about, _notices(data, refuted), advice)


def _reports(data: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    entries = data.get("reports", [data])
    check(_Audit, "audit", {**data, "reports": entries}, "give audit.json as an audit saved it, or its folder")
    return list(entries)


def _refuted(report: Mapping[str, Any]) -> bool:
    return report["verdict"] == _VIOLATED


def _notices(data: Mapping[str, Any], refuted: Sequence[Mapping[str, Any]]) -> Iterator[Markup]:
    if refuted:
        names = ", ".join(dict.fromkeys(_name(report) for report in refuted))
        yield notice(f"Refuted claims: {len(refuted)} ({names}).", bad=True)
    if left := data.get("left"):
        yield notice(f"This audit is partial. Claims that are not audited yet: {left}.")


def _name(report: Mapping[str, Any]) -> str:
    constants = report["calibration"]
    return report["target"] if constants == "corrected" else f"{report['target']} ({constants})"


def _claims(data: Mapping[str, Any], reports: Sequence[Mapping[str, Any]]) -> Iterator[Markup]:
    if not reports:
        yield element("p", "No claim is audited yet.")
        return
    numbers = map(Column, ("epsilon claimed", "found", "delta claimed", "found"))
    short = (Column(name, "short") for name in ("relation", "method"))
    columns = [Column("target", "text"), Column("verdict", "short"), *numbers, *short]
    columns += map(Column, ("confidence", "seconds"))
    rows = []
    for entry in reports:
        claim, found = entry["claim"], (entry["epsilon_found"], entry["delta_found"])
        losses = claim["epsilon"], found[0], claim["delta"], found[1]
        rest = entry["method"], entry["confidence"], entry.get("seconds")
        rows.append([_name(entry), _verdict(entry), *losses, claim["relation"], *rest])
    yield table(
        columns, rows, "Claims, and the smallest epsilon and delta that the evidence allows", map(_refuted, reports)
    )
    yield element(
        "p",
        "Found: the smallest epsilon at the claimed delta, and the smallest delta at the claimed epsilon, on the "
        "pairs of databases that were compared; a dash means that no finite epsilon is enough. Confidence 1: the laws "
        "of the outputs were compared exactly. No audit proves privacy in general.",
    )
    if "confidence" in data and "reports" in data:
        error = number(1 - data["confidence"])
        yield element("p", f"All rows together: a correct claim is refuted with probability at most {error}.")


def _verdict(report: Mapping[str, Any]) -> str | Markup:
    word = str(report["verdict"]).partition(" with ")[0].partition(":")[0]
    return element("span", word, class_="bad") if _refuted(report) else word


def _figures(reports: Sequence[Mapping[str, Any]]) -> Iterator[Markup]:
    """Curves of all refuted claims, and of those that are closest to their claim."""
    drawn = [report for report in reports if report.get("curve")]
    chosen = sorted(drawn, key=lambda report: (not _refuted(report), -_closeness(report)))[:_MOST]
    if len(chosen) < len(drawn):
        yield element(
            "p",
            f"Of {len(drawn)} curves, the {len(chosen)} of refuted claims and of those that come closest to what "
            "is claimed. All are in audit.json.",
        )
    if chosen:
        yield element(
            "div", *(figures.of_claim(entry, f"claim{place}-") for place, entry in enumerate(chosen)), class_="figures"
        )


def _closeness(report: Mapping[str, Any]) -> float:
    """The epsilon found as a fraction of the claimed one."""
    smallest, claimed = report["epsilon_found"], report["claim"]["epsilon"]
    return float("inf") if smallest is None else smallest / claimed if claimed else 0.0


def _evidence(report: Mapping[str, Any]) -> Markup:
    claim = report["claim"]
    at = f"({number(claim['epsilon'])}, {number(claim['delta'])}), {claim['relation']}"
    pairs = {name: value for name, value in report.items() if name not in _SHOWN and value is not None}
    named = [*pairs.items(), *((f"witness: {name}", value) for name, value in table_of(report, "witness").items())]
    facts = terms(
        (name.replace("_", " "), value if isinstance(value, str) else json.dumps(value)) for name, value in named
    )
    return details(f"{_name(report)} at {at}: {report['verdict']}", facts, opened=_refuted(report))


def _configuration(data: Mapping[str, Any]) -> Iterator[Markup]:
    arguments = table_of(data, "asked")
    if arguments:
        target = "--all" if arguments.get("target") is None else shlex.quote(str(arguments["target"]))
        flags = " ".join(f"--{name} {shlex.quote(str(value))}" for name, value in arguments.items() if name != "target")
        yield element("p", "The same audit again:")
        yield block(f"dpjax audit {target} {flags}", "The command of this audit")
