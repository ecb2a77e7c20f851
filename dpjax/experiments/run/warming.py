"""The programs of a study, compiled ahead of time, for processes that read the same cache of programs later."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from dpjax.core import checks
from dpjax.experiments.run.cells import program_of
from dpjax.experiments.run.engine import Engine
from dpjax.experiments.run.forecast import forecast
from dpjax.experiments.sweep.capacity import capacity
from dpjax.experiments.sweep.setting import Setting
from dpjax.experiments.sweep.sweep import Line, Sweep


@dataclass(frozen=True)
class Warmed:
    """programs: of the study; compiled: those that no cache had; failures: (curve, n, error) of those that cannot be
    compiled, whose points will fail."""

    programs: int
    compiled: int
    failures: tuple[tuple[str, int, str], ...]


def settings_of(study: Sweep) -> list[tuple[Line, Setting]]:
    """A point for each curve and buffer of rows that the study comes to.

    The sample sizes of the curve; for a search those that it visits where the theorem's n is n*, and the others of its
    grid from the lower bound up to these: n* is between the two. A curve of which n* is elsewhere needs more programs.
    """
    found = []
    for forecasted in forecast(study).lines:
        line, sizes = forecasted.line, {visit.setting.n for visit in forecasted.visits}
        if study.search is not None:
            below = line.below()
            sizes |= {n for n in study.search.grid() if n <= max(sizes) and (below is None or below.n <= n)}
        buffers = {capacity(n): n for n in sorted(sizes)}
        found += [(line, replace(line.setting, n=n)) for n in buffers.values()]
    return found


def warm(
    study: Sweep, engine: Engine, threads: int, tell: Callable[[int, int], None] = lambda done, of: None
) -> Warmed:  # fmt: skip
    """Compiles every program of `settings_of`, or reads it from the cache of programs, and runs none.

    threads: how many at a time. tell: called with the number of points looked at, and of all.
    """
    points, before, done = settings_of(study), (engine.programs, engine.compiled), 0

    def one(line: Line, setting: Setting) -> tuple[str, int, str] | None:
        nonlocal done
        try:
            program, where = program_of(setting, engine.device)
            engine.load(program, setting.task, where)
        except checks.RAISED as error:
            return str(line), setting.n, f"{type(error).__name__}: {error}"
        finally:
            done += 1
            tell(done, len(points))
        return None

    with ThreadPoolExecutor(threads) as pool:
        failures = tuple(found for found in pool.map(one, *zip(*points, strict=True)) if found is not None)
    return Warmed(engine.programs - before[0], engine.compiled - before[1], failures)
