"""Writes planted-bugs.md: what a statistical audit needs to refute mechanisms with a known mistake.

Run: python scripts/planted_bugs.py [--out FOLDER]
"""

from pathlib import Path

from dpjax import audit
from dpjax.core.types import Privacy
from dpjax.evidence.planted_bugs import BUGS
from dpjax.papers.pages import folder, write_page

SEEDS = 2
HEAD = f"""# Do audits find planted bugs?

Mechanisms with one typical mistake each are audited without a hint. Every mistake is found in every audit, in seconds;
one that changes little, or changes something rarely, takes more trials.

Written by `scripts/planted_bugs.py`: mechanisms that claim epsilon = 1 and are wrong, audited at 95% confidence without
a given event. Trials: per database, training included. Refuted: of {SEEDS} audits with different seeds. Seconds
of one audit (compilation included) and certified epsilon: medians. `dpjax/evidence/planted_bugs.py` holds them.

| mistake | delta | trials a side | refuted | seconds | certified epsilon |
|---|---|---|---|---|---|
"""


def main(path: Path) -> None:
    """Audits each one, and writes the table."""
    rows = []
    for bug in BUGS:
        found = [audit.statistical(bug.target(), Privacy(1.0, 1e-6), trials=bug.trials, seed=i) for i in range(SEEDS)]
        refuted = sum(report.violated for report in found)
        seconds = sorted(report.details["seconds"] for report in found)[SEEDS // 2]
        best = sorted(report.epsilon_found for report in found)[SEEDS // 2]
        rows.append(
            f"| {bug.what} | {bug.delta:g} | {bug.trials} | {refuted} of {SEEDS} | {seconds:.1f} | {best:.2f} |"
        )
        print(rows[-1], flush=True)
    write_page(path, HEAD + "\n".join(rows) + "\n")


if __name__ == "__main__":
    main(folder(__doc__) / "planted-bugs.md")
