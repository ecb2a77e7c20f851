"""Flags of the commands: a dataclass for each, whose docstrings are the help texts. Imports no JAX."""

from dpjax.cli.arguments.ask import AskCommand
from dpjax.cli.arguments.attack import AttackCommand
from dpjax.cli.arguments.audit import AuditCommand
from dpjax.cli.arguments.bench import BenchCommand
from dpjax.cli.arguments.check import CheckCommand
from dpjax.cli.arguments.compact import CompactCommand
from dpjax.cli.arguments.compare import CompareCommand
from dpjax.cli.arguments.curve import CurveCommand
from dpjax.cli.arguments.dimension import DimensionCommand
from dpjax.cli.arguments.export import ExportCommand
from dpjax.cli.arguments.learn import LearnCommand
from dpjax.cli.arguments.list import ListCommand
from dpjax.cli.arguments.merge import MergeCommand
from dpjax.cli.arguments.new import NewCommand
from dpjax.cli.arguments.optimum import OptimumCommand
from dpjax.cli.arguments.plan import PlanCommand
from dpjax.cli.arguments.plot import PlotCommand
from dpjax.cli.arguments.predict import PredictCommand
from dpjax.cli.arguments.report import ReportCommand
from dpjax.cli.arguments.status import StatusCommand
from dpjax.cli.arguments.table import TableCommand
from dpjax.cli.arguments.theorem import TheoremCommand
from dpjax.cli.arguments.trial import TrialCommand

COMMANDS = {
    "curve": CurveCommand,
    "plot": PlotCommand,
    "trial": TrialCommand,
    "table": TableCommand,
    "learn": LearnCommand,
    "predict": PredictCommand,
    "plan": PlanCommand,
    "ask": AskCommand,
    "export": ExportCommand,
    "audit": AuditCommand,
    "list": ListCommand,
    "status": StatusCommand,
    "compare": CompareCommand,
    "bench": BenchCommand,
    "check": CheckCommand,
    "new": NewCommand,
    "dimension": DimensionCommand,
    "optimum": OptimumCommand,
    "attack": AttackCommand,
    "merge": MergeCommand,
    "report": ReportCommand,
    "compact": CompactCommand,
    "theorem": TheoremCommand,
}
