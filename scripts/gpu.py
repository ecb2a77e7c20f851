"""# Every learner on an H200

How many trials a second of each learner a GPU computes, beside one core of its host: nearly all learners are faster by
more than an order of magnitude, and outcomes are equal to the byte, but for one learner that a faulty compiler changed;
dpjax refuses that compiler.

Run: python scripts/gpu.py [--out FOLDER]
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dpjax.papers.pages import options, table, write_page

MEASURED = Path(__file__).parents[1] / "benchmarks" / "measured"
FOLDERS = (MEASURED / "h200-1", MEASURED / "h200-2")
Record = dict[str, Any]
Key = tuple[str, int, int | None, int | None]

TEXT = """\
At 1024 rows an H200 computes 31 of 33 learners at least 50 times as fast as one core, half of them at least 365
times.

{device} The host is an Intel Xeon of 16 cores. Trials are those of `dpjax curve`: data, learner and error at
epsilon = 1, delta = 1e-6. "Device" is the first measurement, in the same ten minutes as the core's; "device, later"
is a second one after two changes: keys of several columns are sorted as one word, and blocks of learners that pass
over the rows many times have four times as many trials. Other programs were compiled on the host meanwhile, and
launches of kernels wait for it: where a block takes less than 3 ms, numbers of two measurements differ by up to a
factor of 2. JAX 0.11 is newer than the versions that this release accepts.

`python -m benchmarks accelerator --out FOLDER` measures any device, within a time that is given. Made by `python
scripts/gpu.py` from what it measured, which is in `benchmarks/measured`.

## What to expect

- **A study of 11 million trials took 47 seconds**, eight programs compiled among them: two learners of thresholds
  over 2^20, three epsilons, nine n of 200,000 trials each and a search for n\\* (`dpjax curve
  configs/ten_million.toml`, which printed `benchmarks/measured/h200-1/study.txt`).
- **Compilation takes most of a short study**: mostly 4 to 26 seconds a program, as on a CPU. A program of the same
  learner with another epsilon, alpha or n of the same capacity is the same program.
- **Where it does not pay**: a study whose trials take a CPU only some seconds, since its programs take as long to
  compile for a GPU.
- **Loops wait for the host.** A kernel of a loop whose length depends on the data is launched one by one. For
  `Boosted(KLN)` the device computed 14 of 70 ms: four times as many trials in a block made it five times as fast,
  to 161 times a core. `PolygonLearner` launches 95,000 kernels a block.

## A compiler that loses a sign

`HashedPoints` drew other hypotheses on the GPU than on the CPU in 235 of 256 trials. Its scores are negated errors;
the assembler of NVIDIA's toolkit, `ptxas`, compiled max(max(-a, -b), -c) of 32-bit integers to one instruction that
reads b in place of -b ([reported for PyTorch](https://github.com/pytorch/pytorch/issues/190973)). The largest score
was wrong, so were the weights, and rejection sampling gave up. The versions of CUDA 12.6, 12.9, 13.0, 13.1, 13.2
and 13.3 do so for compute capability 9.0, and that of 13.0 for 10.0, too; those of 12.0, 12.4, 13.4 and 13.5 do
not. A law that is drawn so is not the one that was audited. Before its first draw on a device that is no CPU, a
process computes the expression and refuses a device that gets it wrong (`dpjax.core.compilers`). JAX uses the
assembler of the package `nvidia-cuda-nvcc`, if it is installed:
```
pip install "nvidia-cuda-nvcc>=13.4"
```

## Trials a second

In "block, MiB" is the temporary memory of a block of trials; "other outcomes" counts trials whose stored byte
differs from the CPU's.
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Writes the page."""
    out = options(__doc__, 0, 1, arguments).out
    device = json.loads((FOLDERS[0] / "device.json").read_text())
    named = "{device}, driver {driver}, JAX {jax}, {date}.".format_map(device)
    latest: dict[Key, Record] = {}
    for folder in FOLDERS:
        latest |= read(folder, "gpu")
    parts = [__doc__.partition("\n\nRun:")[0], TEXT.replace("{device}", named)]
    parts += [f"### {rows} rows\n\n{beside(FOLDERS, rows)}" for rows in (200, 1024)]
    parts += [f"### 64 concepts, 1024 rows\n\n{many(latest)}", f"### Trials of a block\n\n{blocks(latest)}"]
    parts.append(f"### Kernels of a block\n\n{kernels(FOLDERS)}")
    write_page(out / "gpu.md", "\n\n".join(part.strip("\n") for part in parts))


def read(folder: Path, platform: str, profile: bool = False) -> dict[Key, Record]:
    """The records of a file that did not fail, by learner, rows, number of concepts and block."""
    path = folder / f"{platform}.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []
    kept = (one for one in lines if "error" not in one and one["profile"] == profile)
    return {(one["learner"], one["rows"], one["k"], one["block"]): one for one in kept}


def beside(folders: Sequence[Path], rows: int) -> str:
    """Trials a second of one core and of the device, for the first folder with their ratio, and the outcomes."""
    first, *others = [read(folder, "gpu") for folder in folders]
    cpu, lines = read(folders[0], "cpu"), []
    later = [one for one in others if any(key[1:] == (rows, None, None) for key in one)]
    for key, here in sorted(first.items()):
        core = cpu.get(key)
        if key[1:] != (rows, None, None) or core is None:
            continue
        ratio = here["trials_per_s"] / core["trials_per_s"]
        after = [f"{one[key]['trials_per_s']:.3g}" if key in one else "" for one in later]
        speeds = [f"{core['trials_per_s']:.3g}", f"{here['trials_per_s']:.3g}", f"{ratio:.3g}", *after]
        sizes = [f"{here['compiled_s']:.0f}", f"{here['temporary_bytes'] / 2**20:.0f}"]
        lines.append([key[0], here["concepts"], *speeds, *sizes, differing(here, core)])
    speeds = ["a core, trials/s", "device", "ratio", *["device, later"] * len(later)]
    return table(["learner", "k", *speeds, "compilation, s", "block, MiB", "other outcomes"], lines)


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


def kernels(folders: Sequence[Path]) -> str:
    """Kernels of a block of 1024 rows: how many are launched, how long the device computes, and the slowest."""
    records: dict[Key, Record] = {}
    for folder in folders:
        records |= read(folder, "gpu", profile=True)
    rows = []
    for key, one in sorted(records.items(), key=lambda item: -item[1]["busy_s"])[:8]:
        name, count, seconds = one["kernels"][0]
        slowest = f"{name}: {int(count)} in {1000 * seconds:.3g} ms"
        rows.append([key[0], one["trials_of_block"], one["launches"], f"{1000 * one['busy_s']:.3g}", slowest])
    return table(["learner", "trials", "kernels", "device, ms", "slowest"], rows)


if __name__ == "__main__":
    main()
