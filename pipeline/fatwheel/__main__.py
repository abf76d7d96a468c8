"""The `fatwheel` command: imports a command's module when it is called, and turns errors into exit codes."""

from __future__ import annotations

import gc
import importlib
import os
import sys
from pathlib import Path

import click

from fatwheel import __version__
from fatwheel.console.options import verbosity_options
from fatwheel.console.output import Output, allow_color, echo_error, echo_json
from fatwheel.console.summaries import GROUPS, LESS_USED, SUMMARIES
from fatwheel.errors import Interrupted, PipelineError

_EXIT_CODES = """\
Exit codes: 0 success, 2 usage or configuration error, 3 generated files out of date, 4 build failed,
5 verification or smoke test failed, 6 release incomplete, 7 release refused (nothing uploaded), 124 timed out,
130 interrupted.
"""


class _Commands(click.Group):
    """A group whose commands are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(SUMMARIES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in SUMMARIES:
            return None
        command: click.Command = importlib.import_module(f"fatwheel.commands.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        width = max(map(len, SUMMARIES))
        for title, commands in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:<{width}}", summary) for name, summary in commands.items()])
        with formatter.section("Less used"):
            formatter.write_text(", ".join(LESS_USED))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in SUMMARIES and not args[0].startswith("-"):
            from fatwheel.console.failures import unknown_command

            raise unknown_command(args[0], SUMMARIES)
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[click.shell_completion.CompletionItem]:
        """Complete a command's name without importing the commands, or an option."""
        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        from click.shell_completion import CompletionItem

        return [CompletionItem(name, help=text) for name, text in SUMMARIES.items() if name.startswith(incomplete)]


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
    epilog=_EXIT_CODES,
    params=verbosity_options(),
)
@click.version_option(__version__, "-V", "--version", prog_name="fatwheel", message="%(prog)s %(version)s")
def fatwheel() -> None:
    """Build, verify and release CUDA wheels from one matrix.yaml."""


def main() -> None:
    """Run the command line of this process and exit with its exit code."""
    _start_fast()
    exit_code = run(sys.argv[1:])
    gc.freeze()  # the process is about to exit: skip the last collection
    sys.exit(exit_code)


def _start_fast() -> None:
    """Skip the search for pydantic plugins and most garbage collections: a third of the start-up time."""
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    gc.set_threshold(100_000, 20, 20)


def run(arguments: list[str]) -> int:
    """Run one command line and return its exit code; errors are printed on standard error.

    On failure, writes an `ErrorRecord` to the file named by FATWHEEL_ERROR_RECORD, if it is set; with ``--json``,
    prints it on standard output unless the command has already printed its result.
    """
    record = os.environ.pop("FATWHEEL_ERROR_RECORD", None)  # for this process, not for those it starts
    output = Output()
    try:
        result = fatwheel.main(
            args=arguments, prog_name="fatwheel", standalone_mode=False, obj=output, color=allow_color()
        )
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help() if error.ctx else str(error), err=True)
        return 2
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    except (Exception, KeyboardInterrupt) as error:
        failure = _as_failure(error)
        if failure is None:
            raise
        echo_error(failure)
        as_json = "--json" in arguments and not output.json_printed
        if as_json or record:
            _record(failure, Path(record) if record else None, as_json=as_json)
        return failure.exit_code
    return result if isinstance(result, int) else 0


def _as_failure(error: BaseException) -> PipelineError | None:
    """Return the error to report; None for a defect of fatwheel, which is shown with its traceback."""
    if isinstance(error, PipelineError):
        return error
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return Interrupted("interrupted: finished work is kept, no partial files are left")
    from fatwheel.console.failures import from_click, from_system

    if isinstance(error, click.ClickException):
        return from_click(error)
    return from_system(error) if isinstance(error, OSError) else None


def _record(failure: PipelineError, path: Path | None, *, as_json: bool) -> None:
    """Print the error as JSON, and write it to ``path``."""
    from fatwheel.records.error import ErrorRecord

    found = ErrorRecord.of(failure)
    if as_json:
        echo_json({"error": found.model_dump(mode="json")})
    if path:
        try:
            found.write(path)
        except OSError as error:
            click.echo(f"warning: cannot write the error record {path}: {error.strerror}", err=True)


if __name__ == "__main__":
    main()
