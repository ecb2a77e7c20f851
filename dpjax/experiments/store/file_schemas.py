"""What the files of a study hold, and the check of it: they may be damaged, or come from anybody."""

import time
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import AfterValidator, ConfigDict, Field, model_validator

from dpjax.core.documents import unsealed
from dpjax.core.files import StoreError, read_file
from dpjax.core.schemas import Document, check
from dpjax.experiments.store.capacity import CAPACITY_LIMIT


def name(value: str) -> str:
    """The name of a learner: not blank, and of characters that can be printed. ValueError for others."""
    if not value.strip() or not value.isprintable():
        raise ValueError("a name of characters that can be printed")
    return value


Name = Annotated[str, Field(max_length=1000), AfterValidator(name)]


def _level(value: str) -> str:
    if not 0 <= float(value) <= 1:
        raise ValueError("a level of quantiles in [0, 1]")
    return value


Level = Annotated[str, AfterValidator(_level)]
Hash = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Chance = Annotated[float, Field(ge=0, le=1)]
Whole = Annotated[int, Field(ge=0, lt=2**63)]
Rows = Annotated[int, Field(ge=1, le=CAPACITY_LIMIT)]
Size = Annotated[int, Field(ge=1)]


class _Labels(Document):
    learner: Name
    k: Annotated[int, Field(ge=1, le=2**16)]
    epsilon: Annotated[float, Field(gt=0)]
    delta: Chance
    alpha: Chance
    beta: Chance


class _Point(_Labels):
    n: Rows
    trials: Whole
    successes: Whole
    lower: Chance
    upper: Chance
    no_answers: Whole | None = None
    errors: dict[Level, float | None] = Field({})
    cell: Hash | None = None
    guarantee_delta: Chance | None = None

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if not max(self.successes, self.no_answers or 0) <= self.trials or self.lower > self.upper:
            raise ValueError("successes and no_answers of at most trials, and lower of at most upper")
        return self


class _Searched(_Labels):
    theorem: Size | None = None
    confidence: Chance | None = None
    gamma: Chance | None = None
    trials: Whole | None = None
    ended: str | None = None
    below: Size | None = None
    below_by: str | None = None
    exponent_of_k: float | None = None
    cells: dict[Annotated[str, Field(pattern="^[0-9]+$")], Hash] = Field({})
    guarantee_delta: Chance | None = None


class _Star(_Searched):
    n_low: Rows | None
    n_high: Rows | None


class _Within(_Searched):
    fails_at: Rows | None
    passes_at: Rows | None


class _Fit(Document):
    learner: Name
    epsilon: float
    k_from: Whole | None = None
    k_to: Whole | None = None
    slope: float
    low: float | None = None
    high: float | None = None
    confidence: Chance | None = None
    theorem: float | None = None
    claimed: float | None = None


class _Failure(_Labels):
    n: Rows | None
    error: str
    traceback: str


class ResultFile(Document):
    """result.json."""

    title: str | None = None
    config: dict[str, Any]
    seed: Annotated[int, Field(ge=0, lt=2**32)]
    versions: dict[str, str]
    made_by: str | None = None
    device: str | None = None
    points: list[_Point]
    n_star: list[_Star]
    n_within: list[_Within] = Field([])
    exponents: list[_Fit] = Field([])
    exponents_all_k: list[_Fit] = Field([])
    failures: list[_Failure] = Field([])
    left: Whole = 0


class _Sweep(Document):
    k: list[Size]
    epsilon: list[float]


class StudyFile(Document):
    """study.json, as far as it is read without building the study."""

    model_config = ConfigDict(extra="forbid")

    title: str | None = None
    seed: int = 0
    task: dict[str, Any] = Field({})
    learners: dict[Name, Any]
    sweep: _Sweep
    search: dict[str, Any] | None = None


class _CellLearner(Document):
    class_: str = Field(alias="class")


class _CellTrials(Document):
    purpose: str


class PointCell(Document):
    """The configuration of a cell of a study, as far as it is read."""

    k: Size
    n: Rows
    alpha: Annotated[float, Field(gt=0, lt=1)]
    device: str
    program: str
    learner: _CellLearner
    trials: _CellTrials


class Record(Document):
    """The record of an item, see `records.Records`."""

    cells: dict[str, Hash] = Field({})
    points: list[str] = Field([])
    asked: str = ""
    item: str = ""
    code: str | None = None
    device: str | None = None
    host_only: str | None = None
    died: bool = False
    broken: bool = False
    n_low: int | None = None
    n_high: int | None = None


class FailedRecord(Record):
    """The record of an item that failed."""

    error: str
    traceback: str


class _Listed(Document):
    name: Annotated[str, Field(pattern="^[0-9a-f]{40}$")]
    text: str
    more: Annotated[int, Field(ge=0, le=1000)]
    asked: str


class ListingFile(Document):
    """The first items of a study: of each its name, its text, how many points follow it, and `items.asked_of`."""

    items: list[_Listed]


def read_study(folder: Path, patience: float = 0.0) -> dict[str, Any] | None:
    """study.json in a folder, None if there is none. StoreError if it cannot be read, or has another content.

    patience: seconds for which a file that another host wrote may not be whole, or not be seen at all.
    """
    end = time.monotonic() + patience
    while True:
        try:
            study = _study(folder / "study.json")
        except StoreError:
            if time.monotonic() > end:
                raise
        else:
            if study is not None or time.monotonic() > end:
                return study
        time.sleep(0.2)


def _study(path: Path) -> dict[str, Any] | None:
    advice = "prepare the study again"
    try:
        if (data := read_file(path)) is None:
            return None
        check(StudyFile, "study", study := unsealed(data), advice)
    except (OSError, ValueError) as error:
        message = f"{path}: {getattr(error, 'strerror', None) or error}"
        raise StoreError("store", "a study that was prepared", message, advice) from error
    return study
