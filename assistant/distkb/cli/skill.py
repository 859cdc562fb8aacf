"""`distkb skill`: one short file that tells a coding agent when to call which command, and what never to do."""

from __future__ import annotations

from pathlib import Path

import click

from distkb.cli import output
from distkb.cli.command import Command, CommandGroup
from distkb.cli.diagnostics import ExitCode
from distkb.cli.session import CommonSettings, session

CALLS: tuple[tuple[str, ...], ...] = (
    ("digest",),
    ("diagnose",),
    ("search",),
    ("show",),
    ("probe", "script"),
    ("probe", "launch"),
    ("probe", "fsdp"),
    ("probe", "flight-recorder"),
    ("probe", "stacks"),
    ("schema",),
)
"""Commands that an agent is told of, in the order in which one needs them."""


@click.command("skill", cls=Command, help="help.skill", examples=("distkb skill --write .claude/skills/distkb",))
@click.option("--write", "folder", metavar="DIR", type=click.Path(path_type=Path), help="option.skill-write")
@click.pass_context
def command(ctx: click.Context, folder: Path | None) -> ExitCode:
    """Print the file, or write it into a folder."""
    text = _text(ctx, session(ctx))
    if folder is None:
        output.write(text)
        return ExitCode.DONE
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "SKILL.md"
    path.write_text(text, encoding="utf-8")
    output.write(f"{path}\n")
    return ExitCode.DONE


def _text(ctx: click.Context, current: CommonSettings) -> str:
    from distkb.report import skill

    rows = [_call(ctx, names, current) for names in CALLS]
    return skill.write(rows, current.say)


def _call(ctx: click.Context, names: tuple[str, ...], current: CommonSettings) -> tuple[str, str, tuple[str, ...]]:
    """What a command is called, what its help says of it, and its examples."""
    group: click.Command | None = ctx.find_root().command
    short = ""
    for name in names:
        if isinstance(group, CommandGroup):
            short = current.say(f"{group.help}.{name}.short")
            group = group.get_command(ctx, name)
    examples = group.examples if isinstance(group, Command) else ()
    return " ".join(("distkb", *names)), short, examples
