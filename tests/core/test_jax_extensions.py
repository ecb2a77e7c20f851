"""Names outside of JAX's compatibility policy exist on the installed JAX, are used, and do what they are used for."""

import ast
import re

import jax
import jax.numpy as jnp
import pytest

from dpjax.core import jax_extensions
from dpjax.core.jax_extensions import CACHE_HIT, Literal, Primitive, jaxprs_in_params, source_info_util

MODULES = ("ad", "batching", "mlir", "source_info_util")


@pytest.fixture(scope="module")
def package(root):
    return {path: path.read_text() for path in (root / "dpjax").rglob("*.py")}


@pytest.fixture(scope="module")
def listed(root):
    tree = ast.parse((root / "dpjax/core/jax_extensions.py").read_text())
    imported = {alias.asname for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    return imported | {node.targets[0].id for node in tree.body if isinstance(node, ast.Assign)}


def test_every_name_is_used(package, listed):
    used = set()
    for text in package.values():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and node.module == jax_extensions.__name__:
                used |= {alias.name for alias in node.names}
    assert listed == used and len(listed) > 10


def test_every_group_has_a_reason(root):
    groups = (root / "dpjax/core/jax_extensions.py").read_text().split("\n\n")[2:]
    assert len(groups) > 6 and all(group.startswith("# ") for group in groups)


@pytest.mark.parametrize("module", MODULES)
def test_what_is_used_of_a_module_is_there(package, module):
    used = {
        name
        for text in package.values()
        if f"{jax_extensions.__name__} import" in text
        for name in re.findall(rf"\b{module}\.(\w+)", text)
    }
    assert used and all(hasattr(getattr(jax_extensions, module), name) for name in used)


def test_a_program_has_the_members_that_audits_read():
    def learner_like(x):
        return jax.lax.cond(x > 0, lambda y: y + 1.0, lambda y: y, x)

    program = jax.make_jaxpr(learner_like)(1.0)
    assert isinstance(program, jax_extensions.ClosedJaxpr) and program.is_high in (False, True)
    assert isinstance(program.jaxpr, jax_extensions.Jaxpr) and isinstance(program.jaxpr.invars[0], jax_extensions.Var)
    first, *_, last = program.jaxpr.eqns
    assert isinstance(first.primitive, Primitive) and isinstance(first.invars[1], Literal) and first.invars[1].val == 0
    assert len([*jaxprs_in_params(last.params)]) == 2
    assert "test_jax_extensions.py" in source_info_util.summarize(last.source_info)
    assert jax_extensions.jaxpr_as_fun(program)(1.0) == [2.0]


def test_a_program_that_is_read_from_the_cache_is_heard(tmp_path):
    folder, run, x = jax.config.jax_compilation_cache_dir, lambda x: x * 17 + x, jnp.float32(1)
    heard = []  # from here on: x may have been made by a program of another cache
    jax.monitoring.register_event_listener(lambda event, **_: heard.append(event))
    jax.config.update("jax_compilation_cache_dir", str(tmp_path))
    jax_extensions.reset_cache()
    try:
        for times in (0, 1):
            jax.jit(run).lower(x).compile()
            assert heard.count(CACHE_HIT) == times
            jax.clear_caches()
    finally:
        jax.config.update("jax_compilation_cache_dir", folder)
        jax_extensions.reset_cache()
