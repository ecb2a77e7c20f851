"""Results of studies and audits as their commands save them, with numbers made up by a formula."""

import json

import pytest

from dpjax.reports import figures
from tests.plots.conftest import make_result

POINTS = {"use": "Points", "fields": {"domain": {"use": "Domain", "fields": {"size": 2**32}}}}
SWEEP = {"delta": 1e-6, "alpha": 0.2, "beta": 0.1, "n": "search", "trials": 512, "points": 4, "fit_from": 1}
SEARCH = {"n_min": 16, "n_max": 8192, "gamma": 0.0, "confidence": 0.95, "steps_per_doubling": 8}


def make_study(learners=("point", "kln-basic"), ks=(1, 4), epsilons=(0.5, 1.0), **changes):
    """A result with everything that `run.run` writes."""
    data = make_result(learners, ks, epsilons)
    built = {
        name: {
            "by_k": {
                str(k): {
                    "use": "Independent",
                    "fields": {"k": k, "learner": {"use": "KLN", "fields": {"concepts": POINTS}}},
                }
                for k in ks
            }
        }
        for name in learners
    }
    task = {"concepts": POINTS, "targets": {"array": "<u4", "shape": [4, 2], "data": "x"}, "noise": 0.0}
    data["config"] = {
        "title": data["title"],
        "seed": data["seed"],
        "task": task,
        "learners": built,
        "sweep": SWEEP | {"k": list(ks), "epsilon": list(epsilons)},
        "search": SEARCH,
    }
    for place, row in enumerate(data["points"]):
        row |= {"cell": f"{place:064x}", "errors": {"0.5": 0.125, "0.9": 0.25}}
    for place, row in enumerate(data["n_star"]):
        row |= {"below": 31, "below_by": "packing, somewhere", "cells": {"100": "c" * 64, "64": f"{place:064x}"}}
    for row in data["exponents"]:
        row |= {"k_from": min(ks), "k_to": max(ks), "theorem": 1.0, "confidence": 0.9}
    data |= {"exponents_all_k": data["exponents"], "failures": [], "left": 0}
    return json.loads(json.dumps(data | changes))


def make_claim(target="laplace", verdict="consistent with the claim", **changes):
    """A report as `dpjax.audit.Report.to_dict` gives it."""
    return {
        "target": target,
        "calibration": "corrected",
        "method": "exact",
        "evidence": "all vectors of length 3",
        "claim": {"epsilon": 1.0, "delta": 0.0, "relation": "replace-one"},
        "epsilon_found": 0.75,
        "delta_found": 0.0,
        "confidence": 1.0,
        "witness": {"database": [0, 1], "neighbor": [0, 2]},
        "verdict": verdict,
        "curve": [[0.0, 0.5], [0.5, 0.125], [1.0, 0.0]],
        "outcomes": 7,
        "seconds": 1.5,
        "versions": {"dpjax": "0.1.0", "jax": "0.10.2"},
    } | changes


def make_audit(*claims, **changes):
    """An audit.json of --all."""
    return {"reports": list(claims), "left": 0, "confidence": 0.95} | changes


@pytest.fixture
def drawn_once(monkeypatch):
    """Each kind of figure is drawn once, and its file serves all later ones: drawing takes nearly all of the time."""
    files = {}

    def once(name, real):
        def draw(data, base, *rest, **how):
            path = base.with_suffix(".svg")
            if name not in files:
                files[name] = real(data, base, *rest, **how)[0].read_bytes()
            path.write_bytes(files[name])
            return [path]

        return draw

    for name in ("plot_curve", "plot_privacy"):
        monkeypatch.setattr(figures, name, once(name, getattr(figures, name)))


@pytest.fixture(scope="session")
def study():
    return make_study()
