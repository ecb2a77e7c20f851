"""A study's result as arrays over learner, k, epsilon and n."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from dpjax.core.checks import InputError

_CURVE = ("learner", "k", "epsilon", "n")
_GOAL = ("delta", "alpha", "beta")
_OF_POINTS: dict[str, tuple[str, Callable[[Mapping[str, Any]], Any]]] = {
    "success": ("fraction of successful trials", lambda row: row["successes"] / row["trials"]),
    "lower": ("lower end of the simultaneous confidence band of success", lambda row: row["lower"]),
    "upper": ("upper end of the simultaneous confidence band of success", lambda row: row["upper"]),
    "successes": ("successful trials", lambda row: row["successes"]),
    "trials": ("trials", lambda row: row["trials"]),
    "no_answers": ("trials in which a concept got no answer", lambda row: row.get("no_answers")),
}
_OF_STARS = {
    "n_low": "lower end of the bracket of n*",
    "n_high": "upper end of the bracket of n*",
    "theorem": "sample size of the theorem",
    "below": "no private learner succeeds on every distribution below",
}
_COORDINATES = {
    "learner": "learner",
    "k": "number of concepts",
    "epsilon": "privacy parameter epsilon",
    "n": "sample size",
    "quantile": "level of the quantile of the largest error of a trial",
}
_UNITS = {"learner": None, "successes": "trials", "trials": "trials", "no_answers": "trials", "k": "concepts"} | {
    name: "examples" for name in ("n", *_OF_STARS)
}


def to_xarray(data: Mapping[str, Any]) -> Any:
    """The dataset of `Result.to_xarray`. data: as in `Result.data`."""
    try:
        import xarray
    except ImportError as error:
        raise InputError(
            "xarray", "an installed package", "none", "install it: pip install 'dpjax[export]', or pip install xarray"
        ) from error
    points, stars = data["points"], data["n_star"]
    axes = {name: _values([*points, *stars], name) for name in _CURVE[:3]} | {"n": _values(points, "n")}
    levels = sorted({float(level) for row in points for level in row.get("errors", {})})
    arrays: dict[str, Any] = {}
    for name, (_, read) in _OF_POINTS.items():
        arrays[name] = _CURVE, _filled(axes, _CURVE, points, read)
    for name in _OF_STARS:
        arrays[name] = _CURVE[:3], _filled(axes, _CURVE[:3], stars, partial(_entry, name))
    by_level = [_filled(axes, _CURVE, points, partial(_quantile, str(level))) for level in levels]
    shape = tuple(map(len, axes.values()))
    arrays["error"] = (*_CURVE, "quantile"), np.stack(by_level, -1) if levels else np.empty((*shape, 0))
    names = {name: text for name, (text, _) in _OF_POINTS.items()} | _OF_STARS
    names |= {"error": "largest error among the concepts: an upper end"} | _COORDINATES
    dataset = xarray.Dataset(arrays, {**axes, "quantile": levels}, _about(data))
    for name in map(str, dataset.variables):
        dataset[name].attrs = {"long_name": names[name]}
        if (unit := _UNITS.get(name, "1")) is not None:
            dataset[name].attrs["units"] = unit
    return dataset


def _entry(name: str, row: Mapping[str, Any]) -> Any:
    return row.get(name)


def _quantile(level: str, row: Mapping[str, Any]) -> Any:
    return row.get("errors", {}).get(level)


def _values(rows: Sequence[Mapping[str, Any]], name: str) -> list[Any]:
    """The values of an axis: learners in the order of the rows, numbers in ascending order."""
    values = list(dict.fromkeys(row[name] for row in rows))
    return values if name == "learner" else sorted(values)


def _filled(
    axes: Mapping[str, Sequence[Any]],
    names: Sequence[str],
    rows: Sequence[Mapping[str, Any]],
    read: Callable[[Any], Any],
) -> np.ndarray:
    """``float64`` over these axes, NaN where there is no row or no value; InputError if two rows have one place."""
    places = [{value: place for place, value in enumerate(axes[name])} for name in names]
    array = np.full([len(axes[name]) for name in names], np.nan)
    seen = set()
    for row in rows:
        where = tuple(place[row[name]] for place, name in zip(places, names, strict=True))
        if where in seen:
            actual = f"two rows of {row['learner']}"
            raise InputError("result", "one row for each learner, k, epsilon and n", actual, "use the tables instead")
        seen.add(where)
        array[where] = np.nan if (value := read(row)) is None else value
    return array


def _about(data: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of the dataset: title, seed, device, versions, and the goal that all rows share."""
    rows = [*data["points"], *data["n_star"]]
    about = {name: data[name] for name in ("title", "seed", "device") if data.get(name) is not None}
    about |= {f"version_{name}": version for name, version in data["versions"].items()}
    for name in _GOAL:
        values = {row[name] for row in rows}
        if len(values) > 1:
            raise InputError(
                name, "one value in the whole result", ", ".join(map(str, sorted(values))), "use the tables instead"
            )
        if values:
            about[name] = values.pop()
    return about
