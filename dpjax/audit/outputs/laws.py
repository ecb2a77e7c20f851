"""The laws of an output on the two databases of a report, and the event in it, for its figure."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from dpjax.audit.outputs.events import Event, Features, in_one, score
from dpjax.audit.outputs.naming import Naming

_BARS, _BINS, _NAMED = 24, 40, 6
_TAIL = 0.002  # of each end of the numbers that bins do not cover


def of_samples(events: Sequence[Event], naming: Naming, sides: tuple[Features, Features]) -> dict[str, Any]:
    """Fractions of the training runs with each output, or with the event's score in each bin.

    events: of a question, which differ in the threshold and the complement alone.

    Returns: ``axis``: what outcomes are; ``outcomes``: their names, or the edges of bins with one more entry; ``first``
    and ``second``: fractions; ``inside``: whether they belong to one of the events only.
    """
    event = events[0]
    if event.kind == "cells":
        codes, names = np.asarray(event.codes), naming.every(event)
        masses = [np.array([np.mean(np.asarray(side.code) == code) for code in codes]) for side in sides]
        return _listed(names, masses[0], masses[1], in_one([variant.cells()[0] for variant in events]))
    scores = [np.asarray(score(event, side), np.float64) for side in sides]
    both, threshold = np.concatenate(scores), float(event.threshold)
    finite = both[np.isfinite(both)]
    if not len(finite):
        return {}
    low, high = (float(np.quantile(finite, share)) for share in (_TAIL, 1 - _TAIL))
    width = max((high - low) / _BINS, 1e-12 * max(abs(low), abs(high), 1e-300))
    low = threshold - np.ceil((threshold - low) / width) * width if np.isfinite(threshold) else low
    edges = low + width * np.arange(_BINS + 2)
    middle = edges[:-1] + width / 2
    inside = in_one([(middle >= float(variant.threshold)) ^ bool(variant.complement) for variant in events])
    shift, axis = 0.0, "stated score" if event.kind == "stated" else "classifier's log-odds"
    if event.kind == "coordinate":
        shift, axis = float(naming.center[event.coordinate]), naming.names[event.coordinate]
    return {
        "axis": axis,
        "outcomes": (edges + shift).tolist(),
        **{
            name: (np.histogram(part, edges)[0] / len(part)).tolist()
            for name, part in zip(("first", "second"), scores, strict=True)
        },
        "inside": inside.tolist(),
    }


def swapped(laws: dict[str, Any], swap: bool) -> dict[str, Any]:
    """The laws in the order of a report's witness: first the database on which the event is more likely."""
    return {**laws, "first": laws["second"], "second": laws["first"]} if swap and laws else laws


def of_tables(names: list[str], log_p: np.ndarray, log_q: np.ndarray, epsilon: float) -> dict[str, Any]:
    """Exact laws; the event has the outcomes whose log-ratio is above epsilon, or the largest one if there are none."""
    loss = np.where(np.isneginf(log_p), -np.inf, log_p - np.where(np.isneginf(log_p), 0.0, log_q))
    inside = loss > min(epsilon, float(loss.max()) - 1e-9)
    return _listed(names, np.exp(log_p), np.exp(log_q), inside)


def words(found: dict[str, Any]) -> str:
    """The event of exact laws: the outcomes in it."""
    names = [name for name, inside in zip(found["outcomes"], found["inside"], strict=True) if inside]
    more = ", ..." * (len(names) > _NAMED)
    return f"output is {'one of ' * (len(names) > 1)}{', '.join(names[:_NAMED])}{more}"


def _listed(names: list[str], first: np.ndarray, second: np.ndarray, inside: np.ndarray) -> dict[str, Any]:
    """At most 24 outcomes, those of the event first, by decreasing mass; the others are added up."""
    order = np.lexsort((-(first + second), ~inside))
    kept, rest = order[:_BARS], order[_BARS:]
    parts = {"first": first[kept].tolist(), "second": second[kept].tolist(), "inside": inside[kept].tolist()}
    laws = {"axis": "output", "outcomes": [names[at] for at in kept], **parts}
    for of_event in (True, False):
        left = rest[inside[rest] == of_event]
        if len(left):
            laws["outcomes"].append(f"{len(left)} others")
            laws["first"].append(float(first[left].sum()))
            laws["second"].append(float(second[left].sum()))
            laws["inside"].append(of_event)
    return laws
