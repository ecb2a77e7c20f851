"""# Every learner on an H200

How many trials a second of each learner a GPU computes, beside one core of its host, as a fraction of what the device
can do, and what was changed because of it. Outcomes are equal to the byte; one compiler made them differ, and dpjax
refuses that compiler.

Run: python scripts/gpu.py [--out FOLDER]
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pages import options, table, write_page

FOLDER = Path(__file__).parents[1] / "benchmarks" / "measured" / "h200"
Record = dict[str, Any]
Key = tuple[str, int, int | None, int | None]

TEXT = """\
At 1024 rows an H200 computes each of {learners} learners at least {least} times as fast as one core of its host, half
of them at least {half} times, and with the outcomes of the core in every trial that was compared.

{device} Its assembler is that of CUDA 13.5. The host is an Intel Xeon of 16 cores: four were measured at once,
each for itself, while the others compiled, for which launches of kernels wait, too. The same program measured on two
days differed by up to a factor of {apart}, in the middle by {typical}: learners with loops, and those that take
milliseconds. "Two cores" are those of a small machine of another kind, both of them busy. Trials are those of `dpjax
curve`: data, learner and error at epsilon = 1, delta = 1e-6. Missing are `PolygonLearner` at 16384 rows and most
blocks of 16384 trials: the time was up.

`python -m benchmarks accelerator --out FOLDER` measures any device, in a given time and a tenth. Made by `python
scripts/gpu.py` from what it measured, which is in `benchmarks/measured`.

## What to expect

- **A study of 11 million trials took 44 seconds, and 20 once its programs were on disk**: compilation was more than
  half. Two learners of thresholds over 2^20, three epsilons, nine n of 200,000 trials each and a search for n\\*, eight
  programs (`dpjax curve configs/ten_million.toml`, twice, which printed `benchmarks/measured/h200/study.txt`). Of a
  trial one byte is transferred.
- **A statistical audit of 181 million runs took {audit} seconds** (`dpjax audit kln-zcdp --method statistical
  --trials 100000000`), beside other programs.
- **Compilation takes most of a short study**:
  {compiled}
  A program of the same learner with another epsilon, alpha or n of the same capacity is the same program.
- **Where it does not pay**: a study whose trials take a CPU only some seconds, since its programs take as long to
  compile for a GPU; and long loops over few rows, as in `ConjunctionLearner` at 200.
- **`UnionLearner` as it is by default** is not in the tables, but with `Pieces` alone. By `SlabWedges` alone it has
  {wedges} trials a second at 200 rows, d = 63, where a core of the small machine computes {wedges_core}; other
  outcomes: {wedges_other}. A block of 4096 trials takes {wedges_memory} GiB.
- **`Irreducibility`** is in the tables as it was then, with tables on the device. Since then its lists are made on the
  host, which no table shows and no GPU has run.

"Share" below is the part of the time that the random words, exponentials, logarithms and sorts of a trial would take
at the ceilings, with the bytes of arguments and results. Additions, comparisons and gathers are not counted, and a
loop whose length depends on the data counts once: a low share need not mean a slow program.

## What was slow

A loop whose length depends on the data returns to the host after every pass. Three changes followed:

- Keys of several columns are sorted as one word, of which XLA makes a radix sort on a GPU.
- A learner's passes no longer make the blocks of a device smaller. At 16384 rows, with 256 and then 1024 trials in a
  block: `Boosted(KLN)` {boosted} trials a second, `ConjunctionLearner` {conjunctions}.
- XLA can keep loops on the GPU, as graphs:
```
export XLA_FLAGS=--xla_gpu_enable_command_buffer=+WHILE,+CONDITIONAL
```
The flag changes no outcome, and is no part of a result's identity. Trials a second at 1024 rows on the first of the
two days, twice without it:

{graphs}
Besides, a limb of a bit string is chosen, not gathered. XLA computed gathers at places known beforehand while it
compiled, on the host: programs of thresholds with 4096 trials of 1024 rows in a block compile on two cores in 4.6 to 11
seconds in place of 11 to 16. The tables are from before this change.

## A compiler that loses a sign

With the assembler of CUDA 13.0, `HashedPoints` drew other hypotheses on the GPU than on the CPU in 235 of 256 trials.
Its scores are negated errors; the assembler of NVIDIA's toolkit, `ptxas`, compiled max(max(-a, -b), -c) of 32-bit
integers to one instruction that reads b in place of -b ([reported for
PyTorch](https://github.com/pytorch/pytorch/issues/190973)). The largest score was wrong, so were the weights, and
rejection sampling gave up. The versions of CUDA 12.6, 12.9, 13.0, 13.1, 13.2 and 13.3 do so for compute capability
9.0, and that of 13.0 for 10.0, too; those of 12.0, 12.4, 13.4 and 13.5 do not (by disassembly of what
`dpjax.core.compilers` computes). A law that is drawn so is not the one that was audited. Before its first draw on a
device that is no CPU, a process computes the expression and refuses a device that gets it wrong
(`dpjax.core.compilers`). JAX uses the assembler of the package `nvidia-cuda-nvcc`, if it is installed:
```
pip install "nvidia-cuda-nvcc>=13.4"
```

## Trials a second

In "block, MiB" is the temporary memory of a block of trials; "other outcomes" counts trials whose stored byte differs
from the CPU's; loops are those of the compiled program whose length is not known beforehand.
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Writes the page."""
    out = options(__doc__, 0, 1, arguments).out
    text = TEXT
    for name, value in numbers().items():
        text = text.replace(f"{{{name}}}", value)
    now = read("gpu")
    parts = [__doc__.partition("\n\nRun:")[0], text, f"### Ceilings\n\n{ceilings()}"]
    parts += [f"### {rows} rows\n\n{beside(rows)}" for rows in (200, 1024, 16384)]
    parts += [f"### 64 concepts, 1024 rows\n\n{many(now)}"]
    parts += [f"### Trials of a block\n\n{blocks(now)}", f"### Kernels of a block\n\n{kernels()}"]
    write_page(out / "gpu.md", "\n\n".join(part.strip("\n") for part in parts))


def numbers() -> dict[str, str]:
    """What the text says of the measurements."""
    now, core, earlier = read("gpu"), read("cpu"), read("earlier")
    usual = [key for key in now if key[1:] == (1024, None, None) and key in core]
    ratios = sorted(int(faster(now[key], core[key])) for key in usual)
    (audit,) = [one for one in lines(FOLDER / "gpu.jsonl") if str(one.get("command")).endswith("100000000")]
    same = [key for key, one in earlier.items() if now[key]["trials_of_block"] == one["trials_of_block"]]
    apart = sorted(max(two, 1 / two) for two in (faster(now[key], earlier[key]) for key in same))
    large = [(name, 16384, None, None) for name in ("Boosted(KLN)", "ConjunctionLearner(literals=3)")]
    speeds = [[f"{round(one[key]['trials_per_s'], -1):,.0f}" for one in (earlier, now)] for key in large]
    wedges, on_core = lines(FOLDER / "wedges.jsonl")
    return {
        "device": "{device}, driver {driver}, JAX {jax}, {date}.".format_map(
            json.loads((FOLDER / "device.json").read_text())
        ),
        "learners": str(len(ratios)),
        "least": str(ratios[0]),
        "half": str(ratios[len(ratios) // 2]),
        "apart": f"{apart[-1]:.1f}",
        "typical": f"{apart[len(apart) // 2]:.2f}",
        "audit": f"{audit['seconds']:.0f}",
        "boosted": " and ".join(speeds[0]),
        "conjunctions": " and ".join(speeds[1]),
        "wedges": f"{wedges['trials_per_s']:.0f}",
        "wedges_core": f"{on_core['trials_per_s']:.0f}",
        "wedges_other": differing(wedges, on_core),
        "wedges_memory": f"{wedges['temporary_bytes'] / 2**30:.0f}",
        "compiled": compiled(),
        "graphs": graphs(),
    }


def faster(one: Record, other: Record) -> float:
    """How many times as many trials a second."""
    return one["trials_per_s"] / other["trials_per_s"]


def lines(path: Path) -> list[Record]:
    """The records of a file that did not fail."""
    return [one for one in map(json.loads, path.read_text().splitlines()) if "error" not in one]


def read(platform: str, profile: bool = False) -> dict[Key, Record]:
    """Those of tiles, by learner, rows, number of concepts and block."""
    kept = [one for one in lines(FOLDER / f"{platform}.jsonl") if one.get("profile") is profile]
    return {(one["learner"], one["rows"], one["k"], one["block"]): one for one in kept}


def limits(platform: str) -> dict[str, float]:
    """The ceilings, in units a second, by name."""
    return {one["ceiling"]: one["per_s"] for one in lines(FOLDER / f"{platform}.jsonl") if "ceiling" in one}


def ceilings() -> str:
    """Those of both devices."""
    device, core = limits("gpu"), limits("cpu")
    units = {one["ceiling"]: one["unit"] for one in lines(FOLDER / "gpu.jsonl") if "ceiling" in one}
    rows = [
        [name, units[name], f"{core[name]:.3g}", f"{device[name]:.3g}", f"{device[name] / core[name]:.3g}"]
        for name in units
    ]
    return table(["ceiling", "unit", "a core", "device", "ratio"], rows)


def share(one: Record, known: Mapping[str, float]) -> str:
    """The part of a trial's time that its amounts would take at the ceilings."""
    return f"{one['trials_per_s'] * sum(amount / known[name] for name, amount in one['demand'].items()):.2f}"


def graphs() -> str:
    """Trials a second with loops as graphs, beside the usual programs, measured with all learners and again."""
    usual, now = read("earlier"), read("gpu")
    found = {(one["learner"], one["label"]): one for one in lines(FOLDER / "graphs.jsonl")}
    rows = []
    for name, one in sorted((name, one) for (name, label), one in found.items() if label == "while"):
        before, again = usual[name, one["rows"], None, None], found.get((name, "default"))
        speeds = [f"{each['trials_per_s']:.3g}" if each else "" for each in (before, again, one)]
        rows.append([name, *speeds, differing(one, now[name, one["rows"], None, None])])
    return table(["learner", "usual", "again", "as graphs", "other outcomes"], rows)


def compiled() -> str:
    """Seconds of compilation on both devices."""
    parts = []
    for platform, where in (("gpu", "for the GPU"), ("cpu", "for a core")):
        seconds = sorted(one["compiled_s"] for one in read(platform).values())
        least, median, most = (round(seconds[at]) for at in (0, len(seconds) // 2, -1))
        parts.append(f"{least} to {most} seconds a program {where}, half of them up to {median}")
    return f"{parts[0]}; {parts[1]}."


def beside(rows: int) -> str:
    """Trials a second of cores and of the device, with the ratio, shares of the ceilings, and the outcomes."""
    device, core, small, cells = read("gpu"), read("cpu"), read("two-cores"), []
    known = limits("gpu"), limits("cpu")
    for key in sorted(key for key in device if key[1:] == (rows, None, None) and key in core):
        both = here, _ = device[key], core[key]
        speeds = [2 * small[key]["trials_per_s"], *(one["trials_per_s"] for one in reversed(both))]
        rates = [f"{speed:.3g}" for speed in (*speeds, faster(*both))]
        shares = [share(one, limit) for one, limit in zip(both, known, strict=True)]
        sizes = [f"{here['compiled_s']:.0f}", f"{here['temporary_bytes'] / 2**20:.0f}", here["loops"]]
        cells.append([key[0], here["concepts"], *rates, *shares, *sizes, differing(*both)])
    speeds = ["two cores", "a core of the host", "device", "device / core", "share, device", "share, core"]
    return table(["learner", "k", *speeds, "compilation, s", "block, MiB", "loops", "other outcomes"], cells)


def differing(one: Record, other: Record) -> str:
    """How many of the first trials have another outcome on the two devices."""
    first, second = bytes.fromhex(one["outcomes"]), bytes.fromhex(other["outcomes"])
    count = min(len(first), len(second))
    return f"{sum(a != b for a, b in zip(first[:count], second[:count], strict=True))} of {count}"


def many(records: dict[Key, Record]) -> str:
    """Trials and hypotheses a second for many concepts."""
    found = [(key[0], one) for key, one in sorted(records.items(), key=str) if key[1] == 1024 and key[2] is not None]
    rows = [[name, f"{one['trials_per_s']:.3g}", f"{one['trials_per_s'] * one['concepts']:.3g}"] for name, one in found]
    return table(["learner", "trials/s", "hypotheses/s"], rows)


def blocks(records: dict[Key, Record]) -> str:
    """Trials a second with blocks of several sizes."""
    names = sorted({key[0] for key in records if key[3] is not None})
    sizes = sorted({one["trials_of_block"] for key, one in records.items() if key[0] in names and key[1] == 1024})
    rows = []
    for name in names:
        found = {
            one["trials_of_block"]: one["trials_per_s"]
            for key, one in records.items()
            if key[0] == name and key[1:3] == (1024, None)
        }
        rows.append([name, *(f"{found[size]:.3g}" if size in found else "" for size in sizes)])
    return table(["learner", *(f"{size} trials" for size in sizes)], rows)


def kernels() -> str:
    """Kernels of a block of 1024 rows: how many are launched, how long the device computes, and the slowest."""
    rows = []
    for key, one in sorted(read("gpu", profile=True).items(), key=lambda item: -item[1]["busy_s"]):
        name, count, seconds = one["kernels"][0]
        slowest = f"{name}: {int(count)} in {1000 * seconds:.3g} ms"
        rows.append([key[0], one["trials_of_block"], one["launches"], f"{1000 * one['busy_s']:.3g}", slowest])
    return table(["learner", "trials", "kernels", "device, ms", "slowest"], rows)


if __name__ == "__main__":
    main()
