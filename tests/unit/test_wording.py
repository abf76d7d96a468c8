"""Docstrings, comments, messages and documentation use the terms of this project, in plain US English.

``python tests/unit/test_wording.py [PATH]...`` prints every retired word as ``file:line: word -> replacement``.
Text in backticks is not checked, and neither are string literals without a space: both hold names and contracts.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# Regular expressions of retired words and phrases, and what to write instead.
RETIRED = {
    # The reader is "you"; an actor has a name.
    r"nobody|no-one|whoever|whom|somebody|someone else|anybody|everybody|those who": "you, or name the actor",
    r"people('s)?": "users, or a noun",
    # Foreign idioms.
    r"(?<!there )(?:is|are) no(?! longer)": "'invalid X', 'not a X', 'X not found'",
    r"so many": "N, or 'number of'",
    r"(?<!for )so long(?! as)|for so long": "this long",
    r"told|tells?|speaks?|spoken|spoke|says?|saying|said": "report, print, show, list, contain, declare",
    r"mend(?:s|ed|ing)?|remed(?:y|ies)": "fix, help",
    r"anew|once more|over again": "rebuild, rewrite, retry, regenerate, again",
    r"in (?:the|its|their) place of": "instead of",
    r"side by side": "in parallel",
    r"at hand|at the rim|to the last page|the accident|out of the running": "drop the idiom",
    r"in silence": "silently",
    r"(?:can|cannot|could not|must|may|to|not) be had|is had|are had": "available, cannot get/pull/download X",
    r"keeps? to": "respects, follows",
    r"becomes? of": "what to do with, happens to",
    r"(?:hold|holds|held|holding)\b[^.;:]{0,40}\bagainst": "compare with",
    r"bears?|bearing|bore|carr(?:y|ies|ied|ying)": "contains, has, includes",
    r"lies": "is in",
    r"stands?(?! for| in for| out| alone)|stood": "is, exists",
    r"heeds?|heeded": "respect, follow",
    r"shall": "must, or present tense",
    r"lack(?:s|ed|ing)?": "missing",
    r"(?:is|are|was|were) not there|(?:that|what|which) (?:is|are) there(?! to)|there already|is there already": (
        "missing, present, existing"
    ),
    r"leaves? alone|left alone": "not changed",
    r"leaves? out|leave out|left out|held back|holds? back": "exclude, omit, withhold",
    r"take(?:s|n)? back": "undo",
    r"each by itself|one by itself": "independently",
    r"asked for|wanted": "expected, requested",
    r"reckon\w*|weighs?|weighed|price[sd]?|pricing": "size per target, estimate, size",
    r"none of fatwheel's|one of ours|of our own": "not written by fatwheel, local",
    r"(?:was|is|were|be|been|and|are) ended": "killed, stopped, canceled",
    r"as it is so|it is so|that is not so": "rewrite",
    # Terms.
    r"the house|house's|stations?|the whole line|through the line|of the line": "architecture, stage, pipeline",
    r"(?:the|a|this|its|one|no|first) declarations?|declarations": "matrix.yaml, the configuration",
    r"mistakes?|things? wrong|something odd|odd(?! (?:number|index|offset))": "error, unusual, unexpected",
    r"promis(?:e|es|ed|ing)": "required coverage, allow, declare",
    r"proofs?|proves?|proven|proving|not proved": "GPU test, GPU-tested, untested",
    r"held draft|left a draft|wanted assets?|(?:is|are|not) live|live release": "draft, expected, uploaded",
    r"shel(?:f|ves)": "store",
    r"orphans?|orphaned": "stale",
    r"sound|is what it says|not right|is right": "valid, OK, failed verification",
    r"dead(?= code| bytes| modules?)|no device loads|nothing loads": "unused device code",
    r"slim(?:s|med|mer|ming)?|thin(?:s|ned|ning)": "strip, remove, filter",
    r"faked|fakes": "placeholder",
    r"spellings?": "target format",
    r"exit status(?:es)?|statuses|status (?:of )?\d+|(?:ends?|ended|ending) with (?:a )?(?:status )?\d": (
        "exit code, exits with code N"
    ),
    r"bill of materials'? page|page for people": "SBOM, landing page",
    r"gpu'?less": "without a GPU",
    # US spelling, and no contractions.
    r"licen[c]e[sd]?": "license",
    r"\w+(?:al|gn|an|im|il|mar|ron)is(?:e|es|ed|ing|ation|er)": "-ize",
    r"colou?red by hand|colour(?:s|ed|ing|less)?|behaviours?|honour\w*|favour\w*|neighbours?|labour": "-or",
    r"spelt|learnt|whilst|amongst|artefacts?|catalogues?|grey|centre[ds]?|judgement|programmes?|defence": "US spelling",
    r"(?<!!)cancell(?:ed|ing)(?!\()|labell(?:ed|ing)|modell(?:ed|ing)|travell(?:ed|ing)": "one l",
    r"\w+n't|(?:it|that|there|what|let|who|he|she|here)'s|(?:they|we|you)'(?:re|ve|ll)": "no contractions",
    # Units.
    r"kB|(?:\d+|of|to|in|a) ?[MGT]B": "KiB, MiB, GiB, through sizes.size",
}  # fmt: skip

# Retired in messages and documentation only: code, docstrings and comments may use them.
RETIRED_IN_MESSAGES = {
    r"drift(?:s|ed|ing)?": "out of date",
    r"there (?:is|are) no": "'X not found', 'no X found'",
    r"faults?|problems?|findings?": "error, warning, note",
    r"slices?": "partial wheel",
}

# Uses that are right: a patterns, by file.
ALLOWED: dict[str, tuple[str, ...]] = {
    "docs/benchmarks.md": (r"(?:kinds of|one) fault", r"fault matrix"),
    "docs/explanation/sizes.md": (r"1,046 MB",),  # quoted
    "docs/explanation/uploads.md": (r"fault matrix",),
    "pipeline/fatwheel/declaration/template.py": (r"spelling: ",),  # a key of matrix.yaml
}

SCANNED = (
    "pipeline", "scripts", "benchmarks", "docs", "noxfile.py", "README.md", "CONTRIBUTING.md", "CHANGELOG.md",
    "matrix.yaml", "examples", ".github", "pyproject.toml", ".pre-commit-config.yaml",
)  # fmt: skip
KINDS = {".py", ".md", ".yaml", ".yml", ".html", ".js", ".toml"}
SKIPPED = {"_build", "reference", "__pycache__", ".nox", ".fatwheel", ".venv"}


def _compiled(table: dict[str, str]) -> list[tuple[re.Pattern[str], str]]:
    return [(re.compile(rf"(?<![\w-])(?:{text})(?![\w-])", re.IGNORECASE), use) for text, use in table.items()]


EVERYWHERE = _compiled(RETIRED)
IN_MESSAGES = _compiled(RETIRED_IN_MESSAGES)
BACKTICKS = re.compile(r"^```.*?^```$|(`+)[^`]+?\1", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, order=True)
class Hit:
    """A retired word: the file, relative to the root, the line, the word, what to write instead, and its text."""

    path: str
    line: int
    word: str
    use: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.word!r} -> {self.use}"


@dataclass(frozen=True)
class Text:
    """Prose of a file, with the line it starts at; ``message`` is true if users read it."""

    line: int
    text: str
    message: bool


def files(paths: Iterable[Path]) -> Iterator[Path]:
    """The files below some paths that hold prose."""
    for path in paths:
        found = [path] if path.is_file() else sorted(path.rglob("*"))
        for one in found:
            inside = one.relative_to(ROOT).parts
            if one.is_file() and one.suffix in KINDS and not SKIPPED & set(inside):
                yield one


def prose(path: Path) -> Iterator[Text]:
    """The prose of a file: all of a document, the comments of YAML, the docstrings, comments and messages of Python."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        yield from _python(source)
    elif path.suffix in {".yaml", ".yml", ".toml"}:
        for number, line in enumerate(source.splitlines(), 1):
            if "#" in line:
                yield Text(number, line.split("#", 1)[1], message=True)
    else:
        yield Text(1, source, message=True)


def _python(source: str) -> Iterator[Text]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield Text(token.start[0], token.string, message=False)
    tree = ast.parse(source)
    docstrings = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            for statement in body:  # attribute docstrings too
                if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                    docstrings.add(id(statement.value))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.search(r"\s", node.value.strip()):
            yield Text(node.lineno, node.value, message=id(node) not in docstrings)


def hits(path: Path) -> Iterator[Hit]:
    """The retired words of one file."""
    name = path.relative_to(ROOT).as_posix()
    allowed = [re.compile(text, re.IGNORECASE) for text in ALLOWED.get(name, ())]
    for part in prose(path):
        text = (
            BACKTICKS.sub(lambda match: re.sub(r"[^\n]", "`", match[0]), part.text)
            if path.suffix != ".js"
            else part.text
        )
        taken = [span.span() for pattern in allowed for span in pattern.finditer(text)]
        for pattern, use in EVERYWHERE + (IN_MESSAGES if part.message else []):
            for match in pattern.finditer(text):
                if not any(start <= match.start() < end for start, end in taken):
                    line = part.line + text.count("\n", 0, match.start())
                    yield Hit(name, line, " ".join(match[0].split()), use)


ALL = [path for path in files(ROOT / name for name in SCANNED) if path != Path(__file__).resolve()]


@pytest.mark.parametrize("path", ALL, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_uses_no_retired_word(path: Path) -> None:
    assert not [str(hit) for hit in sorted(hits(path))]


if __name__ == "__main__":
    places = [Path(text).resolve() for text in sys.argv[1:]] or [ROOT / name for name in SCANNED]
    found = sorted(hit for path in files(places) for hit in hits(path))
    print("\n".join(map(str, found)))  # noqa: T201 - a script too
    sys.exit(bool(found))
