"""Schemas of documents, and the check of one: it may be damaged, or come from anybody."""

from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from dpjax.core.checks import InputError


class Document(BaseModel):
    """Types and ranges of the entries of a mapping; others are ignored. Numbers are finite, and no text is one."""

    model_config = ConfigDict(strict=True, extra="ignore", allow_inf_nan=False)


_Kind = TypeVar("_Kind", bound=Document)


def check(kind: type[_Kind], what: str, data: Any, advice: str) -> _Kind:
    """The data as a document; InputError, with the first place where it is not of the kind."""
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        first: Any = error.errors()[0]
        value, missing = first["input"], first["type"] == "missing"
        shown = f"a {type(value).__name__}" if isinstance(value, dict | list) else repr(value)[:60]
        expected = first["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
        expected, shown = ("a value", "none") if missing else (expected, shown)
        raise InputError(".".join([what, *map(str, first["loc"])]), expected, shown, advice) from error
