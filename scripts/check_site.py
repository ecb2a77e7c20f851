"""Opens every page of the built documentation in a headless browser, and says what is wrong with it.

Run: python scripts/check_site.py [--site docs/_build/html] [--browser PATH] [--pictures FOLDER] [--all]

At 1400 and 390 pixels, light and dark: no message of the console, no request to another host, no page wider than the
window, every link to a page of the site leads to a page and to an anchor, and the search finds what it should. Needs
`pip install playwright` and a Chromium. Without --all it takes some thirty pages, the first of each section and a
sample of the others.
"""

import argparse
import functools
import http.server
import sys
import threading
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin

ROOT = Path(__file__).resolve().parents[1]
SIZES, SCHEMES = (1400, 390), ("light", "dark")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SEARCHES = {
    "stability histogram": "histogram",
    "log*": "log",
    "replace-one": "replace",
    "Theorem 2.22": "theorem 2.22",
    "bns:2.22": "theorem 2.22",
}
"""What is searched -> a word that a title of the results has, in lower case."""


class Page(HTMLParser):
    """Links and anchors of a page."""

    def __init__(self, text: str):
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.elsewhere: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        """Collects."""
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        loaded = given.get("src") or (given.get("href") if tag == "link" and given.get("rel") != "canonical" else None)
        if loaded and "://" in loaded:
            self.elsewhere.append(loaded)


def broken_links(site: Path) -> list[str]:
    """Every link of the site to a page or anchor that is missing, and every file loaded from another host."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    found = []
    for path, page in pages.items():
        here = path.relative_to(site)
        found += [f"{here}: loads {address}" for address in page.elsewhere]
        for link in page.links:
            address, anchor = urldefrag(link)
            if "://" in link or link.startswith(("mailto:", "data:")):
                continue
            target = (path.parent / unquote(address)).resolve() if address else path.resolve()
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                found.append(f"{here}: {link}")
            elif anchor and target in pages and unquote(anchor) not in pages[target].anchors:
                found.append(f"{here}: no anchor {link}")
    return found


def sample(site: Path, everything: bool) -> list[str]:
    """Addresses of pages: all, or each index and a few of each folder."""
    paths = sorted(str(path.relative_to(site)) for path in site.rglob("*.html") if "_static" not in path.parts)
    paths = [path for path in paths if not path.startswith(("_modules", "genindex", "search", "py-modindex"))]
    if everything:
        return paths
    kept: dict[str, list[str]] = {}
    for path in paths:
        kept.setdefault(path.rpartition("/")[0], []).append(path)
    return [path for group in kept.values() for path in [p for p in group if p.endswith("index.html")] + group[::9][:4]]


def look(browser, base: str, paths: list[str], width: int, scheme: str, pictures: Path | None) -> list[str]:
    """What is wrong with these pages at this width and in this color scheme."""
    found: list[str] = []
    context = browser.new_context(viewport={"width": width, "height": 1000}, color_scheme=scheme)
    view = context.new_page()
    here = {"path": ""}
    view.on("console", lambda m: found.append(f"{here['path']}: console: {m.text}") if m.type == "error" else None)
    view.on("pageerror", lambda error: found.append(f"{here['path']}: {error}"))
    view.on(
        "request",
        lambda one: (
            None if one.url.startswith((base, "data:", "blob:")) else found.append(f"{here['path']}: asks {one.url}")
        ),
    )
    for path in dict.fromkeys(paths):
        here["path"] = f"{path} at {width}, {scheme}"
        view.goto(base + path, wait_until="load")
        wide = view.evaluate("document.documentElement.scrollWidth")
        if wide > width:
            found.append(f"{here['path']}: {wide} pixels wide")
        if pictures:
            name = path.removesuffix(".html").replace("/", "-")
            view.screenshot(path=pictures / f"{name}-{width}-{scheme}.png", full_page=False)
    context.close()
    return found


def searched(browser, base: str) -> list[str]:
    """Searches without a result whose title has the word."""
    found, view = [], browser.new_page()
    for words, title in SEARCHES.items():
        view.goto(base + "search.html?q=" + words.replace("*", "%2A").replace(" ", "+"))
        view.wait_for_selector("#search-results li", timeout=20_000)
        view.wait_for_timeout(1500)
        results = view.locator("#search-results li a").all_inner_texts()
        if not any(title in one.lower() for one in results):
            found.append(f"search {words!r}: {len(results)} results, none with {title!r}: {results[:5]}")
    return found


def main(arguments: list[str] | None = None) -> int:
    """Prints what is wrong; 1 if anything is."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--site", type=Path, default=ROOT / "docs" / "_build" / "html", help="folder of the built pages"
    )
    parser.add_argument("--browser", default="/usr/bin/chromium", help="a Chromium")
    parser.add_argument("--pictures", type=Path, help="folder for pictures of the pages")
    parser.add_argument("--all", action="store_true", help="all pages in place of a sample")
    given = parser.parse_args(arguments)
    site = given.site.resolve()
    found = broken_links(site)
    from playwright.sync_api import sync_playwright

    handler = functools.partial(_Quiet, directory=str(site))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = urljoin(f"http://127.0.0.1:{server.server_port}", "/")
    if given.pictures:
        given.pictures.mkdir(parents=True, exist_ok=True)
    paths = sample(site, given.all)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=given.browser, args=FLAGS)
        for width in SIZES:
            for scheme in SCHEMES:
                found += look(browser, base, paths, width, scheme, given.pictures)
        found += searched(browser, base)
        browser.close()
    server.shutdown()
    print("\n".join(found) or f"{len(paths)} pages, {len(SIZES)} widths, light and dark: nothing found")
    return int(bool(found))


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        """Nothing."""


if __name__ == "__main__":
    sys.exit(main())
