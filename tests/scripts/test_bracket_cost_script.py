"""The table of the cost of searches in docs/explain/bracket.md."""


def test_the_page_has_what_the_script_prints(scripts, root):
    """Rows of two of the curves; the claim for n* holds, that within gamma is about another number."""
    script = scripts("bracket_cost")
    script.CURVES = {name: script.CURVES[name] for name in list(script.CURVES)[:2]}
    page = (root / "docs" / "explain" / "bracket.md").read_text()
    for row in script.rows():
        assert f"| {' | '.join(row)} |" in page, row
        assert int(row[4].rstrip("%")) >= 95
