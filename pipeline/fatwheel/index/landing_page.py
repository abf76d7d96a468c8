"""The page at the root of the index, for people: choose a wheel, and a table of what there is.

The table needs no script. The part that chooses is shown by its script, which stands in the page as all else does:
nothing is fetched.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from html import escape
from itertools import groupby

from packaging.version import Version

from fatwheel.index.formatting import gpu_words, proof_words, size_words
from fatwheel.index.names import public
from fatwheel.index.picker import picker_data
from fatwheel.records.index import Index, IndexedFile
from fatwheel.resources import resource
from fatwheel.targets import dotted

_KEPT = {False: 4, True: 2}  # versions of a project that are shown: releases, nightlies
_NAMED = 60  # older versions that are named; more are in index.json

_INTRO = (
    "Each wheel holds machine code for some GPUs. Choose yours below, or let "
    "<a href='install_wheel.py'><code>install_wheel.py</code></a> look at the machine and take the one that fits."
)
_PIN = (
    "With pip or uv alone, pin the whole version with its label, as <code>PROJECT==1.0+cu130.sm9x</code>: without the "
    "label both take the one that sorts highest, whatever your GPU."
)
_HEADINGS = ("CUDA", "CPU", "GPUs", "Capabilities", "Size", "Proof", "File")

_Versions = dict[Version, list[IndexedFile]]


def landing_page(index: Index, rows: Sequence[IndexedFile]) -> bytes:
    """The page as HTML. ``rows`` are the index's wheels and sdists, in order."""
    projects = {project: _versions(held) for project, held in groupby(rows, key=lambda row: row.project)}
    shown = {project: _shown(versions) for project, versions in projects.items()}
    chosen = [
        row for project, some in shown.items() for version in some for row in projects[project][version]
        if row.file.endswith(".whl")
    ]  # fmt: skip
    title = f"Wheels of {' and '.join(projects)}" if 0 < len(projects) < 3 else "Wheels"
    body = [
        "<header>",
        f"<h1>{escape(title)}</h1>",
        f"<p>{_INTRO}</p>",
        "</header>",
        "<main>",
        resource("picker.html").read_text(encoding="utf-8").strip() if chosen else "",
        f"<noscript>{_without_script(next(iter(projects), 'PROJECT'))}</noscript>",
        *(line for project, some in shown.items() for line in _project(project, projects[project], some)),
        *_gaps(index),
        *_indexes(rows),
        "</main>",
    ]
    script = resource("picker.js").read_text(encoding="utf-8").strip()
    head = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        f"<title>{escape(title)}</title>",
        f"<style>\n{resource('index.css').read_text(encoding='utf-8').strip()}\n</style>",
        "</head>",
        "<body>",
    ]
    tail = [
        f'<script type="application/json" id="wheels">{picker_data(chosen)}</script>',
        f"<script>\n{script}\n</script>",
    ]
    return "\n".join([*head, *body, *(tail if chosen else []), "</body>", "</html>", ""]).encode()


def _versions(rows: Iterable[IndexedFile]) -> _Versions:
    """By public version, the newest first."""
    by_version: _Versions = defaultdict(list)
    for text, held in groupby(rows, key=lambda row: row.version.partition("+")[0]):  # 1.0 and 1.0.0 are one
        by_version[public(text)] += held
    return {version: by_version[version] for version in sorted(by_version, reverse=True)}


def _shown(versions: _Versions) -> list[Version]:
    """The newest releases, the newest nightlies after them."""
    found: list[Version] = []
    for nightly, count in _KEPT.items():
        kind = [version for version in versions if version.is_devrelease == nightly]
        finals = [version for version in kind if nightly or not version.is_prerelease] or kind
        newest = [version for version in kind if finals and version >= finals[0]]
        found += sorted(dict.fromkeys([*finals[:1], *newest, *kind][: count + 1]), reverse=True)[:count]
    first = next((version for version in found if not version.is_prerelease), None)
    return found if first is None else [first, *(version for version in found if version != first)]


def _without_script(project: str) -> str:
    return (
        f"<section class='card'><h2>Install</h2><p>{_PIN}</p><pre><code>python install_wheel.py {escape(project)} "
        "--index-url ADDRESS_OF_THIS_PAGE</code></pre></section>"
    )


def _project(project: str, versions: _Versions, shown: Sequence[Version]) -> Iterable[str]:
    """A heading, the newest release's table, and other versions folded."""
    yield f"<section class='project' id='{escape(project)}'><h2>{escape(project)}</h2>"
    for place, version in enumerate(shown):
        table = _table(project, version, versions[version])
        if place == 0:
            yield from table
        else:
            kind = "nightly" if version.is_devrelease else "release candidate" if version.is_prerelease else "release"
            yield f"<details><summary>{escape(str(version))} <span class='soft'>{kind}</span></summary>"
            yield from table
            yield "</details>"
    older = [str(version) for version in versions if version not in shown]
    if older:
        more = f" and {len(older) - _NAMED} more" if len(older) > _NAMED else ""
        listed = escape(", ".join(older[:_NAMED]))
        yield f"<p class='soft'>Older, on the index pages and in index.json: {listed}{more}.</p>"
    yield "</section>"


def _table(project: str, version: Version, rows: Sequence[IndexedFile]) -> Iterable[str]:
    caption = f"{escape(project)} {escape(str(version))}"
    total = f"{len(rows)} file{'s' if len(rows) != 1 else ''}, {size_words(sum(row.bytes for row in rows))}"
    yield f"<div class='wide' role='region' aria-label='{caption}' tabindex='0'><table>"
    yield f"<caption>{caption} <span class='soft'>{total}</span></caption>"
    cells = "".join(f"<th scope='col' class='{heading.lower()}'>{heading}</th>" for heading in _HEADINGS)
    yield f"<thead><tr>{cells}</tr></thead><tbody>"
    for row in sorted(rows, key=_by_label):
        yield _row(row)
    yield "</tbody></table></div>"


def _by_label(row: IndexedFile) -> tuple[int, list[tuple[int, int]], bool, str]:
    """The newest CUDA first, then the newest GPUs, then x86_64."""
    covers = sorted((-one.major, -one.minor) for one in row.covers or [])
    return -int((row.cuda or "cu0")[2:]), covers, row.arch != "x86_64", row.file


def _row(row: IndexedFile) -> str:
    kind, proof = proof_words(row)
    label = f"<b>{escape(row.cuda)}</b>" if row.cuda else "any"
    family = f" <span class='tag'>{escape(row.family)}</span>" if row.family else ""
    covers = "not known" if row.covers is None else dotted(row.covers) or "none needed"
    file = f"<a href='{escape(row.url)}'>{escape(row.file).replace('-', '-<wbr>')}</a>"
    if row.yanked is not None:
        file += f" <span class='tag bad'>yanked</span> {escape(row.yanked)}"
    cells = {
        "CUDA": label + (f" <span class='soft'>{escape(row.toolkit)}</span>" if row.toolkit else ""),
        "CPU": escape(row.arch or "any"),
        "GPUs": escape(gpu_words(row)) + family,
        "Capabilities": escape(covers),
        "Size": size_words(row.bytes),
        "Proof": f"<span class='proof {kind}'>{escape(proof)}</span>",
        "File": file,
    }
    shown = "".join(f"<td class='{key.lower()}' data-label='{key}'>{value}</td>" for key, value in cells.items())
    return f"<tr{' class=yanked' if row.yanked is not None else ''}>{shown}</tr>"


def _gaps(index: Index) -> Iterable[str]:
    """What was not published, with the reason, and what is missing; of versions that are old only a count."""
    lines = [
        f"<code>{escape(row.file)}</code> of {escape(row.tag)} ({escape(row.outcome)}"
        f"{f': {escape(row.reason)}' if row.reason else ''})"
        for row in index.absent[-_NAMED:]
    ]
    lines += [escape(str(one)) for one in index.missing[-_NAMED:]]
    count = len(index.absent) + len(index.missing)
    if not count:
        return
    yield "<section><h2>Missing</h2><ul>"
    yield from (f"<li>{line}</li>" for line in lines)
    yield "</ul>"
    if count > len(lines):
        yield f"<p class='soft'>{count - len(lines)} more are in index.json.</p>"
    yield "</section>"


def _indexes(rows: Sequence[IndexedFile]) -> Iterable[str]:
    folders = sorted({page.split("/")[0] for page in {row.page for row in rows}})
    links = ", ".join(f"<a href='{escape(name)}/'>{escape(name)}/</a>" for name in folders) or "none yet"
    yield "<section><h2>For programs</h2>"
    yield f"<p>{_PIN}</p>"
    yield f"<p>Index pages for pip and uv: {links}.</p>"
    yield (
        "<p>The same as data: <a href='index.json'>index.json</a>, as "
        "<a href='index.schema.json'>index.schema.json</a> says.</p></section>"
    )
