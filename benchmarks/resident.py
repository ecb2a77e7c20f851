"""Memory of this process and of its device, in MiB."""

import contextlib
import ctypes
import resource
import sys
from pathlib import Path

import jax

_KERNEL = Path("/proc/self")
_FORGET = "5"  # written to clear_refs: the peak becomes what is resident now


def forget_peak() -> None:
    """Lets the peak begin anew, where the system can; what was freed is given back to it first."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    with contextlib.suppress(OSError):
        (_KERNEL / "clear_refs").write_text(_FORGET)


def of_process() -> dict[str, float]:
    """{"peak_mib": of the process, "peak_since_mib": since `forget_peak`, "held_mib": now, "device_peak_mib"}.

    Without /proc the last peak and what is held count as the peak of the process.
    """
    whole = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
    since = _status("VmHWM", whole)
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    stats = jax.local_devices()[0].memory_stats() or {}
    return {
        "peak_mib": whole,
        "peak_since_mib": since,
        "held_mib": _status("VmRSS", whole),
        "device_peak_mib": stats.get("peak_bytes_in_use", 0) / 2**20,
    }


def _status(name: str, otherwise: float) -> float:
    with contextlib.suppress(OSError):
        for line in (_KERNEL / "status").read_text().splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) / 2**10
    return otherwise
