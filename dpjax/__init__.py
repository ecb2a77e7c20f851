"""dpjax: private PAC learners, run thousands of times with explicit keys, measured and audited.

    import dpjax as dp

The nouns below are imported when they are first used; ``dir(dpjax)`` lists them, and __init__.pyi says where each is.
"""

import importlib
import re
from pathlib import Path
from typing import Any

_NOUN = re.compile(r"^from (dpjax[.\w]*) import (\w+) as \2$", re.MULTILINE)
_HOME = {name: home for home, name in _NOUN.findall(Path(__file__).with_suffix(".pyi").read_text("utf-8"))}
"""The module from which each noun is imported."""
__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib import metadata

        try:
            return metadata.version("dpjax")
        except metadata.PackageNotFoundError:  # a source tree on the path that was never installed
            return "0+unknown"
    if name not in _HOME:
        near = _near(name)
        raise AttributeError(f"module 'dpjax' has no attribute {name!r}{f'; did you mean {near}?' if near else ''}")
    found = vars(importlib.import_module(_HOME[name])).get(name)
    globals()[name] = found = importlib.import_module(f"{_HOME[name]}.{name}") if found is None else found
    return found


def _near(name: str) -> str | None:
    """The noun that was meant."""
    import difflib

    folded = {noun.lower(): noun for noun in __all__}
    return folded[near[0]] if (near := difflib.get_close_matches(name.lower(), folded, 1, 0.75)) else None


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
