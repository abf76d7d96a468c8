"""The command `fatwheel`: one lazily loaded module for each verb, and errors turned into exit statuses."""

from __future__ import annotations

import errno
import gc
import importlib
import os
import sys

import click

from fatwheel import __version__
from fatwheel.errors import PipelineError

_INTERRUPTED = 130
_REFUSED = {errno.ENOSPC, errno.EACCES, errno.EROFS, errno.EPERM, errno.EDQUOT, errno.EFBIG}
_NO_SUCH_PLACE = {errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENAMETOOLONG, errno.ELOOP}  # to write to

# Verb -> what it does. Here, so that `--help` imports no command; a test compares with the commands' own help.
VERBS: dict[str, str] = {
    "check": "Check a declaration, and what was generated from it.",
    "plan": "Show what a channel builds, what it leaves out, and why.",
    "build": "Build cells into wheels.",
    "inventory": "List the machine code in a wheel, by module and target.",
    "verify": "Check that a wheel is sound, and what its cell says.",
    "split": "Divide a fat wheel into its family or target wheels.",
    "shim": "Write a metadata-only wheel that requires providers exactly.",
    "repack": "Write a wheel anew: the same bytes every time, and changed as asked.",
    "smoke": "Import a wheel in a bare environment, and run it on a GPU.",
    "release": "Bring assets into a release, each by itself.",
    "status": "Compare a live release with its plan.",
    "publish": "Publish a held draft, once it is what it should be.",
    "prune": "Remove a channel's old releases, with their index rows.",
    "index": "Write the index of what a store's published releases hold.",
    "yank": "Mark files of an index as yanked: nobody gets them who does not name them.",
    "unyank": "Take yanking back.",
    "variants": "Make wheel variants (PEP 817, 825: drafts) of wheels that fatwheel built.",
    "report": "Report wheel sizes, growth, and time left until the size limit.",
    "rehearse": "Run the whole line on this machine.",
    "generate": "Write the GitHub Actions workflows of a declaration.",
    "deliver": "Write the index of one or more stores where users read it.",
    "pick": "Take from a workflow run what may go to PyPI.",
    "pins": "Show the commits at which actions are used, or move them to the newest versions.",
    "images": "Show the container images, or pin them by the digests that their tags have now.",
    "init": "Write a first matrix.yaml.",
    "schema": "Write the JSON Schema of matrix.yaml.",
    "doctor": "Show what this machine can build, smoke and release, and what it lacks.",
    "toolkits": "Show what each CUDA toolkit compiles; compare with a ptxas.",
}


class _Verbs(click.Group):
    """A group whose commands are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in VERBS:
            return None
        command: click.Command = importlib.import_module(f"fatwheel.commands.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            import difflib

            near = difflib.get_close_matches(args[0], VERBS, n=1)
            ctx.fail(f"there is no command '{args[0]}'" + (f"; did you mean '{near[0]}'?" if near else ""))
        return super().resolve_command(ctx, args)


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80})
@click.version_option(__version__, prog_name="fatwheel")
def fatwheel() -> None:
    """Release CUDA wheels from one declaration, matrix.yaml.

    Exit status: 0 done, 2 usage or declaration, 3 drift, 4 build, 5 verification
    or smoke, 6 release incomplete, 7 refused and nothing sent, 124 timeout,
    130 interrupted.
    """


def main() -> None:
    """Run the command and exit with its status."""
    _start_fast()
    status = run(sys.argv[1:])
    gc.freeze()  # the process ends: nothing that is left needs to be looked through
    sys.exit(status)


def _start_fast() -> None:
    """A third less start-up: no search for pydantic plugins, and few collections while modules and plans are made."""
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    gc.set_threshold(100_000, 20, 20)


def run(arguments: list[str]) -> int:
    """The exit status of one command line; what went wrong is said on standard error."""
    try:
        result = fatwheel.main(args=arguments, prog_name="fatwheel", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help() if error.ctx else str(error), err=True)
        return 2
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except PipelineError as error:
        from fatwheel.console.output import echo_error

        echo_error(error)
        return error.status
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted: what was finished stays, nothing is half-written", err=True)
        return _INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    except OSError as error:
        status = 2 if error.errno in _NO_SUCH_PLACE else 4 if error.errno in _REFUSED else 0
        if not status:
            raise
        place = error.filename2 or error.filename
        start = click.style("error", fg="red", bold=True)
        click.echo(f"{start}: {f'{place}: ' if place else ''}{error.strerror}", err=True)
        return status
    return result if isinstance(result, int) else 0


if __name__ == "__main__":
    main()
