"""A digest of the code that a process has loaded, for records of a study's queue."""

import hashlib
import os
import sys
import time
from pathlib import Path

import dpjax

_STARTED = time.time()


def code_digest() -> str | None:
    """A digest of dpjax's files and of the loaded modules that are neither installed nor Python's own.

    None where it cannot be told: for code that was typed in, and for files that were edited after this module was
    loaded, so that what runs may not be what they say. Records without a digest decide nothing.
    """
    package = Path(dpjax.__file__).parent
    files = {str(path) for path in package.rglob("*.py")}
    installed = tuple({f"{prefix}{os.sep}" for prefix in (sys.prefix, sys.base_prefix, sys.exec_prefix)})
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if module is sys.modules.get("__main__") and file is None and getattr(module, "__spec__", None) is None:
            return None
        if isinstance(file, str) and file.endswith(".py") and not file.startswith(installed):
            files.add(file)
    digest = hashlib.sha256()
    for file in sorted(files):
        try:
            if os.stat(file).st_mtime > _STARTED:
                return None
            digest.update(f"{os.path.basename(file)}\n".encode() + Path(file).read_bytes())
        except OSError:
            return None
    return digest.hexdigest()
