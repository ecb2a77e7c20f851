"""A forked pool: an error instead of a process that never ends. In processes of their own, which fork."""

import subprocess
import sys

PROGRAM = """
import multiprocessing, warnings
import dpjax as dp
from dpjax.core.checks import InputError
warnings.simplefilter("ignore")  # JAX warns of the fork

def study(number):
    concepts = dp.Thresholds(dp.Domain(16))
    return repr(dp.Study(dp.Task(concepts, dp.uniform(concepts.domain)), dp.KLN(concepts), n=[20]).n)

def checked(number):
    from dpjax.core import forking
    forking.require_not_forked()
    return "no error"

if __name__ == "__main__":
    dp.KLN  # imports JAX and starts nothing
    with multiprocessing.get_context("fork").Pool(1) as pool:
        print("before:", pool.apply_async(checked, [0]).get(60))
    study(0)  # JAX starts
    for context in ("fork", "spawn"):
        with multiprocessing.get_context(context).Pool(1) as pool:
            try:
                print(context, pool.apply_async(study, [0]).get(100))
            except InputError as error:
                print(context, error)
"""


def test_a_study_in_a_forked_process_is_an_error(tmp_path):
    """JAX that starts in the child itself runs there, and so does a process that is spawned."""
    (tmp_path / "program.py").write_text(PROGRAM)
    words = [sys.executable, "program.py"]
    said = subprocess.run(words, capture_output=True, text=True, timeout=240, cwd=tmp_path)
    before, fork, spawn = said.stdout.splitlines()
    assert before == "before: no error" and spawn == "spawn (20,)", said.stderr
    assert fork.startswith("fork process: expected one in which JAX can run") and 'get_context("spawn")' in fork
