"""Peak memory: it must not grow with the number of trials."""

from benchmarks.child import Child
from benchmarks.row import Measured, Row
from benchmarks.tile import compiled

_TILES, _TIMES = 8, 16
_LIMIT = 64.0  # MiB


def _peak(_: float) -> Measured:
    with Child(1) as child:
        few, more = child.ask(_TILES), child.ask((_TIMES - 1) * _TILES)
    trials = few["trials"] + more["trials"]
    note = f"after {few['trials']} and after {trials} trials of the threshold learner in one process"
    return Measured(more["peak_mib"], few["peak_mib"], few["peak_mib"] / more["peak_mib"], note)


def _temporary(_: float) -> Measured:
    size = compiled().memory_analysis().temp_size_in_bytes / 2**20
    return Measured(size, _LIMIT, _LIMIT / size, "temporary memory of the compiled tile")


ROWS = (
    Row("memory", "dpjax after a 16th of the trials", "MiB at the peak", 0.95, _peak),
    Row("memory-tile", "the limit of a tile", "MiB", 1.0, _temporary),
)
