"""The house: who may import whom, what nobody may call, and what every file owes its reader."""

import ast
import inspect
from functools import cache
from pathlib import Path

import pytest

import dpjax.learners
import dpjax.mechanisms

PACKAGE = Path(__file__).resolve().parent.parent / "dpjax"
FILES = sorted(PACKAGE.rglob("*.py"))

# A layer imports itself and what stands to its left here; `beside` lists what a side building may use.
ORDER = (
    "core",
    "laws",
    "mechanisms",
    "sanitizers lists",
    "learners baselines",
    "attacks audit",
    "plots",
    "reports",
    "evidence experiments",
    "advice",
    "papers tables testing",
    "templates",
    "cli",
    "__main__",
)
RANK = {name: rank for rank, names in enumerate(ORDER) for name in names.split()}
CUTS = {"mechanisms.cover.lines.cuts", "mechanisms.cover.lines.halfplanes"}  # which rows a line cuts off is said once
BESIDE = {
    "concepts": {"core", "laws", "mechanisms.intervals"} | CUTS,
    "accounting": {"core"},
    "theory": {"core"},
    "dimensions": {"core"},
}
USED_FROM = {"concepts": "sanitizers", "accounting": "mechanisms", "theory": "sanitizers", "dimensions": "sanitizers"}
ROOMS = ("identity statistics store", "config sweep results", "run", "study")
"""Of experiments, by floors: a room imports itself and rooms of floors to its left."""
FLOOR = (
    "logs",
    "jax_extensions",
    "checks",
    "user_code",
    "members",
    "compilers",
    "host",
    "host_calls",
    "html",
    "screen",
    "commands",
    "plans",
    "forking",
    "intervals",
    "matrices",
    "files",
    "documents",
    "schemas",
    "owners",
    "types",
    "lowered",
    "draws",
    "retrying",
    "keys",
    "random",
    "wide",
    "bit_strings",
    "arithmetic",
    "integers",
)  # of core: each imports what stands to its left
HOST_ONLY = {"numpy", "scipy", "dp_accounting"}
HOST_LAYERS = ("accounting", "theory", "dimensions")
FORBIDDEN_DRAWS = {
    f"jax.random.{name}"
    for name in ("laplace", "gumbel", "categorical", "exponential", "geometric", "binomial", "PRNGKey")
}
GENERATORS = "audit.target.generators"  # for foreign code, from our keys
EXTENSIONS = {"experimental", "extend", "interpreters"}  # of JAX
STANDARD = set(__import__("sys").stdlib_module_names)


@cache
def parsed(source):
    """Once for all tests."""
    return ast.parse(source)


def module_of(path):
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def layer(module):
    return module.split(".")[0]


def imports(path):
    """Absolute dotted names of everything that a file imports, with what is taken from it: (module, name or None)."""
    package = ["dpjax", *path.relative_to(PACKAGE).parts[:-1]]
    for node in ast.walk(parsed(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                base = ".".join(package[: len(package) - node.level + 1] + ([node.module] if node.module else []))
            yield from ((base, alias.name) for alias in node.names)


def internal(path):
    """Modules of dpjax that a file imports, without the leading dpjax."""
    for base, name in imports(path):
        if base == "dpjax" and name:
            yield name
        elif base.startswith("dpjax."):
            yield base.removeprefix("dpjax.")


def allowed(source, target):
    here, there = layer(source), layer(target)
    if here == there == "core" and "." in source and "." in target:
        return FLOOR.index(target.split(".")[1]) <= FLOOR.index(source.split(".")[1])
    if here == there:
        return True
    if here in BESIDE:
        return there in BESIDE[here] or any(target.startswith(name) for name in BESIDE[here] if "." in name)
    if there in USED_FROM:
        return RANK[here] >= RANK[USED_FROM[there]]
    return RANK[there] <= RANK[here]


def test_no_import_points_upwards():
    for path in FILES:
        source = module_of(path)
        known = not source or layer(source) in RANK or layer(source) in BESIDE
        assert known, f"{source}: a new layer needs a place in ORDER or BESIDE"
    wrong = [
        (module_of(f), target)
        for f in FILES
        if module_of(f)
        for target in internal(f)
        if not allowed(module_of(f), target)
    ]
    assert not wrong, f"imports upwards: {wrong}"


def test_rooms_of_experiments_have_floors():
    floor = {room: height for height, rooms in enumerate(ROOMS) for room in rooms.split()}
    arrows = {
        (source.split(".")[1], target.split(".")[1])
        for source, target in ((module_of(path), target) for path in FILES for target in internal(path))
        if source.startswith("experiments.") and target.startswith("experiments.")
    }
    assert not [arrow for arrow in arrows if arrow[0] != arrow[1] and floor[arrow[1]] >= floor[arrow[0]]]
    assert len(arrows) > 15


def test_chex_is_imported_by_the_conformance_suite_alone():
    """It takes as long to import as dpjax."""
    assert {layer(module_of(f)) for f in FILES for base, _ in imports(f) if base.split(".")[0] == "chex"} == {"testing"}


def test_host_layers_need_no_jax():
    found = {
        module_of(path): {base.split(".")[0] for base, _ in imports(path)} - HOST_ONLY - STANDARD - {"dpjax"}
        for path in FILES
        if layer(module_of(path)) in HOST_LAYERS
    }
    assert len(found) > 20 and not any(found.values()), found


def test_every_layer_exists_once():
    assert not set(RANK) & set(BESIDE)


def test_the_rules_catch_what_they_forbid():
    assert not allowed("core.random", "laws")
    assert not allowed("mechanisms.median", "learners.kln")
    assert not allowed("concepts.points", "mechanisms.exponential")
    assert not allowed("theory.kln", "accounting.profile")
    assert not allowed("laws", "accounting.profile")
    assert not allowed("mechanisms.choosing", "theory.kln")
    assert not allowed("core.keys", "core.wide")
    assert allowed("concepts.points", "mechanisms.intervals")
    assert allowed("laws", "core.wide")
    assert not allowed("audit.enumeration.exact", "evidence.learners")


def aliases(tree):
    """What each local name stands for, fully dotted."""
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.split(".")[0]
                names[alias.asname or top] = alias.name if alias.asname else top
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return names


def dotted(node, names):
    """The fully dotted name that an expression reads, or None."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([names.get(node.id, node.id), *reversed(parts)])


def at_import(tree):
    """Nodes that run when the module is imported: everything outside of functions."""
    pending = list(tree.body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        yield node
        pending.extend(ast.iter_child_nodes(node))


def is_extension(name):
    """Whether JAX's compatibility policy leaves a name out."""
    package, *parts = name.split(".")
    private = any(part.startswith("_") and not part.startswith("__") for part in parts)
    return package == "jaxlib" or (package == "jax" and (private or (parts[:1] and parts[0] in EXTENSIONS)))


def violations(source, module):
    tree = parsed(source)
    names = aliases(tree)
    bound = {
        node.targets[0].id: node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }

    def reads_gumbel(node, depth=3):
        for part in ast.walk(node):
            if isinstance(part, ast.Attribute | ast.Name) and (dotted(part, names) or "").endswith("gumbel"):
                return True
            if depth and isinstance(part, ast.Name) and part.id in bound and reads_gumbel(bound[part.id], depth - 1):
                return True
        return False

    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute | ast.Name):
            name = dotted(node, names) or ""
            if name.split(".")[-1] == "fold_in" and module != "core.keys":
                yield "fold_in outside keys.py"
            if name in FORBIDDEN_DRAWS:
                yield name
            if name.startswith("numpy.random") and module != GENERATORS:
                yield "np.random"
            if is_extension(name) and module != "core.jax_extensions":
                yield f"{name} outside jax_extensions.py"
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                base = getattr(node, "module", None)
                name = f"{base}.{alias.name}" if base else alias.name
                if name in FORBIDDEN_DRAWS or name.startswith("numpy.random") or name.endswith(".fold_in"):
                    yield f"import of {name}"
                if is_extension(name) and module != "core.jax_extensions":
                    yield f"import of {name} outside jax_extensions.py"
        if isinstance(node, ast.Call) and (dotted(node.func, names) or "").endswith("argmax"):
            values = [*node.args, *(keyword.value for keyword in node.keywords)]
            if any(reads_gumbel(value) for value in values):
                yield "argmax over gumbel"
    for node in at_import(tree):
        if isinstance(node, ast.Call) and (dotted(node.func, names) or "").startswith("jax.config."):
            yield "jax.config at import time"
        targets = node.targets if isinstance(node, ast.Assign) else []
        if any((dotted(target, names) or "").startswith("jax.config.") for target in targets):
            yield "jax.config at import time"


def test_nothing_forbidden_is_called():
    found = {module_of(path): sorted(set(violations(path.read_text(), module_of(path)))) for path in FILES}
    assert not any(found.values()), {module: what for module, what in found.items() if what}


@pytest.mark.parametrize(
    "source",
    [
        "import jax\njax.random.fold_in(k, 1)",
        "from jax.random import fold_in",
        "import jax\nf = jax.random.PRNGKey",
        "from jax import random as r\nr.laplace(k)",
        "import jax.random as jr\njr.categorical(k, w)",
        "import numpy as np\nnp.random.seed(0)",
        "from numpy.random import default_rng",
        "import jax\njax.config.update('jax_enable_x64', True)",
        "from jax._src import core",
        "from jax.extend.core import Var",
        "import jaxlib.xla_client",
        "import jax\ndef f():\n    return jax.interpreters.mlir.lower_fun",
        "from jax.experimental import serialize_executable as s\ns._JaxPjrtUnpickler",
        "import jax\nclass A:\n    jax.config.jax_enable_x64 = True",
        "import jax.numpy as jnp\nfrom dpjax import random\ndef f(k, w):\n    return jnp.argmax(w + random.gumbel(k))",
        "import jax.numpy as jnp\ndef f(k, w):\n    g = random.gumbel(k)\n    h = w + g\n    return jnp.argmax(h)",
    ],
)
def test_the_forbidden_list_has_teeth(source):
    assert list(violations(source, "laws"))


@pytest.mark.parametrize(
    "source",
    [
        "from dpjax import random\nrandom.laplace(k)",
        "import jax\ndef host():\n    jax.config.update('jax_num_cpu_devices', 2)",
        "import jax\nversions = jax.__version__, jax.core.Tracer",
        '"""np.random, fold_in and jax.random.laplace in prose."""',
    ],
)
def test_the_forbidden_list_reads_code_not_text(source):
    assert not list(violations(source, "laws"))


def chains(source):
    """Calls of isinstance that list more than two kinds of dpjax, and runs of such calls on one value."""
    tree = parsed(source)
    names = aliases(tree)
    for scope in ast.walk(tree):
        if not isinstance(scope, ast.FunctionDef):
            continue
        kinds = {}
        for node in ast.walk(scope):
            if isinstance(node, ast.Call) and dotted(node.func, names) == "isinstance":
                listed = {
                    dotted(part, names) or ""
                    for part in ast.walk(node.args[1])
                    if isinstance(part, ast.Name | ast.Attribute)
                }
                kinds.setdefault(ast.dump(node.args[0]), set()).update(
                    name for name in listed if name.startswith("dpjax.") and name.split(".")[-1][0].isupper()
                )
        yield from (sorted(found) for found in kinds.values() if len(found) > 2)


def test_no_chain_lists_kinds():
    """A law, class, learner or sanitizer from outside is as good as ours: nobody lists them."""
    found = {module_of(path): list(chains(path.read_text())) for path in FILES}
    assert not any(found.values()), {module: what for module, what in found.items() if what}


def test_the_search_for_chains_has_teeth():
    head = "from dpjax.laws import A, B, C\ndef f(x):\n"
    assert list(chains(head + "    return isinstance(x, A | B | C)"))
    assert list(chains(head + "    if isinstance(x, A):\n        return 1\n    return isinstance(x, (B, C))"))
    assert not list(chains(head + "    return isinstance(x, A | B) or isinstance(x, int | float | str)"))


def test_files_are_short():
    assert not [module_of(path) for path in FILES if len(path.read_text().splitlines()) > 400]


def public_definitions(tree):
    """Public functions and classes of a module, and public methods of public classes."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            yield node.name, node
            if isinstance(node, ast.ClassDef):
                for part in node.body:
                    if isinstance(part, ast.FunctionDef) and not part.name.startswith("_"):
                        yield f"{node.name}.{part.name}", part


def test_everything_public_is_documented():
    for path in FILES:
        tree = parsed(path.read_text())
        silent = [name for name, node in public_definitions(tree) if not ast.get_docstring(node)]
        assert not silent, f"{module_of(path)}: {silent}"
        assert not tree.body or ast.get_docstring(tree), f"{module_of(path)}: the module itself"


def exported(package):
    return {name: value for name, value in vars(package).items() if not name.startswith("_") and callable(value)}


LEARNERS = {
    name: value
    for name, value in exported(dpjax.learners).items()
    if inspect.isclass(value) and name != "Learner" and hasattr(value, "learn")
}
MECHANISMS = {
    name: value
    for name, value in exported(dpjax.mechanisms).items()
    if inspect.isfunction(value) and not name.endswith(("_guarantee", "_plan"))
}


def test_learners_and_mechanisms_state_privacy_and_source():
    for name, value in (LEARNERS | MECHANISMS).items():
        rows = [row.strip() for row in inspect.getdoc(value).splitlines()]
        for line in ("Privacy:", "Reference:"):
            assert any(row.startswith(line) for row in rows), f"{name} has no `{line}` line"
