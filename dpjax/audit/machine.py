"""Runs a target many times on two neighbors: traced in tiles on all devices, or on the host one run after the other."""

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.audit.events import Chosen, Features, contains, features
from dpjax.audit.target import Pair, Target
from dpjax.audit.watch import Work
from dpjax.core import keys
from dpjax.core.checks import InputError
from dpjax.core.types import Privacy

_TILE = 1 << 16
_FIRST, _SECONDS = 8, 0.5  # runs of the first slice on the host, and about how long later ones take
_REPEATED = 10_000  # runs on the host, at most, that are repeated to see whether the same seed gives the same output
_Seen = tuple[Features, Array | np.ndarray]  # of trials, and how many NaN are in each output, ``int32[t]``


def _read(output: Any, bitwise: bool) -> tuple[Features, Array]:
    """Features of one output, and how many NaN are in it."""
    floats = [leaf for leaf in jax.tree.leaves(output) if jnp.issubdtype(leaf.dtype, jnp.floating)]
    bad = sum((jnp.sum(jnp.isnan(leaf), dtype=jnp.int32) for leaf in floats), jnp.int32(0))
    return features(output, bitwise), bad


def _traced(
    key: Array, data: Any, first: Array, plan: Any, *, run: Any, bitwise: bool, batch: int, count: int
) -> tuple[Features, Array]:
    """Features of ``count`` trials from number ``first`` on, and how many NaN are in each output."""

    def one(trial: Array) -> tuple[Features, Array]:
        return _read(run(keys.of_trial(key, trial), data, plan), bitwise)

    return jax.lax.map(one, first + jnp.arange(count, dtype=jnp.uint32), batch_size=batch)


_STATIC = ("run", "bitwise", "batch", "count")
_program = jax.jit(_traced, static_argnames=_STATIC)


@jax.jit
def _words(key: Array, trials: Array) -> Array:
    """The data ``uint32[t, 2]`` of the keys that traced runs get in these trials."""
    return jax.vmap(lambda trial: jax.random.key_data(keys.of_trial(key, trial)))(trials)


@jax.jit
def _plain(outputs: Any) -> _Seen:
    return jax.vmap(lambda output: _read(output, False))(outputs)


@jax.jit
def _with_bits(outputs: Any) -> _Seen:
    return jax.vmap(lambda output: _read(output, True))(outputs)


class Machine:
    """Runs the target in chunks of trials, on all local devices in turn or on the host.

    All trials on databases of one shape, those that choose events and fresh ones, are chunks of one compiled program.
    """

    def __init__(
        self, target: Target, privacy: Privacy, seed: int, trials: int, training: int, bitwise: bool, purpose: str,
        work: Work,
    ):  # fmt: skip
        self.target, self.root, self.purpose, self.work = target, keys.root(seed), purpose, work
        self.tile = -(-trials // -(-trials // _TILE))  # as few tiles as can be, and hardly a trial too many
        self.training, batch = training, min(target.at_once, training)
        self.chunk = -(-min(training, _TILE) // batch) * batch  # of whole batches: a shorter one is another program
        self.how: dict[str, Any] = {"run": target.run, "bitwise": bitwise, "batch": batch, "count": self.chunk}
        self.plan = target.plan(privacy) if target.host else jax.tree.map(jnp.asarray, target.plan(privacy))
        self.numbers, self._slice = 0, _FIRST

    def outputs(self, pair: Pair, number: int) -> tuple[Features, Features]:
        """Training trials on both sides."""
        if not self.target.host:
            self._check(pair)
        found = []
        for side, data in enumerate((pair.first, pair.second)):
            key = keys.stream(self.root, f"{self.purpose} {number} {side}")
            with jax.default_device(jax.local_devices()[0]):  # as `count` has it: programs are told apart by it
                seen, bad = self._trained(_program, key, data, self.training)
                if number == side == 0 and self.target.repeatable:
                    self._check_repeats(seen, key, data)
            if bad.any():
                raise InputError(
                    "target", "outputs without NaN",
                    f"NaN in {bad.sum()} places of {self.training} trials on {pair.show(data)}",
                    "return -1 or another code where there is no answer",
                )  # fmt: skip
            found.append(seen)
        self.numbers = found[0].numbers.shape[-1]
        if found[1].numbers.shape[-1] != self.numbers:
            raise _leaky(*(f"{side.numbers.shape[-1]} numbers" for side in found))
        return found[0], found[1]

    def count(self, chosen: Sequence[Chosen], pair: Pair, trials: int) -> Iterator[list[np.ndarray]]:
        """Of each event: how many fresh trials had (X, Y) = (0,0), (0,1), (1,0), (1,1), ``int64[4]``, tile by tile.

        X: the event on the database on which it is likelier. All events see the same trials. A few tiles are under way
        at once.
        """
        sides = [(keys.stream(self.root, f"fresh {side}"), data) for side, data in enumerate((pair.first, pair.second))]
        devices = itertools.cycle(jax.local_devices()[: 1 if self.target.host else None])
        waiting: list[tuple[int, list[list[list[Array]]]]] = []
        for first in range(0, trials, self.tile):
            stop = min(trials, first + self.tile)
            with jax.default_device(next(devices)):
                seen = [[features for features, _ in self._chunks(_program, *side, first, stop)] for side in sides]
                happened = [[[contains(one.event, part) for part in parts] for parts in seen] for one in chosen]
            waiting.append((stop - first, happened))
            if len(waiting) > 2 * len(jax.local_devices()):
                yield self._joint(chosen, *waiting.pop(0))
        for tile in waiting:
            yield self._joint(chosen, *tile)

    def _joint(self, chosen: Sequence[Chosen], trials: int, happened: list[list[list[Array]]]) -> list[np.ndarray]:
        found = []
        for one, sides in zip(chosen, happened, strict=True):
            x, y = (np.concatenate(parts)[:trials] for parts in (sides[::-1] if one.swapped else sides))
            found.append(np.bincount(2 * x.astype(np.int64) + y, minlength=4))
        if not self.target.host:
            self.work.did(2 * trials)
        return found

    def _chunks(self, program: Any, key: Array, data: Any, first: int, stop: int) -> Iterator[_Seen]:
        for at in range(first, stop, self.chunk):
            if self.target.host:
                yield self._on_host(key, data, at, min(stop, at + self.chunk))
            else:
                yield _call(program, key, data, jnp.uint32(at), self.plan, **self.how)

    def _trained(self, program: Any, key: Array, data: Any, count: int) -> tuple[Features, np.ndarray]:
        found = []
        self.work.did(0)  # what came before takes no part in the time of a chunk
        for at, chunk in zip(range(0, count, self.chunk), self._chunks(program, key, data, 0, count), strict=True):
            found.append(jax.tree.map(np.asarray, chunk))
            if not self.target.host:
                self.work.did(min(self.chunk, count - at))
        return jax.tree.map(lambda *parts: np.concatenate(parts)[:count], *found)

    def _on_host(self, key: Array, data: Any, first: int, stop: int) -> _Seen:
        """Trials first, ..., stop - 1, in slices; how they are cut changes no output."""
        assert self.target.host is not None
        trials = np.arange(first, first + self.chunk, dtype=np.uint32)
        words, found, at = np.asarray(_words(key, trials))[: stop - first], [], 0
        while at < len(words):
            begin, part = time.perf_counter(), words[at : at + self._slice]
            found.append(_call(self.target.host, part, data, self.plan))
            seconds = max(time.perf_counter() - begin, 1e-9)
            self._slice = max(1, min(4 * self._slice, int(len(part) * _SECONDS / seconds)))
            self.work.did(len(part))
            at += len(part)
        try:
            outputs = jax.tree.map(lambda *parts: _padded(np.concatenate(parts), self.chunk), *found)
        except ValueError as error:
            raise _leaky("some", "others") from error
        return (_with_bits if self.how["bitwise"] else _plain)(outputs)

    def _check(self, pair: Pair) -> None:
        """Refuses a target whose output changes its shape with the data."""
        key = keys.stream(self.root, "check")
        shapes = []
        for data in (pair.first, pair.second):
            run = lambda key, data: self.target.run(key, data, self.plan)  # noqa: E731
            shapes.append(_call(jax.eval_shape, run, key, data))
        if str(shapes[0]) != str(shapes[1]):
            raise _leaky(*map(str, shapes))

    def _check_repeats(self, seen: Features, key: Array, data: Any) -> None:
        """Refuses a target that does not repeat itself: run again, and traced anew where that is another program."""
        program, count = _program, self.training
        if self.target.host:
            count = min(count, _REPEATED)
        else:
            anew = jax.jit(lambda *given, **how: _traced(*given, **how), static_argnames=_STATIC)
            given = key, data, jnp.uint32(0), self.plan
            texts = [one.lower(*given, **self.how).as_text().partition("\n")[2] for one in (_program, anew)]
            same = texts[0] == texts[1] and "callback" not in texts[0]  # text says nothing of the host's code
            program = _program if same else anew
        self.work.more(count)
        if not np.array_equal(seen.code[:count], self._trained(program, key, data, count)[0].code):
            raise InputError(
                "target", "a pure function: the same key, the same output", "two different outputs for one key",
                "draw all randomness from the key",
            )  # fmt: skip


def _padded(rows: np.ndarray, count: int) -> np.ndarray:
    """``count`` rows, the last one repeated: one compiled program reads them all."""
    return rows if len(rows) == count else np.concatenate([rows, np.repeat(rows[-1:], count - len(rows), axis=0)])


def _leaky(one: str, other: str) -> InputError:
    return InputError(
        "target", "outputs of one shape on all databases", f"{one} and {other}",
        "pad the output: its shape would tell the databases apart",
    )  # fmt: skip


def _call(function: Callable[..., Any], *arguments: Any, **how: Any) -> Any:
    try:
        return function(*arguments, **how)
    except InputError:
        raise
    except Exception as error:  # whatever a person's own code raises
        raise InputError(
            "target", "a jittable function (key, database, plan) -> arrays", f"{type(error).__name__}: {error}",
            "run it once by hand under jax.jit; a host function needs an adapter",
        ) from error  # fmt: skip
