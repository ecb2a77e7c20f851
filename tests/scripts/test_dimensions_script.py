"""The script of docs/gallery/dimensions.md on few classes."""

from dpjax.plots.files import read_metadata


def test_the_page_of_dimensions(scripts, tmp_path, monkeypatch):
    module = scripts("dimensions")
    monkeypatch.setattr(module, "_known", lambda: [("thresholds", 3, 2, "Littlestone dimension 1", "0.00")])
    failures = module.main(tmp_path, 3, 40)
    assert not any(count for source, count in failures.items() if source != "Theorem 7.1, printed")
    page = (tmp_path / "dimensions.md").read_text()
    assert "40 random classes" in page and "10, 11, 20, 22" in page and "| Lemma 5.11 |" in page
    assert read_metadata(tmp_path / "figures" / "dimensions.png")["config"]["classes"] == 40
