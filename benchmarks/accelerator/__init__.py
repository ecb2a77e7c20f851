"""What is worth knowing of a GPU, in a given time: every learner's tile, beside single cores of the GPU's host.

``python -m benchmarks accelerator --out FOLDER`` measures; `scripts/gpu.py` writes the page.
"""

import argparse
import os
import time
from pathlib import Path

from benchmarks.accelerator.processes import measure


def main(arguments: list[str]) -> int:
    """Exit status: 0 if something was measured, 1 if nothing was, 2 for wrong arguments."""
    parser = argparse.ArgumentParser("python -m benchmarks accelerator", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="a folder for results; an earlier one is continued")
    parser.add_argument("--seconds", type=float, default=400, help="then none is begun; a tenth later they are killed")
    parser.add_argument("--processes", type=int, default=max(1, (os.cpu_count() or 1) - 5), help="that compile at once")
    parser.add_argument("--cores", type=int, default=4, help="of the host, measured one by one beside the device")
    asked = parser.parse_args(arguments)
    measure(asked.out, time.time() + asked.seconds, asked.processes, asked.cores)
    return 0 if any(asked.out.glob("*.jsonl")) else 1
