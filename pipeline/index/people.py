"""The page at the root of the index, for people: how to install, and a table of what there is. No scripts in it."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from itertools import groupby

from packaging.version import Version

from pipeline.records.index import Index, IndexedFile, NotPublished, Proof

_STYLE = """
:root { color-scheme: light dark; --line: #c9c9c9; --soft: #f1f3f4; --ink: #1b1b1b; --paper: #fff; --link: #0b57a4; }
@media (prefers-color-scheme: dark) {
  :root { --line: #4a4a4a; --soft: #26282b; --ink: #ececec; --paper: #16181a; --link: #8ab8f0; }
}
body { margin: 0 auto; max-width: 75rem; padding: 1.5rem 1rem 3rem; font: 1rem/1.5 system-ui, sans-serif;
  color: var(--ink); background: var(--paper); }
a { color: var(--link); }
a:focus-visible, summary:focus-visible, div:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.25rem; margin-top: 2rem; }
pre, code { font-family: ui-monospace, monospace; font-size: .92em; }
pre, .wide { overflow-x: auto; }
pre { background: var(--soft); padding: .75rem 1rem; border-radius: .4rem; }
table { border-collapse: collapse; width: 100%; }
caption { text-align: left; font-weight: 600; padding: .75rem 0 .25rem; }
th, td { text-align: left; vertical-align: top; padding: .3rem .9rem .3rem 0; border-bottom: 1px solid var(--line); }
td.size, th.size { text-align: right; white-space: nowrap; }
td.name { overflow-wrap: anywhere; min-width: 16rem; }
summary { cursor: pointer; padding: .4rem 0; }
""".strip()

_HOW = """
<p>Download <a href='install_wheel.py'>install_wheel.py</a>; it needs nothing but Python 3.9. It looks at the driver
and the GPUs of your machine and installs the one wheel that fits them.</p>
""".strip()
_PIN = """
<p>With pip or uv alone, pin the whole version with its label, as <code>PROJECT==1.0+cu130.sm9x</code>: without the
label both take the one that sorts highest, whatever your GPU.</p>
""".strip()

_HEADINGS = ("CUDA", "CPU", "GPUs", "Compute capabilities", "Size", "Proof", "File")


def people_page(index: Index) -> bytes:
    """The page as HTML."""
    projects = sorted({row.project for row in [*index.wheels, *index.sdists]})
    example = projects[0] if projects else "PROJECT"
    folders = sorted({row.page.split("/")[0] for row in [*index.wheels, *index.sdists]})
    body = [
        "<h1>Wheels</h1>",
        _HOW,
        f"<pre><code>python install_wheel.py {escape(example)} --index-url ADDRESS_OF_THIS_PAGE</code></pre>",
        _PIN,
        "<nav aria-label='Package indexes'><p>Indexes for pip and uv: "
        + (", ".join(f"<a href='{name}/'>{name}/</a>" for name in folders) or "none yet")
        + ". The same as data: <a href='index.json'>index.json</a>.</p></nav>",
        "<main>",
        *(line for project in projects for line in _project(project, index)),
        *(_absent(index.absent) if index.absent else []),
        "</main>",
    ]
    head = [
        "<!DOCTYPE html>",
        "<html lang='en'>",
        "<head>",
        "<meta charset='utf-8'>",
        "<meta name='viewport' content='width=device-width, initial-scale=1'>",
        "<title>Wheels</title>",
        f"<style>\n{_STYLE}\n</style>",
        "</head>",
        "<body>",
    ]
    return "\n".join([*head, *body, "</body>", "</html>", ""]).encode()


def _project(project: str, index: Index) -> Iterable[str]:
    """A heading, the newest release's table open, and all other versions folded."""
    rows = [row for row in [*index.wheels, *index.sdists] if row.project == project]
    by_version = {
        version: list(held)
        for version, held in groupby(sorted(rows, key=_newest), key=lambda row: _public(row.version))
    }
    versions = sorted(by_version, reverse=True)
    first = next((v for v in versions if not v.is_prerelease), versions[0])
    yield f"<h2>{escape(project)}</h2>"
    yield from _table(project, first, by_version[first])
    for version in versions:
        if version != first:
            yield f"<details><summary>{escape(project)} {escape(str(version))}</summary>"
            yield from _table(project, version, by_version[version])
            yield "</details>"


def _public(version: str) -> Version:
    return Version(Version(version).public)


def _newest(row: IndexedFile) -> tuple[Version, str, str, str, str]:
    return (_public(row.version), row.cuda or "", row.arch or "", row.family or "", row.file)


def _table(project: str, version: Version, rows: Iterable[IndexedFile]) -> Iterable[str]:
    caption = f"{escape(project)} {escape(str(version))}"
    yield f"<div class='wide' role='region' aria-label='{caption}' tabindex='0'><table><caption>{caption}</caption>"
    sized = "".join(f"<th scope='col'{_size(heading)}>{heading}</th>" for heading in _HEADINGS)
    yield f"<thead><tr>{sized}</tr></thead><tbody>"
    for row in rows:
        link = f"<a href='{escape(row.url)}'>{escape(row.file)}</a>"
        cells = [
            row.cuda or "any",
            row.arch or "any",
            row.family or ("all" if row.cuda else "any"),
            "not known" if row.covers is None else " ".join(row.covers) or "none needed",
        ]
        shown = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        proof = escape(_proven(row.proof, row))
        yield f"<tr>{shown}<td class='size'>{_bytes(row.bytes)}</td><td>{proof}</td><td class='name'>{link}</td></tr>"
    yield "</tbody></table></div>"


def _size(heading: str) -> str:
    return " class='size'" if heading == "Size" else ""


def _proven(proof: Proof | None, row: IndexedFile) -> str:
    if row.placeholder:
        return "placeholder, no code in it"
    if proof is None:
        return "not known"
    if proof.gpu == "passed" and proof.executed:
        return f"ran on {proof.device} ({', '.join(proof.executed)})"
    imported = {"passed": "imports", "failed": "does not import", "skipped": "not tried"}[proof.import_]
    return f"{imported}; fails on a GPU" if proof.gpu == "failed" else f"{imported}; not run on a GPU"


def _bytes(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 100_000 else f"{count / 1e3:.1f} kB"


def _absent(rows: Iterable[NotPublished]) -> Iterable[str]:
    yield "<h2>Not published</h2><ul>"
    for row in rows:
        reason = f": {escape(row.reason)}" if row.reason else ""
        yield f"<li><code>{escape(row.file)}</code> of {escape(row.tag)} ({escape(row.outcome)}{reason})</li>"
    yield "</ul>"
