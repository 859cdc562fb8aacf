"""Commands and groups whose help is in the user's language and whose modules load only when they are called."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem

from distkb.cli.diagnostics import ExitCode, Failure
from distkb.cli.session import global_options, session


def spoken(items: list[CompletionItem], ctx: click.Context) -> list[CompletionItem]:
    """Return what a shell completes with the first sentence of its help, in the user's language."""
    say = session(ctx).say
    for item in items:
        if item.help and say.knows(item.help):
            item.help = say(item.help).partition(". ")[0].partition("\n")[0]
    return items


class Command(click.Command):
    """A command; `help` and the help of its options are keys of sentences."""

    def __init__(self, name: str | None, *, examples: tuple[str, ...] = (), **attributes: Any) -> None:
        settings = {**attributes.pop("context_settings", {}), "allow_extra_args": True}
        super().__init__(name, context_settings=settings, **attributes)
        self.examples = examples
        self.params.extend(global_options())

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the options and arguments that begin like this."""
        return spoken(super().shell_complete(ctx, incomplete), ctx)

    def get_help(self, ctx: click.Context) -> str:
        """Return the help text, laid out for 80 columns."""
        from distkb.cli.helptext import render

        return render(self, ctx, session(ctx).say).rstrip("\n")

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; arguments that it does not take are wrong usage."""
        if ctx.args:
            raise Failure("usage.extra-arguments", arguments=" ".join(ctx.args))
        return super().invoke(ctx)


class CommandGroup(click.Group):
    """A group of commands, each named with the module that holds it as `command`."""

    nothing = "usage.no-command"
    """Key of the sentence for a name that means nothing to the group."""

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the commands and options that begin like this."""
        return spoken(super().shell_complete(ctx, incomplete), ctx)

    def __init__(self, name: str, modules: Mapping[str, str | click.Command], **attributes: Any) -> None:
        super().__init__(name, invoke_without_command=True, no_args_is_help=False, **attributes)
        self.modules = modules
        self.examples: tuple[str, ...] = ()
        self.callback = self._alone
        self.params.extend(global_options())

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the commands in the order of the table."""
        return list(self.modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import a command when it is asked for."""
        found = self.modules.get(cmd_name)
        if found is None or isinstance(found, click.Command):
            return found
        command = import_module(found).command
        return command if isinstance(command, click.Command) else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that `args` begin with."""
        if self.get_command(ctx, args[0]) is None:
            raise self.unknown(ctx, args[0])
        return super().resolve_command(ctx, args)

    def unknown(self, ctx: click.Context, name: str) -> Failure:
        """Return the failure for a name that is no command of this group."""
        from difflib import get_close_matches

        near = get_close_matches(name, self.modules, n=1)
        if near:
            return Failure(f"{self.nothing}-near", name=name, near=near[0])
        return Failure(self.nothing, name=name, commands=", ".join(self.list_commands(ctx)))

    def get_help(self, ctx: click.Context) -> str:
        """Return the help text, laid out for 80 columns."""
        from distkb.cli.helptext import render

        return render(self, ctx, session(ctx).say).rstrip("\n")

    def _alone(self, **_options: object) -> ExitCode:
        """Answer the group's name without a command; what it needs of the options is in the context."""
        ctx = click.get_current_context()
        if ctx.invoked_subcommand is None:
            self.without_command(ctx)
        return ExitCode.DONE

    def without_command(self, ctx: click.Context) -> None:
        """Handle a call without a command: wrong usage, unless a group knows better."""
        raise Failure("usage.missing-command", commands=", ".join(self.list_commands(ctx)))
