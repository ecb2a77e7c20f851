"""The page of theorems beside measurements: it is what the code says today, and no slack is above what is promised."""

from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs" / "gallery"


def rows_of(page):
    lines = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ")]
    return {(row[0], row[1], float(row[3]), float(row[4])): row for row in lines[1:]}


@pytest.fixture(scope="module")
def slack(scripts):
    return scripts("slack")


def test_the_page_has_the_theorems_of_today_and_no_slack_grew(slack):
    """A planner that asks for more rows, or a measurement above the theorem, fails here."""
    rows = rows_of((DOCS / "slack.md").read_text())
    entries = slack.entries()
    assert len(rows) == len(entries)
    for entry in entries:
        row = rows[entry.learner, entry.workload, entry.goal.privacy.epsilon, entry.goal.accuracy.alpha]
        assert int(row[5]) == entry.make().theorem(entry.goal), row
        assert float(row[6]) >= 1 - slack.BETA, row
        assert entry.most is None or float(row[8]) <= entry.most, row


def test_every_learner_on_the_page_has_two_workloads(slack):
    learners = [entry.learner for entry in slack.entries()]
    assert all(learners.count(one) >= 2 for one in set(learners))


@pytest.mark.slow
def test_one_row_measured(slack, tmp_path):
    (entry,) = [e for e in slack.entries() if e.learner == "StablePoints" and e.goal.privacy.epsilon == 4][:1]
    slack.main(tmp_path, 3, 256, [entry])
    (row,) = rows_of((tmp_path / "slack.md").read_text()).values()
    assert int(row[5]) == 70 and 1 <= float(row[8]) <= 2
