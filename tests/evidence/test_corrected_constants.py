"""The table of printed constants that fail is what the audits say today."""

import runpy

import pytest


@pytest.mark.slow
def test_the_table_is_written_by_the_script(root, tmp_path):
    script = runpy.run_path(str(root / "scripts" / "corrected_constants.py"), run_name="script")
    script["main"](tmp_path / "table.md")
    assert (tmp_path / "table.md").read_text() == (root / "docs" / "gallery" / "corrected-constants.md").read_text()
