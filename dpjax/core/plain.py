"""Values as JSON can hold them. Imports no NumPy."""

import math
from collections.abc import Callable, Mapping
from typing import Any


def plain(value: Any, other: Callable[[Any], Any] = str) -> Any:
    """``value`` with only dictionaries, lists, text, finite numbers, booleans and None.

    NaN and infinities, which JSON has not, become "nan", "inf" and "-inf"; arrays become lists; other objects what
    ``other`` makes of them.
    """
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if isinstance(value, Mapping):
        return {str(key): plain(part, other) for key, part in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(part, other) for part in value]
    return plain(value.tolist(), other) if hasattr(value, "tolist") else other(value)
