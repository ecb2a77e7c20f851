"""Flags of the commands: a dataclass for each, whose docstrings are the help texts. Imports no JAX."""

from dpjax.cli.arguments import privacy, results, studies, tables

COMMANDS = {
    "curve": studies.CurveCommand,
    "plot": results.PlotCommand,
    "trial": studies.TrialCommand,
    "table": studies.TableCommand,
    "learn": tables.LearnCommand,
    "predict": tables.PredictCommand,
    "plan": studies.PlanCommand,
    "ask": studies.AskCommand,
    "export": results.ExportCommand,
    "audit": privacy.AuditCommand,
    "list": tables.ListCommand,
    "status": results.StatusCommand,
    "compare": results.CompareCommand,
    "check": tables.CheckCommand,
    "new": tables.NewCommand,
    "dimension": privacy.DimensionCommand,
    "optimum": privacy.OptimumCommand,
    "atlas": privacy.AtlasCommand,
    "attack": privacy.AttackCommand,
    "merge": results.MergeCommand,
    "report": results.ReportCommand,
    "compact": results.CompactCommand,
    "theorem": privacy.TheoremCommand,
}
