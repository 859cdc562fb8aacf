"""Help texts in the user's language, with Hangul widths right."""

from __future__ import annotations

import click

from distkb.cli.command import Command, CommandGroup
from distkb.locale import Say
from distkb.report.layout import width
from distkb.report.page import Page

COLUMNS = 80


def render(command: Command | CommandGroup, ctx: click.Context, say: Say) -> str:
    """Return the whole help of a command or a group."""
    page = Page(COLUMNS)
    usage = " ".join([ctx.command_path, *_usage_pieces(command, ctx)])
    page.paragraph(usage, indent=f"{say('help.usage')} ")
    page.blank()
    for paragraph in say(command.help or "").split("\n"):
        page.paragraph(paragraph)
    if isinstance(command, CommandGroup):
        rows = [(name, say(f"{command.help}.{name}.short")) for name in command.modules]
        _section(page, say("help.commands"), rows)
    arguments = [p for p in command.params if isinstance(p, click.Argument)]
    described = [(a.make_metavar(ctx), say(f"{command.help}.{a.name}")) for a in arguments]
    _section(page, say("help.arguments"), described)
    _section(page, say("help.options"), [_option(p, say) for p in command.get_params(ctx) if _shown(p)])
    if command.examples:
        page.heading(say("help.examples"))
        for example in command.examples:
            page.command(example)
    return page.text()


def welcome(group: CommandGroup, say: Say) -> str:
    """Return what the program is for and how to begin: what fits a small window."""
    page = Page(COLUMNS)
    page.paragraph(say("help").split("\n", maxsplit=1)[0], indent="")
    page.blank()
    rows = [("distkb logs/", say("welcome.logs"))]
    rows += [("distkb diagnose --report problem.txt", say("welcome.report"))]
    rows += [("distkb search hang barrier", say("help.search.short"))]
    rows += [("distkb show D21", say("help.show.short")), ("distkb list", say("help.list.short"))]
    column = max(width(command) for command, _ in rows)
    for command, text in rows:
        page.row([(command, column)], text, indent="  ")
    page.blank()
    page.paragraph(say("welcome.more", commands=", ".join(group.modules)), indent="")
    return page.text()


def _usage_pieces(command: Command | CommandGroup, ctx: click.Context) -> list[str]:
    pieces = ["[OPTIONS]"]
    pieces += [p.make_metavar(ctx) for p in command.params if isinstance(p, click.Argument)]
    if isinstance(command, CommandGroup):
        pieces.append("COMMAND [ARGS]...")
    return pieces


def _shown(parameter: click.Parameter) -> bool:
    return isinstance(parameter, click.Option) and not parameter.hidden


def _option(parameter: click.Parameter, say: Say) -> tuple[str, str]:
    names = ", ".join(sorted(parameter.opts, key=len))
    if "--help" in parameter.opts:
        return names, say("option.help")
    is_flag = getattr(parameter, "is_flag", False)
    return (names if is_flag else f"{names} {_metavar(parameter)}"), say(getattr(parameter, "help", ""))


def _section(page: Page, heading: str, rows: list[tuple[str, str]]) -> None:
    if not rows:
        return
    page.heading(heading)
    column = max(width(name) for name, _ in rows)
    for name, text in rows:
        page.row([(name, column)], text, indent="  ")


def _metavar(parameter: click.Parameter) -> str:
    """Return what stands for the value: its name, or the words that it can be."""
    if parameter.metavar is None and isinstance(parameter.type, click.Choice):
        return "|".join(parameter.type.choices)
    return parameter.metavar or (parameter.name or "").upper()
