"""`dpjax status`: what a result directory holds."""

from rich.console import Console

from dpjax.cli import Answer
from dpjax.cli.arguments import StatusCommand
from dpjax.experiments.store import Store


def run(command: StatusCommand) -> Answer:
    """Counts cells and trials of a store and names its broken files."""
    with Store(command.out, read_only=True) as store:
        found = store.status()
    answer = {"cells": found.cells, "tiles": found.tiles, "trials": found.trials, "broken": list(found.broken)}

    def show() -> None:
        console = Console()
        console.print(f"{found.cells} cells, {found.tiles} tiles, {found.trials} trials")
        for path in found.broken:
            console.print(f"broken: {path} (move it away or delete it; the next run computes it again)")

    return answer, show
