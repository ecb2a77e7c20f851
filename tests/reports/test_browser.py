"""Reports in a real browser: nothing is logged, nothing is wider than the screen, and they print."""

import html
import re
import shutil
import subprocess

import pytest

from dpjax.reports import audit_page, study_page
from tests.reports.conftest import make_audit, make_claim, make_study

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
MEASURE = """<script>
const frame = document.querySelector('iframe');
frame.addEventListener('load', () => {
  const page = frame.contentDocument, root = page.documentElement;
  const shown = name => [...page.querySelectorAll(name)].filter(
    one => one.getClientRects().length).length;
  const width = root.scrollWidth, paper = frame.contentWindow.getComputedStyle(page.body).backgroundColor;
  document.title = `width ${width} of ${root.clientWidth}, figures ${shown('figure svg')}, `
    + `resources ${frame.contentWindow.performance.getEntriesByType('resource').length}, paper ${paper}`;
});
</script>"""

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")]


@pytest.fixture(scope="module")
def pages():
    names = ("point", "a learner with a long name, <script>alert(1)</script> " + "x" * 60)
    failure = {"learner": names[0], "k": 1, "epsilon": 1.0, "n": 9, "error": "y" * 200, "traceback": "z" * 300}
    study = make_study(names, (1, 4), (0.5, 1.0), title="w" * 100, failures=[failure], left=3)
    claims = [make_claim("laplace" * 12), make_claim("stability", "VIOLATED", witness={"a": [0] * 200})]
    return {"study": study_page(study, "results/" + "v" * 90), "audit": audit_page(make_audit(*claims, left=1))}


def browse(tmp_path, *flags):
    words = [
        CHROMIUM,
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        "--enable-logging=stderr",
        "--v=0",
        f"--user-data-dir={tmp_path / 'profile'}",
        "--virtual-time-budget=5000",
        *flags,
    ]
    found = subprocess.run(words, capture_output=True, text=True, timeout=120, check=True)
    assert not [line for line in found.stderr.splitlines() if "CONSOLE" in line]
    return found.stdout


@pytest.mark.parametrize("name", ["study", "audit"])
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 768, 1400])
def test_no_page_is_wider_than_the_screen(pages, tmp_path, name, theme, width):
    inner = html.escape(pages[name], quote=True)
    frame = f'<iframe srcdoc="{inner}" style="width:{width}px;height:800px;border:0"></iframe>'
    (tmp_path / "frame.html").write_text(f"<!DOCTYPE html><meta charset=utf-8><title></title>{frame}{MEASURE}")
    scheme = ["--blink-settings=preferredColorScheme=0"] if theme == "dark" else []
    dump = browse(tmp_path, *scheme, "--window-size=1500,900", "--dump-dom", f"file://{tmp_path}/frame.html")
    title = re.search("<title>(.*?)</title>", dump)[1]
    paper = {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 23, 27)"}[theme]
    figures = {"study": 4, "audit": 2}[name]
    assert title == f"width {width} of {width}, figures {figures}, resources 0, paper {paper}"


@pytest.mark.parametrize("name", ["study", "audit"])
def test_a_page_prints(pages, tmp_path, name):
    (tmp_path / "page.html").write_text(pages[name])
    out = tmp_path / "page.pdf"
    browse(tmp_path, "--no-pdf-header-footer", f"--print-to-pdf={out}", f"file://{tmp_path}/page.html")
    data = out.read_bytes()
    assert data.startswith(b"%PDF") and re.search(rb"/MediaBox ?\[0 0 59[45]\S* 84[12]", data)
    if shutil.which("pdftotext"):
        text = subprocess.run(["pdftotext", "-layout", out, "-"], capture_output=True, text=True, check=True).stdout
        assert {"study": "Traceback", "audit": "VIOLATED"}[name] in text
