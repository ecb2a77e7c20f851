"""Peak memory of a process above what it holds once warm, while it runs tiles of trials."""

from benchmarks.child import Child

LIMIT = 64.0  # MiB
_TILES, _TIMES = 8, 16


def growth() -> tuple[float, int]:
    """MiB of the peak above the memory of a process that has compiled and run its program, and the trials since.

    The larger one of the process's own memory, and of the device's where that is apart. The first request makes the
    process warm; the second has 16 times its trials.
    """
    with Child(1, platform=None) as child:
        few, more = child.ask(_TILES), child.ask(_TIMES * _TILES)
    above = more["peak_since_mib"] - few["held_mib"]
    of_device = more["device_peak_mib"] - few["device_peak_mib"]
    return max(above, of_device, 0.0), int(more["trials"])
