"""Options that mean the same in every command, and the completion of their values."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from fatwheel.console.output import Output, echo_detail
from fatwheel.console.summaries import SUMMARIES
from fatwheel.errors import UsageError
from fatwheel.vocabulary import CHANNELS, ENGINES, TOOLCHAINS

PATH = click.Path(path_type=Path)
_DEFAULT_MATRIX = Path("matrix.yaml")
_NO_MATRIX = "fatwheel.no-matrix"  # key of the context's meta

Decorator = Callable[[Any], Any]


def named_command(name: str) -> Callable[[Callable[..., Any]], click.Command]:
    """Make a click command whose help is its summary and the function's docstring."""

    def decorate(function: Callable[..., Any]) -> click.Command:
        details = inspect.getdoc(function)
        help = f"{SUMMARIES[name]}\n\n{details}" if details else SUMMARIES[name]
        made: click.Command = click.command(name, help=help)(function)
        made.params += verbosity_options()
        return made

    return decorate


# Verbosity


def _set_quiet(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
    del parameter
    if value:
        ctx.ensure_object(Output).quiet = True


def _set_verbose(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
    del parameter
    if value:
        ctx.ensure_object(Output).verbose = True


def verbosity_options() -> list[click.Parameter]:
    """Return --quiet and --verbose, which every command has."""
    return [
        click.Option(
            ["--quiet", "-q"], is_flag=True, is_eager=True, expose_value=False, callback=_set_quiet,
            help="Print results and errors only.",
        ),
        click.Option(
            ["--verbose", "-v"], is_flag=True, is_eager=True, expose_value=False, callback=_set_verbose,
            help="Also print which files are read.",
        ),
    ]  # fmt: skip


json_option: Decorator = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


# matrix.yaml


def _required_matrix(ctx: click.Context, parameter: click.Parameter, value: Path) -> Path:
    del ctx, parameter
    if value.is_file():
        echo_detail(f"using {value}")
    return value


def _optional_matrix(ctx: click.Context, parameter: click.Parameter, value: Path | None) -> Path | None:
    if ctx.meta.get(_NO_MATRIX):
        if ctx.get_parameter_source(str(parameter.name)) is ParameterSource.COMMANDLINE:
            raise UsageError("--matrix and --no-matrix exclude each other", help="give one of them")
        found = None
    else:
        found = value or (_DEFAULT_MATRIX if _DEFAULT_MATRIX.is_file() else None)
    echo_detail(f"using {found}" if found else "using no matrix.yaml")
    return found


def _set_no_matrix(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
    del parameter
    ctx.meta[_NO_MATRIX] = value


matrix_option: Decorator = click.option(
    "--matrix", "-m", type=PATH, default=_DEFAULT_MATRIX, envvar="FATWHEEL_MATRIX", show_default=True,
    show_envvar=True, callback=_required_matrix, help="Path to matrix.yaml.",
)  # fmt: skip


def optional_matrix_option(function: Any) -> Any:
    """Add --matrix, by default ./matrix.yaml if it exists, and --no-matrix; the value is a path or None."""
    matrix = click.option(
        "--matrix", "-m", type=PATH, default=None, envvar="FATWHEEL_MATRIX", show_envvar=True,
        callback=_optional_matrix, help="Path to matrix.yaml.  [default: ./matrix.yaml if it exists]",
    )  # fmt: skip
    no_matrix = click.option(
        "--no-matrix", is_flag=True, is_eager=True, expose_value=False, callback=_set_no_matrix,
        help="Ignore ./matrix.yaml.",
    )  # fmt: skip
    return matrix(no_matrix(function))


def is_given(name: str) -> bool:
    """Return whether a parameter of the current command was given on the command line."""
    return click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE


# Completion: quick, and silent about everything that is wrong.


def _cell_ids(ctx: click.Context, incomplete: str) -> Iterable[str]:
    from fatwheel.declaration import load
    from fatwheel.plan import iter_cells

    path = ctx.params.get("matrix") or Path(os.environ.get("FATWHEEL_MATRIX") or _DEFAULT_MATRIX)
    return [cell.id for cell in iter_cells(load(path)) if cell.id.startswith(incomplete)]


def complete_cells(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the IDs of the cells of ./matrix.yaml that begin with a text; none if it cannot be read."""
    del parameter
    try:
        return list(dict.fromkeys(_cell_ids(ctx, incomplete)))
    except Exception:  # noqa: BLE001  # completion must not disturb the prompt
        return []


# Choices

channel_choice = click.Choice(CHANNELS)
channel_option: Decorator = click.option(
    "--channel", "-c", type=channel_choice, default="release", show_default=True, help="Channel of matrix.yaml."
)
engine_option: Decorator = click.option(
    "--engine", type=click.Choice(ENGINES), default="host", show_default=True,
    help="Build on the host or in a container.",
)  # fmt: skip
toolchain_option: Decorator = click.option(
    "--toolchain", type=click.Choice(TOOLCHAINS), default="auto", show_default=True,
    help="Source of the CUDA toolkit.",
)  # fmt: skip
date_option: Decorator = click.option(
    "--date", default=None, metavar="YYYYMMDD", envvar="FATWHEEL_DATE", show_envvar=True,
    help="Date of a nightly version.  [default: today, UTC]",
)  # fmt: skip
only_option: Decorator = click.option(
    "--only", metavar="GLOB", default=None, shell_complete=complete_cells, help="Select cells whose ID matches."
)


store_option: Decorator = click.option(
    "--store", metavar="STORE",
    help="Release store: dir:PATH or github:OWNER/REPO.  [default: the release channel's repository]",
)  # fmt: skip
"""``--store STORE``; matrix.yaml gives the default (`choose_store_spec`)."""


def tag_option(*, required: bool = True) -> Decorator:
    """Return --tag TAG."""
    return click.option("--tag", required=required, metavar="TAG", help="Tag of the release.")


plan_file_option: Decorator = click.option(
    "--plan", "plan_file", type=PATH, help="Plan (JSON).  [default: the plan in the release's manifest]"
)
