"""Executes the tutorials before the pages are read, two at a time, into the cache that MyST-NB looks into.

MyST-NB executes notebooks one after the other. The folder of the cache is named by a digest of the package's code, so a
tutorial runs again when it changed or when dpjax did; comments and docstrings do not count.
"""

import ast
import hashlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from jupyter_cache.executors.utils import single_nb_execution
from sphinx.util import logging

_LOG = logging.getLogger(__name__)
_AT_ONCE = 2


def digest(package: Path) -> str:
    """Of the code of all modules, without comments and docstrings."""
    found = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            body = getattr(node, "body", None)
            if isinstance(body, list):
                node.body = [one for one in body if not _is_text(one)] or [ast.Pass()]
        found.update(f"{path.relative_to(package)}\n{ast.dump(tree)}".encode())
    return found.hexdigest()[:16]


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def setup(app):
    """Runs before pages are read."""
    app.connect("builder-inited", _execute, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _execute(app):
    if app.config.nb_execution_mode != "cache":
        return
    cache = get_cache(app.config.nb_execution_cache_path)
    waiting = [path for path in sorted(Path(app.srcdir).rglob("*.ipynb")) if "_build" not in path.parts]
    waiting = [path for path in waiting if not _known(cache, nbformat.read(path, as_version=4))]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        done = pool.map(lambda path: _run(path, app.config.nb_execution_timeout), waiting)
        for path, (notebook, result) in zip(waiting, done, strict=True):
            if result.err is not None:
                _LOG.warning("%s\n%s", path.name, result.exc_string, type="dpjax", subtype="notebook")
                continue
            data = {"execution_seconds": result.time}
            cache.cache_notebook_bundle(
                CacheBundleIn(notebook, str(path), data=data), check_validity=False, overwrite=True
            )
            _LOG.info("executed %s in %.0f s", path.name, result.time)


def _known(cache, notebook) -> bool:
    try:
        return cache.match_cache_notebook(notebook) is not None
    except KeyError:
        return False


def _run(path: Path, timeout: int):
    notebook = nbformat.read(path, as_version=4)
    return notebook, single_nb_execution(notebook, cwd=str(path.parent), timeout=timeout, allow_errors=False)
