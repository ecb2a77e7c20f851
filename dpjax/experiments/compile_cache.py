"""Compiled programs on disk, so that a second process need not compile them: JAX's persistent cache, set up."""

import hashlib
import os
import warnings
from contextlib import suppress
from pathlib import Path

import jax

from dpjax.experiments.canonical import versions
from dpjax.experiments.machine import flags, processor

VARIABLE = "DPJAX_COMPILE_CACHE"
OFF = "off"
_MOST_BYTES = 2**31
_READ_HALF = "Error reading persistent compilation cache entry"  # another process was writing it


def use_compile_cache(folder: str | Path | None = None) -> Path | None:
    """Keeps compiled programs in a folder that later processes read; returns it, None if there is none.

    folder: by default that of the variable DPJAX_COMPILE_CACHE, else in dpjax/programs in the user's cache folder
    (XDG_CACHE_HOME or ~/.cache). "off" for none. Below it every combination of versions, processor and flags has a
    folder of its own, since machine code of one processor may crash another. Beyond 2 GiB the programs that were
    written first are removed. Where JAX has a cache already, by JAX_COMPILATION_CACHE_DIR, nothing changes.

    To be called before the first program is compiled. **Reading a program from the folder runs its code: let nobody
    else write to it.**
    """
    asked = folder if folder is not None else os.environ.get(VARIABLE)
    if str(asked) == OFF:
        jax.config.update("jax_compilation_cache_dir", None)
        return None
    if asked is None and jax.config.jax_compilation_cache_dir:
        return Path(jax.config.jax_compilation_cache_dir)
    place = Path(asked) if asked else _users()
    if place is None:
        return None
    own = place / _name()
    try:
        own.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError:  # a folder that cannot be written to: programs are compiled each time
        return None
    _trim(own)
    jax.config.update("jax_compilation_cache_dir", str(own))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    warnings.filterwarnings("ignore", _READ_HALF)
    return own


def _users() -> Path | None:
    with suppress(RuntimeError):  # no home
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dpjax" / "programs"
    return None


def _name() -> str:
    about = repr((processor(), flags(), os.environ.get("XLA_FLAGS", "")))
    named = versions()
    return f"jax-{named['jax']}-jaxlib-{named['jaxlib']}-{hashlib.sha256(about.encode()).hexdigest()[:16]}"


def _trim(folder: Path) -> None:
    """Removes the oldest files beyond the limit, down to half of it."""
    with suppress(OSError):
        files = [path for path in folder.rglob("*") if path.is_file()]
        found = sorted((path.stat().st_mtime, path.stat().st_size, path) for path in files)
        total = sum(size for _, size, _ in found)
        if total <= _MOST_BYTES:
            return
        for _, size, path in found:
            if total <= _MOST_BYTES // 2:
                break
            with suppress(OSError):
                os.unlink(path)
                total -= size
