import sys

import pytest


@pytest.fixture(scope="session")
def site(request):
    """A module of docs/_ext by name."""
    folder = str(request.config.rootpath / "docs" / "_ext")

    def module(name):
        sys.path.insert(0, folder)
        try:
            return __import__(name)
        finally:
            sys.path.remove(folder)

    return module
