"""The command line: `main` runs one command."""

from dpjax.cli.app import main as main
