"""Runs a target many times on two neighbors: traced, in tiles on all devices, or sequentially on the host."""

import functools
import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.audit.outputs.encoding import Encoding
from dpjax.audit.outputs.events import Features, features, marks
from dpjax.audit.outputs.naming import Naming
from dpjax.audit.sampling.questions import Question
from dpjax.audit.target.known import Known
from dpjax.audit.target.neighbors import narrow, of_32_bits, require_kept, same_bytes
from dpjax.audit.target.target import Pair, Target
from dpjax.audit.watch import Work
from dpjax.core import keys
from dpjax.core.checks import InputError
from dpjax.core.types import Privacy
from dpjax.core.user_code import calling

_TILE = 1 << 16
_ON_DEVICES = 1 << 4  # times as many trials at once as on a CPU
_FIRST, _SECONDS = 8, 0.5  # runs in the first slice on the host, and the approximate time of later slices
_REPEATED = 10_000  # maximum number of host runs that are repeated to check that a seed determines the output
_EXAMPLES = 4  # runs on each database, from which code on the host is known to return numbers of a certain size


def _traced(
    key: Array,
    data: Any,
    both: Any,
    first: Array,
    plan: Any,
    *,
    run: Any,
    bitwise: bool,
    batch: int,
    count: int,
    known: Known | None,
) -> Features:
    """Features of ``count`` trials from index ``first`` on. both: the databases that ``known`` compares."""

    def one(trial: Array) -> Features:
        output = run(keys.of_trial(key, trial), data, plan)
        stated = None if known is None else known.score(output, both[0], both[1], plan)
        return replace(features(output, bitwise), stated=stated)

    return jax.lax.map(one, first + jnp.arange(count, dtype=jnp.uint32), batch_size=batch)


_STATIC = ("run", "bitwise", "batch", "count", "known")
_program = jax.jit(_traced, static_argnames=_STATIC)


@jax.jit
def _words(key: Array, trials: Array) -> Array:
    """The key data ``uint32[t, 2]`` that traced runs get in these trials."""
    return jax.vmap(lambda trial: jax.random.key_data(keys.of_trial(key, trial)))(trials)


@functools.partial(jax.jit, static_argnames=("known",))
def _stated(outputs: Any, both: Any, plan: Any, known: Known) -> Array:
    return jax.vmap(lambda output: known.score(output, both[0], both[1], plan))(outputs)


class Machine:
    """Runs the target in chunks of trials, on all local devices in turn or on the host.

    All trials on databases of one shape, for training and for testing, are chunks of one compiled program.
    """

    def __init__(
        self,
        target: Target,
        privacy: Privacy,
        seed: int,
        trials: int,
        training: int,
        bitwise: bool,
        purpose: str,
        work: Work,
    ):
        self.target, self.root, self.purpose, self.work = target, keys.root(seed), purpose, work
        self.tile = -(-trials // -(-trials // _TILE))  # fewest tiles, with few surplus trials
        at_once = target.at_once * (1 if jax.local_devices()[0].platform == "cpu" else _ON_DEVICES)
        self.training, batch = training, min(at_once, training)
        self.chunk = -(-min(training, _TILE) // batch) * batch  # whole batches: another size would need another program
        self.how: dict[str, Any] = {
            "run": target.run,
            "bitwise": bitwise,
            "batch": batch,
            "count": self.chunk,
            "known": target.known,
        }
        self.plan = target.plan(privacy) if target.host else jax.tree.map(jnp.asarray, target.plan(privacy))
        self.namings: dict[int, Naming] = {}
        self.encodings: dict[int, Encoding] = {}
        self.remarks: dict[str, str] = {}
        self._slice = _FIRST

    def outputs(self, pair: Pair, number: int) -> tuple[Features, Features]:
        """Training trials on both databases."""
        trials, both = [], self._databases(pair)
        of_sides = [keys.stream(self.root, f"{self.purpose} {number} {side}") for side in (0, 1)]
        if self.target.host:
            self.encodings[number] = self._encoding(of_sides, both)
            self.namings[number] = self.encodings[number].naming
        else:
            self.namings[number] = self._checked(pair)
        for side, (key, data) in enumerate(zip(of_sides, both, strict=True)):
            with jax.default_device(jax.local_devices()[0]):  # as in `count`: the device is part of the cache key
                seen = self._trained(_program, key, data, both, self.training, number)
                if number == side == 0 and self.target.repeatable:
                    self._check_repeats(seen, key, data, both)
            trials.append(seen)
        partial = any(np.isinf(side.numbers).any() for side in trials)
        self.namings[number] = replace(self.namings[number], partial=partial)
        if self.target.host:
            self._remember(self.encodings[number], trials)
        return trials[0], trials[1]

    def _encoding(self, of_sides: Sequence[Array], both: tuple[Any, Any]) -> Encoding:
        """From a few runs on both databases, which are those of the first trials of the training."""
        assert self.target.host is not None
        examples: list[Any] = []
        for key, data in zip(of_sides, both, strict=True):
            words = np.asarray(_words(key, np.arange(self.chunk, dtype=np.uint32)))[:_EXAMPLES]
            examples += _called(self.target.host, words, data, self.plan)
        return Encoding(examples, self.how["bitwise"])

    def _remember(self, encoding: Encoding, sides: Sequence[Features]) -> None:
        """What the report says about how outputs are read. InputError for code that raises in every run."""
        codes, numbers = (np.concatenate([getattr(side, name) for side in sides]) for name in ("code", "numbers"))
        if len(np.unique(codes)) == 1 and encoding.raised:
            raise next(iter(encoding.raised.values())).fault()
        for name, remark in (("read", encoding.remark), ("rounding", encoding.merged(codes, numbers))):
            if remark:
                self.remarks[name] = remark

    def said(self) -> dict[str, str]:
        """What the report says about outputs: exceptions of all runs, how outputs are read, what rounding does."""
        raised = {name: fault for encoding in self.encodings.values() for name, fault in encoding.raised.items()}
        words = [f"{name}: {fault.error}, for example with the seed {fault.seed}" for name, fault in raised.items()]
        return {**({"raised": "; ".join(words)} if words else {}), **self.remarks}

    def count(
        self, questions: Sequence[Question], pair: Pair, number: int, trials: tuple[int, int]
    ) -> Iterator[list[tuple[np.ndarray, np.ndarray]]]:
        """Per question: the marks of its events, ``uint8[t]``, on both databases in fresh trials, tile by tile.

        trials: on each database. All questions are answered by the same trials. A few tiles run concurrently.
        """
        both = self._databases(pair)
        sides = [(keys.stream(self.root, f"fresh {side}"), data, both) for side, data in enumerate(both)]
        devices = itertools.cycle(jax.local_devices()[: 1 if self.target.host else None])
        waiting: list[tuple[list[int], list[list[list[Array]]]]] = []
        for first in range(0, max(trials), self.tile):
            stops = [min(count, first + self.tile) for count in trials]
            with jax.default_device(next(devices)):
                seen = [
                    [*self._chunks(_program, *side, first, stop, number)]
                    for side, stop in zip(sides, stops, strict=True)
                ]
                block = [[[marks(question.events, part) for part in parts] for parts in seen] for question in questions]
            waiting.append(([max(0, stop - first) for stop in stops], block))
            if len(waiting) > 2 * len(jax.local_devices()):
                yield self._marks(*waiting.pop(0))
        for tile in waiting:
            yield self._marks(*tile)

    def _marks(self, counts: list[int], found: list[list[list[Array]]]) -> list[tuple[np.ndarray, np.ndarray]]:
        none = np.zeros(0, np.uint8)
        tile = [
            [np.concatenate([none, *parts])[:count] for parts, count in zip(sides, counts, strict=True)]
            for sides in found
        ]
        if not self.target.host:
            self.work.did(sum(counts))
        return [(first, second) for first, second in tile]

    def _chunks(
        self, program: Any, key: Array, data: Any, both: Any, first: int, stop: int, number: int
    ) -> Iterator[Features]:
        for at in range(first, stop, self.chunk):
            if self.target.host:
                yield self._on_host(key, data, both, at, min(stop, at + self.chunk), self.encodings[number])
            else:
                yield _call(program, key, data, both, jnp.uint32(at), self.plan, **self.how)

    def _trained(self, program: Any, key: Array, data: Any, both: Any, count: int, number: int) -> Features:
        blocks = []
        self.work.did(0)  # excludes earlier work from the time of a chunk
        chunks = self._chunks(program, key, data, both, 0, count, number)
        for at, chunk in zip(range(0, count, self.chunk), chunks, strict=True):
            blocks.append(jax.tree.map(np.asarray, chunk))
            if not self.target.host:
                self.work.did(min(self.chunk, count - at))
        return jax.tree.map(lambda *parts: np.concatenate(parts)[:count], *blocks)

    def _on_host(self, key: Array, data: Any, both: Any, first: int, stop: int, encoding: Encoding) -> Features:
        """Runs trials first, ..., stop - 1 in slices; the slicing does not affect the outputs."""
        assert self.target.host is not None
        trials, known = np.arange(first, first + self.chunk, dtype=np.uint32), self.target.known
        words, blocks, usual, at = np.asarray(_words(key, trials))[: stop - first], [], [], 0
        scores = np.zeros(self.chunk, np.float32)
        while at < len(words):
            begin, part = time.perf_counter(), words[at : at + self._slice]
            outputs = _called(self.target.host, part, data, self.plan)
            blocks.append(encoding.read(outputs))
            if known is not None and encoding.in_arrays:
                rows, arrays = encoding.usual(outputs)
                usual.append((at + rows, arrays))
            elif known is not None:
                scores[at : at + len(part)] = known.of_objects(outputs)
            seconds = max(time.perf_counter() - begin, 1e-9)
            self._slice = max(1, min(4 * self._slice, int(len(part) * _SECONDS / seconds)))
            self.work.did(len(part))
            at += len(part)
        code, numbers = (_padded(np.concatenate(parts), self.chunk) for parts in zip(*blocks, strict=True))
        if known is not None and usual:
            scores = self._scores(usual, both, known)
        return jax.tree.map(jnp.asarray, Features(code, numbers, None if known is None else scores))  # type: ignore[arg-type]

    def _scores(self, usual: Sequence[tuple[np.ndarray, np.ndarray]], both: Any, known: Known) -> np.ndarray:
        """Scores of a chunk that were stated in advance; 0 for outputs that are no such arrays of numbers as most."""
        rows, arrays = (np.concatenate(parts) for parts in zip(*usual, strict=True))
        scores = np.zeros(self.chunk, np.float32)
        if len(rows):
            outputs = _padded(of_32_bits("function", arrays), self.chunk)
            scores[rows] = np.asarray(_call(_stated, outputs, both, self.plan, known=known))[: len(rows)]
        return scores

    def _databases(self, pair: Pair) -> tuple[Any, Any]:
        """Both databases, for a traced program in the types of 32 bits that it takes them in."""
        if self.target.host:
            return pair.first, pair.second
        return narrow("pair", pair.first), narrow("pair", pair.second)

    def _checked(self, pair: Pair) -> Naming:
        """Names of a traced output's numbers. InputError for one whose shape depends on the data, and for databases
        whose difference is lost in 32 bits."""
        require_kept("pair", pair.first, pair.second)
        key = keys.stream(self.root, "check")
        shapes = []
        for data in (pair.first, pair.second):
            run = lambda key, data: self.target.run(key, data, self.plan)  # noqa: E731
            shapes.append(_call(jax.eval_shape, run, key, data))
        if str(shapes[0]) != str(shapes[1]):
            advice = "pad the output: its shape would distinguish the databases"
            raise InputError("target", "outputs of one shape on all databases", " and ".join(map(str, shapes)), advice)
        return Naming.of(shapes[0], self.how["bitwise"])

    def _check_repeats(self, seen: Features, key: Array, data: Any, both: Any) -> None:
        """Raises InputError for a target that is not repeatable: reruns it, and retraces it if the program differs."""
        program, count = _program, repeats(self.target, self.training)
        if not self.target.host:
            anew = jax.jit(lambda *args, **how: _traced(*args, **how), static_argnames=_STATIC)
            args = key, data, both, jnp.uint32(0), self.plan
            texts = [version.lower(*args, **self.how).as_text().partition("\n")[2] for version in (_program, anew)]
            same = texts[0] == texts[1] and "callback" not in texts[0]  # the text does not show host code
            program = _program if same else anew
        if not np.array_equal(seen.code[:count], self._trained(program, key, data, both, count, 0).code):
            raise InputError(
                "target",
                "a pure function: the same randomness, the same output",
                "two different outputs",
                "draw all randomness from the seed or generator that it takes"
                if self.target.host
                else "draw all randomness from the key",
            )


def repeats(target: Target, training: int) -> int:
    """How many of the training runs are made twice to see that the randomness that is given determines outputs."""
    return min(training, _REPEATED if target.host else training) * target.repeatable


def _padded(rows: np.ndarray, count: int) -> np.ndarray:
    """``rows`` padded to ``count`` by repeating the last row, so that one compiled program reads them all."""
    return rows if len(rows) == count else np.concatenate([rows, np.repeat(rows[-1:], count - len(rows), axis=0)])


def _called(host: Callable[..., Sequence[Any]], words: np.ndarray, data: Any, plan: Any) -> Sequence[Any]:
    """The outputs of a slice on a copy of the database. InputError for code that changes the database it was given."""
    copy = jax.tree.map(np.array, data)
    outputs = _call(host, words, copy, plan)
    if not all(map(same_bytes, jax.tree.leaves(copy), jax.tree.leaves(data))):
        advice = "let each trial work on a copy of its own"
        raise InputError("target", "a host function that leaves its database as it is", "one that changes it", advice)
    return outputs


def _call(function: Callable[..., Any], *arguments: Any, **how: Any) -> Any:
    advice = "run it once by hand under jax.jit; a host function needs an adapter"
    with calling("target", "a jittable function (key, database, plan) -> arrays", advice):
        return function(*arguments, **how)
