"""Machine code of tile programs: compiled once, loaded on every device of a kind and by later processes."""

import hashlib
import io
import os
import threading
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import jax
import numpy as np

from dpjax.core.files import read_bytes
from dpjax.core.jax_extensions import (
    CACHE_HIT,
    CompileOptions,
    DeviceAssignment,
    ExecutableUnpickler,
    serialize_executable,
)
from dpjax.core.owners import is_private
from dpjax.experiments.run.compile_cache import require_private
from dpjax.experiments.run.device import identity_of, processor
from dpjax.experiments.store.canonical import versions

_FOLDER = "tiles"
_MOST_BYTES = 1 << 30


class Loader:
    """The executables of one program, by device.

    Args:
      name: of the program: equal for what was traced alike.
      compile: compiles it for a device.
      arguments: of the program; only their structure counts.
      kept: whether code may be kept and loaded; not of programs that call Python functions of this process.

    Code is serialized when it is fresh from the compiler, and loaded from that on other devices: an executable that has
    run, or was read from a cache, cannot be serialized. It is kept in JAX's persistent compilation cache, in a folder
    of its own, if that is on. Reading code from there runs it, so a folder that others may write to is not used, see
    `compile_cache.require_private`.
    """

    def __init__(self, name: str, compile: Callable[[Any], Any], arguments: tuple, kept: bool = True):
        self.name, self.compile, self.kept = name, compile, kept
        self._inputs: Any = jax.tree.structure((arguments, {}))
        self._outputs = jax.tree.structure(0)
        self._data: bytes | None = None

    def on(self, device: Any) -> tuple[Any, bool]:
        """(executable, whether it was compiled now) on this device."""
        path = self._path(device)
        if self._data is None and path is not None:
            self._data = _read(path)
        if self._data is not None:
            with suppress(Exception):  # code of another build: it is compiled, and written anew
                return self._loaded(self._data, device), False
            self._data = None
        with _Listening() as heard:
            compiled = self.compile(device)
        if self.kept and not heard.hit:
            self._data = serialize_executable.serialize(compiled)[0]
            if path is not None:
                _write(path, self._data)
        return compiled, True

    def _loaded(self, data: bytes, device: Any) -> Any:
        unloaded, arguments, no_kwargs = _OnOneDevice(io.BytesIO(data), device.client, [device]).load()
        inputs = self._inputs.unflatten(arguments)
        return jax.stages.Compiled(unloaded.load(), [], inputs, self._outputs, no_kwargs=no_kwargs)

    def _path(self, device: Any) -> Path | None:
        require_private()
        folder = jax.config.jax_compilation_cache_dir
        if not self.kept or not folder or not jax.config.jax_enable_compilation_cache:
            return None
        flags = os.environ.get("XLA_FLAGS", "")
        about = repr((self.name, identity_of(device), processor(), flags, sorted(versions().items())))
        return Path(folder) / _FOLDER / hashlib.sha256(about.encode()).hexdigest()


class _OnOneDevice(ExecutableUnpickler):
    """Reads JAX's own format; every device that it names becomes the one that is asked for."""

    def persistent_load(self, pid: tuple) -> Any:
        if pid[0] == "device":
            return self.execution_devices[0]
        if pid[0] == "exec":
            options = CompileOptions()
            place = np.array([[self.execution_devices[0].id]])
            options.device_assignment = DeviceAssignment.create(place)
            return self.backend.deserialize_executable(pid[1], self.execution_devices, options)
        return super().persistent_load(pid)


class _Listening:
    """Whether JAX read a program from its persistent cache, in this thread, while the context was entered."""

    class _Own(threading.local):
        now: "_Listening | None" = None

    _own = _Own()
    _registered = False

    def __enter__(self) -> "_Listening":
        if not _Listening._registered:
            _Listening._registered = True
            jax.monitoring.register_event_listener(_Listening._hear)
        self.hit, _Listening._own.now = False, self
        return self

    def __exit__(self, *_: Any) -> None:
        _Listening._own.now = None

    @staticmethod
    def _hear(event: str, **_: Any) -> None:
        now = _Listening._own.now
        if event == CACHE_HIT and now is not None:
            now.hit = True


def _read(path: Path) -> bytes | None:
    """The code in a file, None if there is none or if it is not whole."""
    with suppress(OSError):
        data = read_bytes(path, _MOST_BYTES) if is_private(path) else b""
        if hashlib.sha256(data[32:]).digest() == data[:32]:
            return data[32:]
        path.unlink(missing_ok=True)
    return None


def _write(path: Path, data: bytes) -> None:
    with suppress(OSError):  # without the file the program is compiled again
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        temporary = path.with_name(f".tmp-{os.getpid()}-{uuid.uuid4().hex}")
        temporary.write_bytes(hashlib.sha256(data).digest() + data)
        os.replace(temporary, path)
