"""The program `distkb`: finds the command, and ends every run with an exit code and never a traceback."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import click
from click.shell_completion import CompletionItem

from distkb import __version__
from distkb.cli import output
from distkb.cli.command import CommandGroup
from distkb.cli.diagnostics import ExitCode, Failure, error, fail
from distkb.cli.session import CommonSettings, session
from distkb.cli.usage import explain
from distkb.locale import Say, choose
from distkb.probing.registry import PROBES, module_of

SCREEN_OPTIONS = frozenset({"--lang", "--kb"})
"""Options that may stand beside paths that the screen is to open; any other one asks for a diagnosis."""

_SELDOM = 100_000
"""New objects between two searches for cycles, of which a command makes few: the usual 700 cost a tenth of a start."""


class Root(CommandGroup):
    """The top of the command line. On a terminal it opens the screen; paths in the place of a command go with it.

    Where nobody looks at the output, paths are diagnosed.
    """

    nothing = "usage.no-command-or-path"

    def main(self, args: Sequence[str] | None = None, *_: Any, **__: Any) -> NoReturn:
        """Run and exit; the call that click's own test runner makes."""
        sys.exit(self.run(sys.argv[1:] if args is None else args))

    def run(self, args: Sequence[str]) -> int:
        """Run one command line and return its exit code; whatever goes wrong is one line on stderr."""
        gc.set_threshold(_SELDOM)
        output.prepare()
        current = CommonSettings(Say(choose(args)))
        try:
            return (
                super().main(args=list(args), prog_name="distkb", standalone_mode=False, obj=current) or ExitCode.DONE
            )
        except Failure as failure:
            return fail(failure, current.say)
        except click.ClickException as wrong:
            return fail(explain(wrong), current.say)
        except (click.Abort, KeyboardInterrupt):
            return ExitCode.INTERRUPTED
        except OSError as problem:
            reason = problem.strerror or type(problem).__name__
            return fail(
                Failure("error.os", code=ExitCode.UNABLE, path=str(problem.filename or "-"), reason=reason),
                current.say,
            )
        except Exception as bug:
            if os.environ.get("DISTKB_TRACEBACK"):
                raise
            error(current.say("error.internal", kind=type(bug).__name__, message=str(bug)), current.say)
            return ExitCode.UNABLE

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command when it is asked for; the screen has no name of its own on the command line."""
        if cmd_name == "screen":
            from distkb.cli.screen import command

            return command
        return super().get_command(ctx, cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; an existing path stands for the screen with that path, or for `diagnose`."""
        if args[0] == "screen" and not Path(args[0]).exists():
            raise self.unknown(ctx, args[0])
        if args[0] == "-":
            return "diagnose", self.get_command(ctx, "diagnose"), args
        if args[0] not in self.modules and Path(args[0]).exists():
            options = {arg.partition("=")[0] for arg in args if arg.startswith("-")}
            plain = not output.is_interactive() or not options <= SCREEN_OPTIONS
            name = "diagnose" if plain else "screen"
            return name, self.get_command(ctx, name), args
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete commands, and paths, which may stand in their place."""
        return [*super().shell_complete(ctx, incomplete), CompletionItem(incomplete, type="file")]

    def without_command(self, ctx: click.Context) -> None:
        """Open the screen; where there is no terminal, diagnose what is piped in, else print how to begin."""
        resume: str | None = ctx.params.get("resume")
        if output.is_interactive():
            from distkb.cli.screen import open_screen

            ctx.exit(open_screen(session(ctx), resume=resume))
        if resume is not None:
            raise Failure("error.no-terminal", code=ExitCode.UNABLE)
        from distkb.cli import stdin

        if stdin.is_given():
            from distkb.cli.diagnose import command as diagnose

            ctx.exit(ctx.invoke(diagnose, paths=(stdin.DASH,), report=None, facts=(), as_json=False, as_markdown=False))
        from distkb.cli.helptext import welcome

        output.write(welcome(self, session(ctx).say))


def _print_version(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        output.write(f"distkb {__version__}\n")
        ctx.exit()


cli = Root(
    "distkb",
    {
        "search": "distkb.cli.search",
        "show": "distkb.cli.show",
        "list": "distkb.cli.list",
        "diagnose": "distkb.cli.diagnose",
        "digest": "distkb.cli.digest",
        "check": "distkb.cli.check",
        "probe": CommandGroup(
            "probe",
            {
                **{name: module_of(name) for name in PROBES},
                "path": "distkb.cli.probe_path",
            },
            help="help.probe",
        ),
        "watch": "distkb.cli.watch",
        "advise": "distkb.cli.advise",
        "schema": "distkb.cli.schema",
        "skill": "distkb.cli.skill",
        "mcp": "distkb.cli.mcp",
        "repro": CommandGroup(
            "repro",
            {"list": "distkb.cli.repro_list", "run": "distkb.cli.repro_run"},
            help="repro.help",
        ),
        "eval": CommandGroup(
            "eval",
            {"diagnosis": "distkb.cli.eval_diagnosis", "search": "distkb.cli.eval_search"},
            help="help.eval",
        ),
        "site": CommandGroup("site", {"build": "distkb.cli.site_build"}, help="help.site"),
        "kb": CommandGroup(
            "kb",
            {
                "check": "distkb.cli.kb_check",
                "verify": "distkb.cli.kb_verify",
                "new": "distkb.cli.kb_new",
                "schema": "distkb.cli.kb_schema",
            },
            help="help.kb",
        ),
    },
    help="help",
    params=[
        click.Option(["--resume"], is_flag=False, flag_value="latest", metavar="[ID]", help="option.resume"),
        click.Option(
            ["--version"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_print_version,
            help="option.version",
        ),
    ],
)


def main() -> NoReturn:
    """Run the command line of this process and end it.

    The interpreter is not taken down module by module: that costs more than a search does, and everything that is
    written is flushed by then. `python -m distkb` ends the ordinary way, for profilers and debuggers.
    """
    code = cli.run(sys.argv[1:])
    output.flush()
    os._exit(code)
