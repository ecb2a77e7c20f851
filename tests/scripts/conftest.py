"""Scripts as modules."""

import importlib.util
import sys

import pytest


@pytest.fixture(scope="session")
def scripts(root):
    """Loads a script by its name."""

    sys.path.append(str(root / "scripts"))  # as Python does for a script that it runs

    def load(name):
        spec = importlib.util.spec_from_file_location(name, root / "scripts" / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module  # dataclasses look it up
        spec.loader.exec_module(module)
        return module

    yield load
    sys.path.remove(str(root / "scripts"))
