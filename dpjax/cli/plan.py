"""`dpjax plan`: theorems and guarantees of a configuration, without running it."""

from rich.console import Console

from dpjax.cli import Answer
from dpjax.cli.arguments import PlanCommand
from dpjax.cli.flags import study_of


def run(command: PlanCommand) -> Answer:
    """The theorem's n and the guarantee of every curve of a configuration."""
    rows = []
    for line in study_of(command).lines:
        guarantee = line.guarantee()
        tree = None if guarantee is None else guarantee.to_dict()
        rows.append({**line.labels(), "theorem": line.theorem(), "guarantee": tree, "text": str(guarantee)})

    def show() -> None:
        console = Console()
        for row in rows:
            title = f"{row['learner']}, k = {row['k']}, epsilon = {row['epsilon']:g}: theorem's n = {row['theorem']}"
            console.print(title, style="bold", markup=False)
            text = row["text"] if row["guarantee"] is not None else "not private"
            console.print(text, markup=False, highlight=False, soft_wrap=True)

    return {"plan": rows}, show
