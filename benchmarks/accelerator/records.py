"""The lines of results: one for each job that was begun."""

import fcntl
import json
from pathlib import Path
from typing import Any

KILLED = "killed when the time was up"


def append(path: Path, record: dict[str, Any]) -> None:
    """Adds a line of JSON; several processes may do so at once."""
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(json.dumps(record) + "\n")


def read(path: Path) -> list[dict[str, Any]]:
    """All lines; none of a file that does not exist."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []


def of(job: dict[str, Any], records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The lines of a job, which is told by its own fields."""
    return [one for one in records if all(one.get(name, one) == value for name, value in job.items())]
