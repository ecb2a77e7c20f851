"""Figures of the site: their width in print, and the link to the file."""

import struct
import zlib

import pytest
import widths

nodes = pytest.importorskip("docutils.nodes", reason="the site needs `pip install dpjax[docs]`")
pytest.importorskip("sphinx", reason="the site needs `pip install dpjax[docs]`")
import figures  # noqa: E402


def png(pixels, per_meter=None):
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    about = b"" if per_meter is None else chunk(b"pHYs", struct.pack(">IIB", per_meter, per_meter, 1))
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", pixels, 1, 8, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + about + chunk(b"IDAT", b"")


@pytest.mark.parametrize(
    ("data", "inches"),
    [
        (png(2100, 7874), 10.5),
        (png(960), 10.0),
        (b'<svg xmlns="x" viewBox="0 0 760 330" width="760">', 760 / 96),
        (b'<?xml?>\n<svg height="1pt" width="756pt" viewBox="0 0 756 1">', 10.5),
        (b'<svg viewBox="0 0 1 1">', 8.0),
    ],
)
def test_width_in_inches(data, inches):
    assert widths.width(data) == pytest.approx(inches, rel=1e-3)


def test_the_width_of_committed_figures_is_that_of_their_page(root):
    folder = root / "docs" / "gallery" / "figures"
    assert widths.size(folder / "four-learners.png") == "large" and widths.size(folder / "conjunctions.png") == "small"


class App:
    """What the extension uses of Sphinx."""

    def __init__(self, folder):
        self.srcdir, self.env, self.builder = folder, self, self
        self.images, self.imagedir, self.format = {"a b.png": ({"x"}, "a b.png")}, "_images", "html"

    def get_target_uri(self, name):
        return f"{name}.html"


def test_a_figure_links_to_its_file(tmp_path):
    (tmp_path / "a b.png").write_bytes(png(400))
    page = nodes.section("", nodes.image(uri="a b.png"), nodes.image(uri="a b.png", alt="curves"))
    page += nodes.reference("", "", nodes.image(uri="a b.png"), refuri="there")
    page += nodes.image(uri="elsewhere.png")
    figures._link(App(tmp_path), page, "learn/first")
    first, second, third, fourth = page.children
    for link in (first, second):
        assert link["refuri"] == "../_images/a%20b.png" and link["classes"] == ["dpjax-figure", "small"]
    assert "code above" in first[0]["alt"] and second[0]["alt"] == "curves"
    assert third["refuri"] == "there" and isinstance(fourth, nodes.image)
