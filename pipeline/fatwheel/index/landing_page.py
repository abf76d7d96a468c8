"""Render the landing page of an index: a wheel picker, and tables of the newest wheels.

The tables require no JavaScript; the picker is hidden without it. Script, style and data are inline: the page fetches
nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from html import escape
from itertools import groupby

from packaging.version import Version

from fatwheel.formatting import count_of, join_names
from fatwheel.index.descriptions import describe_gpus, describe_test
from fatwheel.index.file_names import public_version
from fatwheel.index.picker import render_picker_data
from fatwheel.records.index import Index, IndexedFile
from fatwheel.resources import resource
from fatwheel.sizes import size
from fatwheel.targets import dotted

_VISIBLE = {False: 4, True: 2}  # visible versions of a project: releases, nightlies
_MAX_NAMES = 60  # older versions and missing wheels to list; index.json has all

_INTRO = (
    "Each wheel contains code for some GPUs. Choose your GPU below, or run "
    "<a href='install_wheel.py'><code>install_wheel.py</code></a>, which detects it and installs the right wheel."
)
_PIN = (
    "With pip or uv alone, pin the full version with its label, such as <code>PROJECT==1.0+cu130.sm9x</code>. Without "
    "the label, both install the one that sorts highest, whatever your GPU."
)
_HEADINGS = ("CUDA", "CPU", "GPUs", "Capabilities", "Size", "Test", "File")

_Versions = dict[Version, list[IndexedFile]]


def render_landing_page(index: Index, entries: Sequence[IndexedFile]) -> bytes:
    """Render the page as HTML. ``entries`` are the wheels and sdists of the index, sorted."""
    projects = {project: _group_versions(some) for project, some in groupby(entries, key=lambda entry: entry.project)}
    shown = {project: _choose_versions(versions) for project, versions in projects.items()}
    chosen = [
        entry for project, some in shown.items() for version in some for entry in projects[project][version]
        if entry.file.endswith(".whl")
    ]  # fmt: skip
    title = f"{' and '.join(projects)} wheels" if 0 < len(projects) < 3 else "Wheels"
    body = [
        "<header>",
        f"<h1>{escape(title)}</h1>",
        f"<p>{_INTRO}</p>",
        "</header>",
        "<main>",
        resource("picker.html").read_text(encoding="utf-8").strip() if chosen else "",
        f"<noscript>{_render_without_script(next(iter(projects), 'PROJECT'))}</noscript>",
        *(line for project, some in shown.items() for line in _render_project(project, projects[project], some)),
        *_render_missing(index),
        *_render_links(entries),
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
        f'<script type="application/json" id="wheels">{render_picker_data(chosen)}</script>',
        f"<script>\n{script}\n</script>",
    ]
    return "\n".join([*head, *body, *(tail if chosen else []), "</body>", "</html>", ""]).encode()


def _group_versions(entries: Iterable[IndexedFile]) -> _Versions:
    """Group the entries of a project by public version, newest first."""
    by_version: _Versions = defaultdict(list)
    for text, some in groupby(entries, key=lambda entry: entry.version.partition("+")[0]):  # 1.0 and 1.0.0 are equal
        by_version[public_version(text)] += some
    return {version: by_version[version] for version in sorted(by_version, reverse=True)}


def _choose_versions(versions: _Versions) -> list[Version]:
    """Choose the versions to show: the newest releases, then the newest nightlies."""
    found: list[Version] = []
    for nightly, count in _VISIBLE.items():
        kind = [version for version in versions if version.is_devrelease == nightly]
        finals = [version for version in kind if nightly or not version.is_prerelease] or kind
        newest = [version for version in kind if finals and version >= finals[0]]
        found += sorted(dict.fromkeys([*finals[:1], *newest, *kind][: count + 1]), reverse=True)[:count]
    first = next((version for version in found if not version.is_prerelease), None)
    return found if first is None else [first, *(version for version in found if version != first)]


def _render_without_script(project: str) -> str:
    return (
        f"<section class='card'><h2>Install</h2><p>{_PIN}</p><pre><code>python install_wheel.py {escape(project)} "
        "--index-url URL_OF_THIS_PAGE</code></pre></section>"
    )


def _render_project(project: str, versions: _Versions, shown: Sequence[Version]) -> Iterable[str]:
    """Render the section of a project: a table of its newest release, and folded tables of other versions."""
    yield f"<section class='project' id='{escape(project)}'><h2>{escape(project)}</h2>"
    for place, version in enumerate(shown):
        table = _render_table(project, version, versions[version])
        if place == 0:
            yield from table
        else:
            kind = "nightly" if version.is_devrelease else "release candidate" if version.is_prerelease else "release"
            yield f"<details><summary>{escape(str(version))} <span class='soft'>{kind}</span></summary>"
            yield from table
            yield "</details>"
    older = [str(version) for version in versions if version not in shown]
    if older:
        names = escape(join_names(older, _MAX_NAMES))
        yield f"<p class='soft'>Older versions, on the project pages and in index.json: {names}.</p>"
    yield "</section>"


def _render_table(project: str, version: Version, entries: Sequence[IndexedFile]) -> Iterable[str]:
    caption = f"{escape(project)} {escape(str(version))}"
    total = f"{count_of(len(entries), 'file')}, {size(sum(entry.bytes for entry in entries))}"
    yield f"<div class='wide' role='region' aria-label='{caption}' tabindex='0'><table>"
    yield f"<caption>{caption} <span class='soft'>{total}</span></caption>"
    cells = "".join(f"<th scope='col' class='{heading.lower()}'>{heading}</th>" for heading in _HEADINGS)
    yield f"<thead><tr>{cells}</tr></thead><tbody>"
    for entry in sorted(entries, key=_sort_key):
        yield _render_row(entry)
    yield "</tbody></table></div>"


def _sort_key(entry: IndexedFile) -> tuple[int, list[tuple[int, int]], bool, str]:
    """Sort by CUDA release and by GPUs, newest first, then x86_64 first."""
    covers = sorted((-one.major, -one.minor) for one in entry.covers or [])
    return -int((entry.cuda or "cu0")[2:]), covers, entry.arch != "x86_64", entry.file


def _render_row(entry: IndexedFile) -> str:
    kind, test = describe_test(entry)
    label = f"<b>{escape(entry.cuda)}</b>" if entry.cuda else "any"
    family = f" <span class='tag'>{escape(entry.family)}</span>" if entry.family else ""
    covers = "unknown" if entry.covers is None else dotted(entry.covers) or "-"
    file = f"<a href='{escape(entry.url)}'>{escape(entry.file).replace('-', '-<wbr>')}</a>"
    if entry.yanked is not None:
        file += f" <span class='tag bad'>yanked</span> {escape(entry.yanked)}"
    cells = {
        "CUDA": label + (f" <span class='soft'>{escape(entry.toolkit)}</span>" if entry.toolkit else ""),
        "CPU": escape(entry.arch or "any"),
        "GPUs": escape(describe_gpus(entry)) + family,
        "Capabilities": escape(covers),
        "Size": size(entry.bytes),
        "Test": f"<span class='{kind}'>{escape(test)}</span>",
        "File": file,
    }
    shown = "".join(f"<td class='{key.lower()}' data-label='{key}'>{value}</td>" for key, value in cells.items())
    return f"<tr{' class=yanked' if entry.yanked is not None else ''}>{shown}</tr>"


def _render_missing(index: Index) -> Iterable[str]:
    """Render the section of missing wheels: those excluded from releases, with the reason, and gaps."""
    lines = [
        f"<code>{escape(entry.file)}</code> of {escape(entry.tag)} ({escape(entry.outcome)}"
        f"{f': {escape(entry.reason)}' if entry.reason else ''})"
        for entry in index.absent[-_MAX_NAMES:]
    ]
    lines += [escape(str(one)) for one in index.missing[-_MAX_NAMES:]]
    count = len(index.absent) + len(index.missing)
    if not count:
        return
    yield "<section><h2>Missing wheels</h2><ul>"
    yield from (f"<li>{line}</li>" for line in lines)
    yield "</ul>"
    if count > len(lines):
        yield f"<p class='soft'>{count - len(lines)} more in index.json.</p>"
    yield "</section>"


def _render_links(entries: Sequence[IndexedFile]) -> Iterable[str]:
    folders = sorted({page.split("/")[0] for page in {entry.page for entry in entries}})
    links = ", ".join(f"<a href='{escape(name)}/'>{escape(name)}/</a>" for name in folders) or "none yet"
    yield "<section><h2>Package index</h2>"
    yield f"<p>{_PIN}</p>"
    yield f"<p>Index URLs for pip and uv: {links}.</p>"
    yield (
        "<p>Machine-readable data: <a href='index.json'>index.json</a>, described by "
        "<a href='index.schema.json'>index.schema.json</a>.</p></section>"
    )
