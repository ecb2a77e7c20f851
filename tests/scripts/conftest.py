"""Scripts as modules."""

import importlib.util
import sys

import pytest


@pytest.fixture(scope="session")
def scripts(root):
    """Loads a script by its name."""

    def load(name):
        spec = importlib.util.spec_from_file_location(name, root / "scripts" / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module  # dataclasses look it up
        spec.loader.exec_module(module)
        return module

    return load
