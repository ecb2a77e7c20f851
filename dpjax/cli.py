"""The command line: measure, learn, plan, look."""

import contextlib
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import tyro

from dpjax.checks import InputError
from dpjax.experiments.config import Curve, load


@dataclass
class CurveCommand:
    """Measure how many samples learners need.

    Sweeps n for every learner, k and epsilon; finds n* with an error guarantee; draws success probability against n
    with simultaneous bands, n* against k, and the theorems' numbers. What is already in --out is not computed again:
    run the same command to go on after an interruption.

    Example: dpjax curve configs/demo.toml --out results/demo --sweep.epsilon 0.5 1
    """

    config: tyro.conf.Positional[Path | None] = None
    """A TOML file; every flag below overrides it."""
    measure: Annotated[Curve, tyro.conf.arg(name="")] = field(default_factory=Curve)
    out: Path = Path("results")
    """Directory of the store, the result and the figure."""
    devices: int | None = None
    """Split the CPU into so many devices; by default one a core. Never changes a result."""
    in_flight: int | None = None
    """Tiles under way at once; by default one a device. Never changes a result."""
    formats: tuple[str, ...] = ("png", "svg")
    """Formats of the figure: png, svg, pdf; none for no figure."""
    compile_cache: Path | None = None
    """Keep compiled programs here for the next run (JAX's persistent cache)."""
    json: bool = False
    """Print one JSON object on standard output and nothing else there."""


@dataclass
class LearnCommand:
    """Learn from your own table, privately, and see what privacy cost.

    One feature with k targets, or k features with one target, each a concept. Bounds and grid are public: you give
    them, they are never read from the data. Prints the hypothesis of one run on all rows, the guarantee, and held-out
    errors over keyed random splits beside the non-private learner's (these errors are for study: they are not private).

    Example: dpjax learn patients.csv --features "mean radius" --target benign --bounds "mean radius=0:40"
    """

    table: tyro.conf.Positional[Path]
    """A CSV file with a header."""
    features: tuple[str, ...] = ()
    """Columns of numbers to learn from."""
    target: tuple[str, ...] = ()
    """Columns of labels 0/1."""
    bounds: tuple[str, ...] = ()
    """For every feature: name=low:high."""
    bits: int = 16
    """The grid has 2**bits cells between the bounds."""
    flip: tuple[str, ...] = ()
    """Features whose large values mean 1."""
    clip: bool = False
    """Move values outside the bounds to the nearest bound instead of refusing them."""
    concepts: str = "thresholds"
    """The class: thresholds or points."""
    learner: str = "kln-optimal"
    """A name from `dpjax list`."""
    epsilon: float = 1.0
    """Privacy budget."""
    delta: float = 1e-6
    """The other half of the budget."""
    alpha: float = 0.1
    """Accuracy that the learner aims at."""
    beta: float = 0.1
    """Failure probability that the learner aims at."""
    trials: int = 1000
    """Random splits."""
    test_share: float = 0.3
    """Share of the rows held out in each split."""
    seed: int = 0
    """Root of every random number."""
    json: bool = False
    """Print one JSON object on standard output and nothing else there."""


@dataclass
class PlanCommand:
    """Print the theorems' sample sizes and the guarantees of a configuration, without running anything.

    Example: dpjax plan configs/demo.toml --sweep.k 1 100
    """

    config: tyro.conf.Positional[Path | None] = None
    """A TOML file; every flag below overrides it."""
    measure: Annotated[Curve, tyro.conf.arg(name="")] = field(default_factory=Curve)
    json: bool = False
    """Print one JSON object on standard output and nothing else there."""


@dataclass
class ListCommand:
    """List learners and mechanisms with what they guarantee."""

    json: bool = False
    """Print one JSON object on standard output and nothing else there."""


@dataclass
class StatusCommand:
    """Say what a result directory holds, and which of its files are broken.

    Example: dpjax status results
    """

    out: tyro.conf.Positional[Path] = Path("results")
    """The directory given to `dpjax curve --out`."""
    json: bool = False
    """Print one JSON object on standard output and nothing else there."""


@dataclass
class BenchCommand:
    """Measure dpjax against its peers, as ratios in one run. Needs the extra dpjax[bench]."""

    rows: tyro.conf.Positional[tuple[str, ...]] = ()
    """Names of rows; all by default."""
    quick: bool = False
    """Fewer repetitions."""
    json: bool = False
    """Print one JSON object on standard output and nothing else there."""


COMMANDS = {
    "curve": CurveCommand, "learn": LearnCommand, "plan": PlanCommand,
    "list": ListCommand, "status": StatusCommand, "bench": BenchCommand,
}  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; returns the exit status: 0 done, 2 unusable input, 130 interrupted."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        command = _parse(given)
        answer, show = _action(command)(command)
    except InputError as error:
        print(f"dpjax: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("dpjax: interrupted; what was computed is stored, run the same command to go on", file=sys.stderr)
        return 130
    with contextlib.suppress(BrokenPipeError):
        if command.json:
            print(json.dumps(answer, allow_nan=False))
        else:
            show()
        sys.stdout.flush()
    return 0


def _action(command: Any) -> Any:
    from dpjax import commands  # imports JAX, which --help does not need

    name = next(name for name, kind in COMMANDS.items() if type(command) is kind)
    return getattr(commands, {"list": "list_"}.get(name, name))


def _parse(given: list[str]) -> Any:
    """The command, with a TOML file's values as the defaults of its flags."""
    defaults: dict[str, Any] = {}
    if given[:1] in (["curve"], ["plan"]):
        files = [argument for argument in given[1:] if argument.endswith(".toml")]
        if files:
            defaults["measure"] = load(files[0])
    commands = {}
    for name, kind in COMMANDS.items():
        default = kind(**defaults) if defaults and name == given[0] else None
        note = tyro.conf.subcommand(name, default=default) if default else tyro.conf.subcommand(name)
        commands[name] = Annotated[kind, note]
    union = commands["curve"]
    for name in list(commands)[1:]:
        union = union | commands[name]
    try:
        return tyro.cli(union, prog="dpjax", description=_DESCRIPTION, args=given, config=(tyro.conf.FlagCreatePairsOff, tyro.conf.AvoidSubcommands))
    except ValueError as error:  # pydantic's errors in overriding flags
        raise InputError("flags", "values of the right kind", str(error), "see --help") from error


_DESCRIPTION = (
    "The wind tunnel of private learning theory: run private PAC learners thousands of times, with explicit keys, "
    "and measure what their theorems hide in O(.). A simulator: not for the release of sensitive data."
)

if __name__ == "__main__":
    sys.exit(main())
