"""The style sheet of a report: light and dark, for a screen of any width and for A4 paper."""

from dpjax.plots.page import Page
from dpjax.plots.styles import DARK, LIGHT

_SHADES = ("paper", "ink", "grey", "grid", "shade")
_OWN = {
    "link": ("#0b5394", "#8ab8ff"),
    "bad": ("#a8071a", "#ff8f87"),
    "wash": ("#fdecec", "#3b1a1c"),
    "notice": ("#fff6dd", "#332b14"),
    "rule": ("#8a6d1a", "#d9b64a"),
}


def variables(dark: bool) -> str:
    """The colors of the page and of the lines of its figures, as CSS variables."""
    shades, lines = Page(dark=dark).colors, DARK if dark else LIGHT
    named = {name: shades[name] for name in _SHADES} | {name: pair[dark] for name, pair in _OWN.items()}
    named |= {f"line{place}": color for place, color in enumerate(lines)}
    scheme = "dark" if dark else "light"
    return f"color-scheme: {scheme}; " + " ".join(f"--{name}: {color};" for name, color in named.items())


def names_of_colors() -> dict[str, str]:
    """The variable of each color of a light figure."""
    shades = Page(dark=False).colors
    lines = {color: f"var(--line{place})" for place, color in enumerate(LIGHT)}
    return lines | {shades[name]: f"var(--{name})" for name in _SHADES}


def style_sheet() -> str:
    """The CSS of a page."""
    return (
        f":root {{ {variables(False)} }}\n"
        f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {variables(True)} }} }}\n{_RULES}"
    )


_RULES = """
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; scroll-behavior: auto; }
body { margin: 0; background: var(--paper); color: var(--ink); line-height: 1.5;
  font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", sans-serif; }
header, nav, main, footer { max-width: 66rem; margin: 0 auto; padding: 0 1rem; }
header { padding-top: 2rem; }
footer { padding-bottom: 3rem; color: var(--grey); font-size: .875rem; }
h1, h2, h3 { line-height: 1.25; overflow-wrap: anywhere; text-wrap: balance; }
h1 { font-size: 1.75rem; margin: 0 0 .25rem; }
h2 { font-size: 1.3rem; margin: 2.5rem 0 .75rem; padding-top: .75rem; border-top: 1px solid var(--grid); }
section:first-of-type h2 { margin-top: 1.25rem; }
h3 { font-size: 1.05rem; margin: 1.5rem 0 .5rem; }
p, dd, li { overflow-wrap: anywhere; }
p { margin: .5rem 0; max-width: 48rem; }
a { color: var(--link); }
.about { color: var(--grey); margin: 0 0 1rem; }
nav ul { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; list-style: none; margin: 0; padding: 0; }
nav a { display: inline-block; padding: .2rem 0; }
.notice { border-left: .25rem solid var(--rule); background: var(--notice); padding: .5rem .75rem; max-width: none; }
.bad { color: var(--bad); font-weight: 700; }
p.bad { border-left: .25rem solid var(--bad); background: var(--wash); padding: .5rem .75rem; max-width: none; }
dl { margin: .75rem 0; }
dl > div { display: grid; grid-template-columns: 11rem minmax(0, 1fr); gap: 0 1rem; padding: .25rem 0;
  border-bottom: 1px solid var(--grid); }
dt { color: var(--grey); overflow-wrap: anywhere; }
dd { margin: 0; }
code, pre { font-family: ui-monospace, "SFMono-Regular", Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: .85em; }
pre { background: var(--shade); border: 1px solid var(--grid); padding: .75rem; margin: .5rem 0; overflow-x: auto;
  line-height: 1.4; }
pre code { font-size: .8125rem; }
.scroll { overflow-x: auto; margin: .75rem 0 1.25rem; position: relative; }
.scroll:focus-visible, pre:focus-visible, summary:focus-visible, a:focus-visible {
  outline: 2px solid var(--link); outline-offset: 2px; }
table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums; min-width: 100%; }
caption { text-align: left; color: var(--grey); padding: 0 0 .5rem; }
caption span { display: block; width: fit-content; max-width: calc(100vw - 2rem); position: sticky; left: 0; }
th, td { padding: .3rem .7rem .3rem 0; text-align: left; vertical-align: baseline; white-space: nowrap; }
thead th { border-bottom: 2px solid var(--grey); font-weight: 600; vertical-align: bottom; }
tbody th { font-weight: 400; }
tbody tr > * { border-bottom: 1px solid var(--grid); }
th.number, td.number { text-align: right; }
th:last-child, td:last-child { padding-right: .25rem; }
td.text, tbody th.text { white-space: normal; min-width: 8rem; max-width: 26rem; overflow-wrap: break-word; }
tr.marked > * { background: var(--wash); font-weight: 600; }
tr.marked > :first-child { box-shadow: inset .25rem 0 var(--bad); padding-left: .6rem; }
details { margin: .5rem 0; border: 1px solid var(--grid); padding: 0 .75rem; }
details[open] { padding-bottom: .5rem; }
summary { cursor: pointer; padding: .5rem 0; overflow-wrap: anywhere; }
figure { margin: 1rem 0 1.5rem; }
figure svg { display: block; width: 100%; height: auto; fill: var(--ink); }
figcaption { color: var(--grey); font-size: .875rem; margin-top: .5rem; max-width: 48rem; }
.narrow { display: none; }
.figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 26rem), 1fr)); gap: 0 1.5rem; }
@media screen and (max-width: 40rem) {
  .wide { display: none; }
  .narrow { display: block; }
  dl > div { grid-template-columns: minmax(0, 1fr); }
  header { padding-top: 1rem; }
  h1 { font-size: 1.4rem; }
}
@page { size: A4; margin: 16mm 14mm; }
@media print {
  body { font-size: 9.5pt; line-height: 1.4; }
  header, nav, main, footer { max-width: none; padding-left: 0; padding-right: 0; }
  header { padding-top: 0; }
  nav { display: none; }
  h1 { font-size: 16pt; } h2 { font-size: 12pt; margin-top: 1.25rem; } section:first-of-type h2 { margin-top: 1.25rem; }
h3 { font-size: 10.5pt; }
  h1, h2, h3, caption, summary { break-after: avoid; }
  .about, figcaption, caption, footer { font-size: 8pt; }
  p, figcaption { max-width: none; orphans: 3; widows: 3; }
  figure, tr, dl > div { break-inside: avoid; }
  thead { display: table-header-group; }
  .scroll, pre { overflow: visible; }
  caption span { max-width: none; position: static; }
  table { font-size: 7.5pt; width: 100%; }
  th, td { padding: .15rem .4rem .15rem 0; }
  td.text { min-width: 0; max-width: none; }
  tbody th.text { min-width: 9em; max-width: none; }
  th, td.code, tbody th { white-space: normal; overflow-wrap: anywhere; }
  thead th { overflow-wrap: normal; }
  pre, td code { white-space: pre-wrap; overflow-wrap: anywhere; }
  pre code { font-size: 7.5pt; }
  details { border: 0; padding: 0; }
  details.printed::details-content { content-visibility: visible; display: block; }
  .unprinted { display: none; }
  .figures { grid-template-columns: 1fr 1fr; }
  * { -webkit-print-color-adjust: exact; print-color-adjust: exact; }
}
"""
