"""A figure's file says what made it, and nothing about when or where."""

import io
import json
import re

import pytest
from matplotlib.figure import Figure
from PIL import Image

from dpjax.core.checks import InputError
from dpjax.plots import plot_curve, read_metadata
from dpjax.plots.files import FORMATS, _pdf_string, house_style, render

ABOUT = {
    "config": {
        "text": 'a ( b ) ) \\ " é <&> ]]> \n \x7f endobj /Keywords (x)',
        "float": 2 ** (1 / 8),
        "tiny": 1e-300,
        "whole": 1,
        "real": 1.0,
        "none": None,
        "list": [True, -0.5, []],
    },
    "seed": 2**70,
    "versions": {"dpjax": "0.1.0"},
}


def rendered(format, about=ABOUT):
    with house_style():
        return render(Figure(figsize=(1, 1)), format, about, "a title é", "dpjax 0.1.0")


@pytest.mark.parametrize("format", FORMATS)
def test_metadata_comes_back_exactly(format, tmp_path):
    path = tmp_path / "figure"
    path.write_bytes(rendered(format))
    back = read_metadata(path)
    assert json.dumps(back, sort_keys=True) == json.dumps(ABOUT, sort_keys=True)


@pytest.mark.parametrize("format", FORMATS)
def test_a_curve_carries_its_config_seed_versions_and_device(format, small, tmp_path):
    (path,) = plot_curve(small, tmp_path / "curve", [format])
    assert read_metadata(path) == {name: small[name] for name in ("config", "seed", "versions", "device", "title")}


def test_software_is_named_and_there_is_no_date():
    assert Image.open(io.BytesIO(rendered("png"))).info["Software"] == "dpjax 0.1.0"
    assert b"/Creator (dpjax 0.1.0)" in rendered("pdf")
    assert b"dpjax 0.1.0" in rendered("svg")
    for format in FORMATS:
        assert not re.search(rb"CreationDate|ModDate|dc:date|tIME|Creation Time", rendered(format))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no figure",
        b"<svg/>",
        b"\x89PNG\r\n",
        b"%PDF-1.4\n",
        b"%PDF-1.4\n1 0 obj\n<< >>\nendobj\n/Info 1 0 R",
        b"%PDF-1.4\n1 0 obj\n<< /Keywords (open",
        b"%PDF-1.4\n1 0 obj\n<< /Keywords ([1]) >>\nendobj\n/Info 1 0 R",
    ],
)
def test_a_file_without_metadata_is_refused(data, tmp_path):
    path = tmp_path / "figure.pdf"
    path.write_bytes(data)
    with pytest.raises(InputError, match="expected a png, svg or pdf file that dpjax wrote"):
        read_metadata(path)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(InputError, match="none"):
        read_metadata(tmp_path / "none.png")


def test_pdf_strings():
    cases = {
        rb"plain)": b"plain",
        rb"a\(b\)\\)": b"a(b)\\",
        rb"a(b(c))d)": b"a(b(c))d",
        rb"\101\7z\n)": b"A\x07z\n",
        b"a\\\nb)": b"ab",
        b")": b"",
        b"\\q)": b"q",
    }
    for source, value in cases.items():
        assert _pdf_string(source + b" /Next (x)", 0) == (value, len(source))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), {1, 2}])
def test_a_config_that_json_lacks_is_refused(value, small, tmp_path):
    small["config"]["value"] = value
    with pytest.raises(InputError, match="a configuration of JSON values"):
        plot_curve(small, tmp_path / "curve", ["png"])
    assert not list(tmp_path.iterdir())
