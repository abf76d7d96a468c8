"""Reading a matrix.yaml: form first, then what must agree, all problems together."""

from __future__ import annotations

from pathlib import Path

from packaging.version import InvalidVersion, Version

from pipeline.declaration.checks import check
from pipeline.declaration.declaration import Declaration
from pipeline.declaration.source import read_yaml
from pipeline.declaration.structure import validate
from pipeline.errors import DeclarationError, Problem, UsageError


def load(path: Path) -> Declaration:
    """A checked declaration. Raises `DeclarationError` with all that is wrong, `UsageError` without such a file."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UsageError(f"there is no {path}", remedy="give --matrix FILE, or begin with `fatwheel init`") from None
    except IsADirectoryError:
        raise UsageError(f"{path} is a folder", remedy="give --matrix FILE") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text (byte {error.start})", where=str(path)) from None
    return parse(text, path)


def parse(text: str, path: Path) -> Declaration:
    """The same from text that stands, or stood, in ``path``."""
    source = read_yaml(text, str(path))
    if source.value is None:
        raise DeclarationError(tuple(source.problems) or (Problem(str(path), 1, 1, "the file is empty"),))
    document, rest, problems, broken = validate(source)
    problems = [*source.problems, *problems]
    if document is not None:
        seen = {(p.line, p.column) for p in problems}
        problems += [p for p in check(document, rest, path.parent, broken) if (p.line, p.column) not in seen]
    version = document.version if document else None
    if document and document.version_file and (path.parent / document.version_file).is_file():
        version = (path.parent / document.version_file).read_text(encoding="utf-8").strip()
        try:
            version = str(Version(version))
        except InvalidVersion:
            problems.append(
                source.problem(("version_file",), f"{document.version_file} holds '{version}', which is no version")
            )
    if problems or document is None or version is None:
        raise DeclarationError(tuple(problems))
    return Declaration(path, document, source, version)
