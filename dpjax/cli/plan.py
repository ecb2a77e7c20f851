"""`dpjax plan`: theorems and guarantees of a configuration, without running it."""

from rich.console import Console

from dpjax.cli import Answer
from dpjax.cli.arguments import PlanCommand
from dpjax.experiments import sweep


def run(command: PlanCommand) -> Answer:
    """The theorem's n and the guarantee of every curve of a configuration."""
    found = sweep.lines(command.measure)
    rows = []
    for line in found:
        guarantee = line.guarantee()
        tree = None if guarantee is None else guarantee.to_dict()
        rows.append({**line.labels(), "theorem": line.theorem(), "guarantee": tree, "text": str(guarantee)})

    def show() -> None:
        console = Console()
        for row in rows:
            console.print(f"{row['learner']}, k = {row['k']}: theorem's n = {row['theorem']}", style="bold")
            text = row["text"] if row["guarantee"] is not None else "not private"
            console.print(text, markup=False, highlight=False, soft_wrap=True)

    return {"plan": rows}, show
