"""The device that is measured, and sizes of arrays that suit it."""

import datetime
from dataclasses import dataclass
from typing import Any

import jax
import jaxlib
import numpy as np

from benchmarks.row import processor


@dataclass(frozen=True)
class Sizes:
    """Numbers of elements.

    block: elements that an elementwise program works on at once: within a core's cache on a CPU. blocks: of a call.
    beyond_cache: bytes of an array that no cache holds. candidates: of one call of a selection.
    """

    block: int
    blocks: int
    beyond_cache: int
    candidates: int


def sizes() -> Sizes:
    """For the default device, by its memory."""
    device = jax.local_devices()[0]
    if device.platform == "cpu":
        return Sizes(1 << 14, 1 << 7, 1 << 27, 1 << 22)
    memory = (device.memory_stats() or {}).get("bytes_limit", 1 << 33)
    return Sizes(_power(memory >> 12), 1 << 3, _power(memory >> 5), _power(memory >> 8))


def _power(value: int) -> int:
    """The largest power of two up to ``value``, at least 2**16."""
    return 1 << max(16, value.bit_length() - 1)


def about() -> dict[str, Any]:
    """Device, driver, versions and the date, as plain values."""
    device = jax.local_devices()[0]
    return {
        "platform": device.platform,
        "device": device.device_kind,
        "driver": device.client.platform_version,
        "processor": processor(),
        "jax": jax.__version__,
        "jaxlib": jaxlib.__version__,
        "numpy": np.__version__,
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
    }
