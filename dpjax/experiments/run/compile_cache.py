"""Compiled programs on disk, so that a second process need not compile them: JAX's persistent cache, set up."""

import hashlib
import os
import warnings
from contextlib import suppress
from pathlib import Path

import jax

from dpjax.core.jax_extensions import reset_cache
from dpjax.core.owners import is_private
from dpjax.experiments.run.device import flags, processor
from dpjax.experiments.store.canonical import versions

VARIABLE = "DPJAX_COMPILE_CACHE"
OFF = "off"
_MOST_BYTES = 2**31
_READ_HALF = "Error reading persistent compilation cache entry"  # another process was writing it


def use_compile_cache(folder: str | Path | None = None) -> Path | None:
    """Keeps compiled programs in a folder that later processes read; returns it, None if there is none.

    folder: by default that of the variable DPJAX_COMPILE_CACHE, else in dpjax/programs in the user's cache folder
    (XDG_CACHE_HOME or ~/.cache). "off" for none. Below it every combination of versions, processor and flags has a
    folder of its own, since machine code of one processor may crash another. Beyond 2 GiB the programs that were
    written first are removed. Where JAX has a cache already, by JAX_COMPILATION_CACHE_DIR, that one is used.

    To be called before the first program is compiled. Reading a program from the folder runs its code, so a folder
    that others may write to is not used, see `require_private`.
    """
    choice = folder if folder is not None else os.environ.get(VARIABLE)
    if str(choice) == OFF:
        jax.config.update("jax_compilation_cache_dir", None)
        return None
    if choice is None and jax.config.jax_compilation_cache_dir:
        return require_private()
    place = Path(choice) if choice else _users()
    if place is None:
        return None
    subfolder = place / _name()
    jax.config.update("jax_compilation_cache_dir", str(subfolder))
    if require_private() is None:
        return None
    _trim(subfolder)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    warnings.filterwarnings("ignore", _READ_HALF)
    return subfolder


def require_private() -> Path | None:
    """The folder of JAX's persistent cache; None, and the cache is off from then on, if others may write to it.

    Such a folder is named once in a warning; programs are then compiled. See `owners.is_private`. An address such as
    gs://bucket cannot be checked and is used.
    """
    if not (folder := jax.config.jax_compilation_cache_dir):
        return None
    if "://" not in folder:
        with suppress(OSError):
            Path(folder).mkdir(parents=True, exist_ok=True, mode=0o700)
    if "://" in folder or is_private(folder):
        return Path(folder)
    jax.config.update("jax_compilation_cache_dir", None)
    reset_cache()
    if os.path.exists(folder):
        warnings.warn(
            f"programs are compiled and not kept: others may write to {folder}, or to a folder on the way to it, and "
            "reading a program runs its code; give a folder of your own with mode 700",
            stacklevel=2,
        )
    return None


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
        entries = sorted((path.stat().st_mtime, path.stat().st_size, path) for path in files)
        total = sum(size for _, size, _ in entries)
        if total <= _MOST_BYTES:
            return
        for _, size, path in entries:
            if total <= _MOST_BYTES // 2:
                break
            with suppress(OSError):
                os.unlink(path)
                total -= size
