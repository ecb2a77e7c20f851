"""A study: what is measured, as in a TOML file or on the command curve, with what runs it."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpjax.core import checks
from dpjax.experiments.store.capacity import CAPACITY_LIMIT
from dpjax.experiments.sweep.sweep import Search, Sweep

if TYPE_CHECKING:  # what runs a study, and reads it, is imported when it does: pydantic, pyarrow and others
    from dpjax.experiments.results.result import Result
    from dpjax.experiments.run.cells import TileEngine
    from dpjax.experiments.run.progress import Progress
    from dpjax.experiments.run.reproduce import Reproduced
    from dpjax.experiments.run.work import Rules


@dataclass(frozen=True, eq=False, init=False)
class Study(Sweep):
    """Success of learners on a task against n, and n*, the smallest n that is enough.

    Args:
      task: what is learned from which examples.
      learners: by name, learners of the task's class, or functions k -> learner. A learner of one concept is run for
        k > 1 as its ``for_concepts`` says, by default k times under optimal composition. A list takes the names of the
        classes.
      k, epsilon: one number or several; delta: of the budget.
      accuracy: alpha, the error that a hypothesis may have, and beta, the probability with which a trial may fail.
      n: "search" for n* and a curve of ``points`` sizes around it, or the sample sizes of the curves.
      search: how n* is searched; with n given, None for no search.
      trials: of each point of a curve.
      fit_from: the exponent of k is fitted over k >= this.
      seed: root of all keys, in [0, 2**32).

    Everything is checked when a study is made: InputError.
    """

    def run(
        self,
        out: str | Path,
        *,
        engine: "TileEngine | None" = None,
        progress: "Progress | None" = None,
        quiet: bool = False,
        rules: "Rules | None" = None,
        executor: Executor | None = None,
        imports: Sequence[str] = (),
    ) -> "Result":
        """Measures everything that is not stored yet in the folder ``out``, and returns a `result.Result`.

        Run it again after an interruption to go on. Points that raise are among the result's failures.

        Args:
          out: a folder, made if there is none.
          engine: what computes, by default all local devices, see `engine.Engine`.
          progress: receives the progress, by default a bar on a terminal and else a curve every 30 seconds.
          quiet: True for no such output.
          rules: a `work.Rules`: a time limit for each cell, whether to try failed ones again, how many at a time.
          executor: computes the study in other processes first: any executor of `concurrent.futures`, such as that of
            `clusters.cluster("local")`. Its processes see ``out`` under the same name. imports: the modules of the
            study's own classes and learners.

        InputError where the folder cannot be used.
        """
        from dpjax.experiments.run.run import run
        from dpjax.experiments.run.work import Rules
        from dpjax.experiments.study.remote import taking

        take = None if executor is None else taking(self, Path(out), tuple(imports), rules or Rules())
        return run(self, out, engine=engine, progress=progress, quiet=quiet, rules=rules, executor=executor, take=take)

    def trial(self, learner: str, k: int, epsilon: float, n: int, trial: int) -> "Reproduced":
        """Trial ``trial`` of a curve again, from its key: a `reproduce.Reproduced` with its data and hypotheses.

        The n and the trial may be others than those of the study: the ``note`` then says so.
        """
        from dpjax.experiments.run.reproduce import reproduce

        setting = replace(self.curve(learner, k, epsilon).setting, n=checks.integer("n", n, 1, CAPACITY_LIMIT))
        reproduced = reproduce(setting, self.seed, checks.integer("trial", trial, 0, 2**32 - 1))
        return replace(reproduced, note=self.beyond(n, trial))

    def beyond(self, n: int, trial: int) -> str:
        """Why a trial is not part of the study's curves; empty if it may be: a search chooses its n."""
        searched = self.search or Search()
        sizes = f"n_min = {searched.n_min} to n_max = {searched.n_max}" if self.n == "search" else f"n in {self.n}"
        inside = searched.n_min <= n <= searched.n_max if self.n == "search" else n in self.n
        if inside and trial < self.trials:
            return ""
        return f"no trial of the study, which has {sizes} and trials 0 to {self.trials - 1}: it is a new one"

    def to_dict(self) -> dict[str, Any]:
        """The study as a configuration, JSON-ready: `study.study_of` builds it again."""
        from dpjax.experiments.config.to_spec import study_spec

        return study_spec(self)


def load(path: str | Path, imports: Sequence[str] = ()) -> Study:
    """The study of a TOML file. imports: modules of its own classes and learners, which are imported."""
    from dpjax.experiments.study.toml import read_toml

    return study_of(read_toml(path), imports)


def study_of(data: Mapping[str, Any], imports: Sequence[str] = ()) -> Study:
    """A study from nested tables, as a TOML file or `Study.to_dict` has them; errors name the key."""
    from dpjax.experiments.study.toml import arguments_of

    return Study(**arguments_of(data, imports))
