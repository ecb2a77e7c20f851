"""Peak memory: it must not grow with the number of trials."""

from dpjax.benchmarks.child import Child
from dpjax.benchmarks.row import Measured, Row
from dpjax.benchmarks.tile import compiled

_TILES, _TIMES = 8, 16
_LIMIT = 64.0  # MiB


def _peak(_: float) -> Measured:
    with Child(1) as few, Child(1) as many:
        small, large = few.ask(_TILES), many.ask(_TIMES * _TILES)
    note = f"{small['trials']} and {large['trials']} trials of the threshold learner, each in a process of its own"
    return Measured(large["peak_mib"], small["peak_mib"], small["peak_mib"] / large["peak_mib"], note)


def _temporary(_: float) -> Measured:
    size = compiled().memory_analysis().temp_size_in_bytes / 2**20
    return Measured(size, _LIMIT, _LIMIT / size, "temporary memory of the compiled tile")


ROWS = (
    Row("memory", "a 16th of the trials", "MiB at the peak", 0.95, _peak),
    Row("memory-tile", "the limit", "MiB", 1.0, _temporary),
)
