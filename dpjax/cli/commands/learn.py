"""`dpjax learn`: hypotheses, guarantee and held-out errors on a user's table."""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import jax
import numpy as np

from dpjax import baselines
from dpjax.cli.arguments.tables import LearnCommand
from dpjax.cli.output import Answer
from dpjax.cli.output import console as screen
from dpjax.cli.parsing import declared
from dpjax.concepts import Cube, Hypothesis, Thresholds, areas
from dpjax.concepts.base import ConceptClass
from dpjax.core import checks, keys
from dpjax.core.checks import InputError
from dpjax.core.files import replace_file, require_new
from dpjax.core.members import implements
from dpjax.core.screen import Table as Printed
from dpjax.core.types import Accuracy, Neighboring, Privacy
from dpjax.experiments.config.builder import CONCEPTS, LEARNERS, Builder, concepts_of, parameters
from dpjax.experiments.config.calls import call
from dpjax.experiments.config.to_spec import spec_of
from dpjax.experiments.run.progress import Estimate
from dpjax.experiments.store.canonical import versions
from dpjax.learners.columns import for_concepts
from dpjax.papers.pages import about
from dpjax.tables import columns, grids, places, warn
from dpjax.tables.constant import Constant
from dpjax.tables.learned import Learned, check_rules
from dpjax.tables.reading import header
from dpjax.tables.sources import Form

_TRIALS, _SHAPE_TRIALS = 1000, 20
_BITS = 16
_GOAL = ("epsilon", "delta", "alpha", "beta")
_LOOSE = 10.0  # the epsilon of the comparison run
_Categories = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class _Request:
    """The task of the command: the table, the learner of its concepts, and numbers."""

    data: columns.Table
    placing: grids.Placing
    learner: Any
    privacy: Privacy
    accuracy: Accuracy
    trials: int
    test_rows: int
    seed: int
    unproved: str

    @cached_property
    def refused(self) -> str:
        """Why the class does not list its concepts, although it has a method for this; empty if it does."""
        concepts = self.learner.concepts
        try:
            if implements(concepts, ConceptClass.pieces):
                jax.eval_shape(baselines.ERM(concepts).learn, keys.root(0), self.data.sample(), None)
        except InputError as error:
            return str(error)
        return ""

    def measured(self) -> tuple[dict[str, np.ndarray], Hypothesis]:
        """Held-out errors of the learner, its baselines and the best constant, and the hypotheses from all rows."""
        concepts, done = self.learner.concepts, 0
        with_erm = implements(concepts, ConceptClass.pieces) and not self.refused
        runs = 1 + self.trials * (1 if with_erm else 2)

        def finished(trials: int) -> None:
            nonlocal done
            done += trials
            tell(done, runs, "runs of the learner")

        def held_out(learners: Mapping[str, Any], privacy: Privacy) -> dict[str, np.ndarray]:
            return columns.held_out(
                learners, self.data, privacy, self.accuracy, self.seed, self.trials, self.test_rows, finished
            )

        def learned() -> Hypothesis:
            result = columns.learn_all(self.learner, self.data, self.privacy, self.accuracy, self.seed)
            finished(1)
            return result

        with Estimate() as tell:
            finished(0)
            if with_erm:
                twin = self.learner.with_weak(baselines.ERM(concepts))
                others = {"not_private": twin, "constant": Constant(concepts)}
                return held_out({"private": self.learner, **others}, self.privacy), learned()
            result = held_out({"private": self.learner, "constant": Constant(concepts)}, self.privacy)
            loose = held_out({"private": self.learner}, Privacy(_LOOSE, self.privacy.delta))
            errors = {"private": result["private"], f"epsilon_{_LOOSE:g}": loose["private"]}
            return errors | {"constant": result["constant"]}, learned()


def run(command: LearnCommand) -> Answer:
    """Learns from a table; the answer holds hypotheses, guarantee, held-out errors and warnings."""
    request = _request(command)
    data, learner, rows = request.data, request.learner, len(request.data.y)
    guarantee = learner.guarantee(columns.plan_for(learner, request.privacy, request.accuracy, rows))
    guarantee = None if request.unproved else guarantee
    errors, hypothesis = request.measured()
    learned = Learned(learner, learner.concepts.trimmed(hypothesis), request.placing, data.names, command.positive)
    rules = learned.rules()
    goal = {name: getattr(command, name) for name in _GOAL}
    claim = None if guarantee is None else guarantee.to_dict()
    released = {"versions": versions(), **goal, "guarantee": claim, "concepts": rules}
    if request.placing.shape:
        released["box"] = list(command.box)
    told = [{**rule, **_spread(errors, j, request.test_rows)} for j, rule in enumerate(rules)]
    needed = warn.rows_needed(learner, request.privacy, request.accuracy)

    def advice(j: int) -> str:
        text, flip = data.grids[j].category is not None, data.grids[j].flip
        if flip != text or not isinstance(learner.concepts, Thresholds):
            return ""
        return f"if {'the category means 0' if text else 'large values mean 1'}, give --flip for the feature"

    alone = f"no learner without privacy is compared, {request.refused}" if request.refused else ""
    warnings = [*filter(None, [request.unproved, alone]), *data.notes, *needed.warnings(rows)]
    warnings += warn.of_errors(told, advice)
    answer = {**released, "table": str(command.table), "rows": rows, "dropped": data.dropped, "moved": data.moved}
    answer |= {"k": len(rules), "learner": command.learner, "positive": command.positive, "trials": request.trials}
    answer |= {"test_rows": request.test_rows, "bits": max(grid.bits for grid in request.placing.grids)}
    answer |= {"seed": command.seed, "concepts": told, "sample_size": needed.rows, "delimiter": data.delimiter}
    answer |= {"categories": request.placing.categories, "warnings": warnings}
    if command.out is not None:
        answer["files"] = _kept(command, answer, released, learned, data)
    return answer, lambda: _show(command, answer, guarantee)


def _request(command: LearnCommand) -> _Request:
    """Validates all input before anything runs."""
    privacy = Privacy(checks.epsilon(command.epsilon), checks.delta(command.delta))
    accuracy = Accuracy(checks.probability("alpha", command.alpha), checks.probability("beta", command.beta))
    checks.probability("test_share", command.test_share)
    checks.integer("seed", command.seed, 0, 2**32 - 1)
    if command.trials is not None:
        checks.integer("trials", command.trials, 1)
    form = Form(command.delimiter, command.encoding, command.missing, command.comment)
    builder = Builder(command.imports)
    maker = builder.find("learner", call("learner", command.learner)["use"], LEARNERS)
    usual = (concepts_of(maker) if callable(maker) else None) or "Thresholds"
    kind = usual if command.concepts is None else command.concepts
    shape = "d" in parameters(builder.find("concepts", call("concepts", kind)["use"], CONCEPTS))
    cube = "dimension" in parameters(builder.find("concepts", call("concepts", kind)["use"], CONCEPTS))
    categories = grids.categories_of(command.categories, command.features)
    unproved = [name for name, texts in categories.items() if not texts]
    categories |= {name: columns.categories_in(command.table, name, form) for name in unproved}
    placing, targets = (_on_plane if shape else _on_cube if cube else _on_lines)(command, form, categories)
    data = columns.read(
        command.table, placing, targets, form, command.positive, clip=command.clip, drop_missing=command.drop_missing
    )
    within = builder.knowing(d=2 ** placing.grids[0].bits - 1) if shape else builder.knowing(domain=placing.domain)
    if isinstance(placing.domain, Cube):
        within = builder.knowing(dimension=placing.domain.dimension)
    concepts = within.build("concepts", kind, CONCEPTS)
    rows, k = data.y.shape
    if rows < 2:
        raise InputError("table", "at least two rows, one to hold out", str(rows), "check the file")
    within = within.knowing(concepts=concepts, k=k)
    learner = _learner(command, within, k)
    if placing.rule is not None and not placing.cube:
        check_rules(concepts, placing)
    if data.own_points:
        columns.require_own_points(learner)
    if command.out is not None:
        spec_of(learner, "learner")
        for name in ("errors.json", "learned.json"):
            require_new(command.out / name, [command.table])
    trials = command.trials or (_SHAPE_TRIALS if shape else _TRIALS)
    test_rows = min(rows - 1, max(1, round(command.test_share * rows)))
    read = _unproved({name: placing.categories[name] for name in unproved})
    return _Request(data, placing, learner, privacy, accuracy, trials, test_rows, command.seed, read)


def _unproved(categories: _Categories) -> str:
    """Why there is no guarantee if these categories were read from the table; empty if none were."""
    if not categories:
        return ""
    names = ", ".join(map(repr, categories))
    flags = " ".join(shlex.quote(declared(name, texts)) for name, texts in categories.items())
    return (
        f"no privacy guarantee: the categories of {names} were read from the table, and the result names them; if they "
        f"are public knowledge, declare them: --categories {flags}"
    )


def _learner(command: LearnCommand, within: Builder, k: int) -> Any:
    """The learner of k concepts; if rows may be left out, one that is private although their number is not public."""

    def made(known: Builder) -> Any:
        return for_concepts(known.build("learner", command.learner, LEARNERS), k)

    if not command.drop_missing:
        return made(within)
    relation = Neighboring.ADD_OR_REMOVE_ONE
    try:
        learner = made(replace(within, instead={"neighboring": relation}))
    except InputError:
        learner = made(within)  # raises the specific error, if it is not the relation
    if learner.neighboring is not relation:
        expected = f"a learner that is private under {relation.value}"
        advice = "fill missing values in, or choose another learner, such as KLN: how many rows are left out is private"
        raise InputError("drop-missing", expected, f"one under {learner.neighboring.value}", advice)
    return learner


def _on_lines(command: LearnCommand, form: Form, categories: _Categories) -> tuple[grids.Placing, tuple[str, ...]]:
    if command.box:
        raise InputError("box", "none for a class over a line", repr(command.box), "give --bounds for every feature")
    return grids.on_lines(command.features, command.bounds, command.bits, command.flip, categories), command.target


def _on_cube(command: LearnCommand, form: Form, categories: _Categories) -> tuple[grids.Placing, tuple[str, ...]]:
    if command.box:
        raise InputError("box", "none for a class over a cube", repr(command.box), "give --bounds for every feature")
    if command.flip:
        advice = "leave it out: its concepts include negated coordinates"
        raise InputError("flip", "none for a class over a cube", repr(command.flip), advice)
    return grids.on_cube(command.features, command.bounds, command.bits, categories), command.target


def _on_plane(command: LearnCommand, form: Form, categories: _Categories) -> tuple[grids.Placing, tuple[str, ...]]:
    """The placing and targets of a shape; without column names the file must have three columns."""
    if command.bounds or command.flip or categories:
        raise InputError("bounds, flip and categories", "none for a shape", "some", "give --box X0 Y0 X1 Y1")
    if command.out is not None:
        areas.shapely_module()
    features, targets = command.features, command.target
    bits = _BITS if command.bits is None else command.bits
    placing = grids.on_plane(features, command.box, bits)
    if features or targets:
        return placing, targets
    names = header(command.table, form)
    if len(names) != 3:
        expected = "three columns x, y, label, or --features X Y --target LABEL"
        raise InputError("table", expected, f"{len(names)} columns", "name the columns")
    return grids.on_plane(names[:2], command.box, bits), (names[2],)


def _spread(errors: Mapping[str, np.ndarray], j: int, test_rows: int) -> dict[str, dict[str, float]]:
    """Mean and quantiles of each learner's held-out errors on concept j."""
    summaries = {}
    for name, counts in errors.items():
        share = counts[:, j] / test_rows
        low, high = (float(np.quantile(share, level)) for level in (0.05, 0.95))
        summaries[f"error_{name}"] = {"mean": float(share.mean()), "q05": low, "q95": high}
    return summaries


def _kept(
    command: LearnCommand, answer: dict[str, Any], released: dict[str, Any], learned: Learned, data: columns.Table
) -> list[str]:
    """Writes the hypotheses, the whole answer and, for a shape, its region and a picture; returns the paths."""
    assert command.out is not None
    concepts, files = learned.learner.concepts, []
    if implements(concepts, ConceptClass.halfplanes):
        from dpjax.plots.polygons import plot_polygon

        region = places.geometry(concepts, learned.hypothesis, learned.placing.grids)
        released, error = {**released, **region}, answer["concepts"][0]["error_private"]["mean"]
        answer |= region
        config = {name: answer[name] for name in ("learner", "rows", "bits", "box")}
        config |= {name: getattr(command, name) for name in _GOAL}
        files = plot_polygon(
            (concepts, learned.hypothesis),
            data.sample(),
            command.out / "learned",
            about(config, command.seed),
            f"{command.learner}: {data.names[0]}",
            f"{answer['rows']} rows, epsilon = {command.epsilon:g}: held-out "
            f"error {error:.3f}. Rows are shown: not private",
            box=places.box_of(learned.placing.grids),
        )
    try:
        released = {**released, "model": learned.to_dict()}
    except InputError as error:  # a hypothesis of a user-defined type; the results are kept
        answer["warnings"].append(f"`dpjax predict` cannot apply learned.json: {error}")
    for name, content in (("errors.json", answer), ("learned.json", released)):
        replace_file(command.out / name, json.dumps(content, indent=1, allow_nan=False).encode())
        files.insert(0, command.out / name)
    return [str(path) for path in files]


def _show(command: LearnCommand, answer: Mapping[str, Any], guarantee: Any) -> None:
    console = screen()

    def say(text: str) -> None:
        console.print(text, markup=False, highlight=False, soft_wrap=True)

    rows, k = answer["rows"], answer["k"]
    title = f"{command.learner} on {rows} rows, {k} concept{'s' if k > 1 else ''}"
    names = [name for name in answer["concepts"][0] if name.startswith("error_")]
    headings = {"error_private": "held-out error"}
    printed = Printed(title=title)
    for heading in ("concept", "hypothesis (all rows)"):
        printed.add_column(heading, overflow="fold")
    for name in names:
        printed.add_column(headings.get(name, name.removeprefix("error_").replace("_", " ")))
    for row in answer["concepts"]:
        spreads = (f"{row[name]['mean']:.3f} ({row[name]['q05']:.3f}-{row[name]['q95']:.3f})" for name in names)
        printed.add_row(row["concept"], row["rule"], *spreads)
    console.print(printed, markup=False)
    say(
        f"errors: means (5%-95%) over {answer['trials']} keyed splits, {answer['test_rows']} rows held out; "
        "they are not private"
    )
    if answer["delimiter"] not in (",", command.delimiter):
        say(f"the columns are separated by {answer['delimiter']!r}")
    for name, texts in answer["categories"].items():
        say(f"{name}: a column of 0 and 1 for each of its categories {', '.join(map(repr, texts))}")
    if command.bits is None and answer["bits"] != _BITS:
        say(f"grid: --bits {answer['bits']}, chosen so that all features fit")
    if command.positive is not None:
        say(f"label 1 is {command.positive!r}")
    if command.box:
        say(f"moved to the edge of the box: {answer['moved']} of {rows} rows; this is not private")
    elif command.clip:
        say(f"moved to the nearest bound: {answer['moved']} of {rows} rows; this is not private")
    if command.drop_missing:
        say(f"left out for missing values: {answer['dropped']} of {rows + answer['dropped']} rows; this is not private")
    for text in answer["warnings"]:
        say(f"warning: {text}")
    for path in answer.get("files", ()):
        say(f"written: {path}")
    say(str(guarantee) if guarantee is not None else "no privacy guarantee")
