"""What a device is: the part of it that the numbers depend on, and its memory."""

import os
import platform
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import jax

from dpjax.core.cores import cores
from dpjax.experiments.run.memory_limit import memory_left

_HARMLESS = (
    "xla_force_host_platform_device_count",
    "xla_cpu_parallel_codegen_split_count",
    "xla_gpu_cuda_data_dir",
    "xla_gpu_force_compilation_parallelism",
    "xla_gpu_enable_command_buffer",
)
_HARMLESS_BEGINNING = "xla_dump"
_USUAL = {
    "jax_disable_most_optimizations": False,
    "jax_optimization_level": "UNKNOWN",
    "jax_exec_time_optimization_effort": 0.0,
}
"""Settings of JAX for XLA's optimizations, and their defaults."""


def identity_of(device: Any) -> str:
    """What the numbers depend on besides the program, not how many devices there are.

    The platform and the kind of device; for a CPU its architecture and whether it fuses multiplication and addition,
    which rounds once; for others the version of their platform, such as that of CUDA; flags of XLA, but for those that
    are known to change no number; and JAX's settings of products and optimizations.
    """
    parts = [device.platform, device.device_kind]
    if device.platform == "cpu":
        parts.append(_instructions())
    elif version := getattr(getattr(device, "client", None), "platform_version", ""):
        parts.append(" ".join(version.split()))
    return ":".join(parts) + "".join(f" {flag}" for flag in flags())


def flags() -> list[str]:
    """The flags of XLA and settings of JAX that may change a number, sorted."""
    words = [word.lstrip("-") for word in (*_xla_flags(), *os.environ.get("LIBTPU_INIT_ARGS", "").split())]
    last = {word.partition("=")[0]: word for word in words}  # of a flag that is given twice the last one counts
    entries = [
        word for name, word in last.items() if name not in _HARMLESS and not name.startswith(_HARMLESS_BEGINNING)
    ]
    if (precision := jax.config.jax_default_matmul_precision) is not None:
        entries.append(f"jax_default_matmul_precision={precision}")
    settings = jax.config.values
    entries += [f"{name}={settings[name]}" for name, usual in _USUAL.items() if settings.get(name, usual) != usual]
    if (override := os.environ.get("NVIDIA_TF32_OVERRIDE")) is not None:
        entries.append(f"NVIDIA_TF32_OVERRIDE={override}")
    return sorted(set(entries))


def _xla_flags() -> list[str]:
    """The words of XLA_FLAGS, or of the file that it names if it does not begin with a dash, as XLA reads it."""
    value = os.environ.get("XLA_FLAGS", "").strip()
    if value and not value.startswith("-"):
        with suppress(OSError, ValueError):  # XLA takes a file that it cannot read for an empty one
            return Path(value).read_text().split()
        return []
    return value.split()


def threads() -> int:
    """XLA's threads on this host's CPU: `cores.cores`, or more if it is split into more devices. See
    `program.sums_in_parts`."""
    return max(cores(), jax.local_device_count("cpu"))


@cache
def processor() -> str:
    """The processor's model and instruction sets, for caches of machine code."""
    with suppress(OSError):
        lines = [line.partition(":") for line in Path("/proc/cpuinfo").read_text().splitlines()]
        known = {key.strip(): value.strip() for key, _, value in reversed(lines)}
        return " ".join(
            known.get(key, "") for key in ("model name", "flags", "CPU implementer", "CPU part", "Features")
        )
    return platform.processor() or platform.machine()


def _instructions() -> str:
    machine = platform.machine()
    return f"{machine}+fma" if machine in ("x86_64", "AMD64") and " fma " in f"{processor()} " else machine


def memory_of(device: Any) -> int | None:
    """Bytes that programs may use on a device; None where the system does not say.

    Of a CPU, the memory that is free now, or what the limits of the process's control groups leave of it.
    """
    if device.platform != "cpu":
        return (device.memory_stats() or {}).get("bytes_limit")
    free = None
    with suppress(OSError, StopIteration, ValueError):
        line = next(
            entry for entry in Path("/proc/meminfo").read_text().splitlines() if entry.startswith("MemAvailable")
        )
        free = int(line.split()[1]) * 1024
    return min((part for part in (free, memory_left()) if part is not None), default=None)
