"""The guide explains every line of a report, and a report prints what can be read."""

import re

import pytest

from dpjax import audit, evidence
from dpjax.core.types import Privacy
from tests.conftest import ROOT

BUDGET = Privacy(1.0, 1e-6)
REPORTS = {
    "exact": lambda: audit.exact(evidence.mechanism_target("stability", calibration="printed"), BUDGET),
    "statistical": lambda: audit.statistical(evidence.mechanism_target("laplace_mechanism"), BUDGET, trials=5000),
    "replay": lambda: audit.replay(evidence.mechanism_target("laplace_mechanism"), BUDGET),
    "one-run": lambda: audit.one_run_of(evidence.mechanism_target("laplace_mechanism"), BUDGET, canaries=2000),
}


def explained():
    text = (ROOT / "docs" / "guide" / "audits.md").read_text()
    section = text.partition("## How to read a report\n")[2].partition("\n## ")[0]
    return {name for row in re.findall(r"^\| (.*?) \|", section, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}


@pytest.mark.parametrize("method", REPORTS)
def test_every_line_is_explained(method):
    report = REPORTS[method]()
    lines = {line.split()[0] for line in str(report).splitlines()[1:]}
    assert {"claimed", "found", "method", "database", "neighbor", "seconds"} < lines <= explained()
    if method == "statistical":
        (printed,) = re.findall(r"^  p_value   (\S+)$", str(report), re.MULTILINE)
        assert printed == f"{report.details['p_value']:.3g}" and len(printed) < 9
        assert report.to_dict()["p_value"] == report.details["p_value"]
