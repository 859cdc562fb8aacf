"""`distkb show D21`: one entry, whole; `distkb show NCCL_TIMEOUT`: one setting; `distkb show G1`: one guide."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from distkb.cli import knowledge, output
from distkb.cli.command import Command
from distkb.cli.complete import names
from distkb.cli.diagnostics import ExitCode, Failure
from distkb.cli.session import session

if TYPE_CHECKING:
    from distkb.catalogue.compiled import Compiled
    from distkb.catalogue.guide import GuideText
    from distkb.cli.session import CommonSettings
    from distkb.report.meaning import Meanings


class Show(Command):
    """The command, to which a name with its dashes is a name, as it stands in what the command prints."""

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete options of the command, and flags that it shows."""
        found = super().shell_complete(ctx, incomplete)
        return [*found, *names(ctx, self.params[0], incomplete)] if incomplete.startswith("-") else found

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments; what looks like an option and is like none of this command is the name to show."""
        try:
            return super().parse_args(ctx, list(args))
        except click.NoSuchOption as wrong:
            name = next((arg for arg in args if arg.startswith(wrong.option_name)), None)
            if name is None or wrong.possibilities:
                raise
            others = list(args)
            others.remove(name)
            left = super().parse_args(ctx, [*others, "--", name])
            if left:
                raise
            return left


@click.command(
    "show",
    cls=Show,
    help="help.show",
    examples=(
        "distkb show D21",
        "distkb show D21 --lang ko",
        "distkb show NCCL_TIMEOUT",
        "distkb show --rdzv-endpoint",
    ),
)
@click.argument("entry", metavar="ENTRY", shell_complete=names)
@click.option("--all", "whole", is_flag=True, help="option.show-all")
@click.option("--json", "as_json", is_flag=True, help="option.json")
@click.pass_context
def command(ctx: click.Context, entry: str, whole: bool, as_json: bool) -> ExitCode:
    """Print one entry or one setting."""
    current = session(ctx)
    compiled = knowledge.open_knowledge(current)
    identity = _find(compiled, entry)
    if identity is None:
        guide = _guide(entry, current)
        if guide is not None:
            return _show_guide(guide, current, as_json=as_json)
        return _show_setting(compiled, entry, current, as_json=as_json)
    found = next(known for known in compiled.entries() if known.id == identity)
    if as_json:
        from distkb.report.entry_document import document
        from distkb.report.json import encode

        output.write(encode(document(found)))
        return ExitCode.DONE
    from distkb.report import entry as view

    columns, ink = output.columns(), output.ink()
    output.write(view.write(found, _meanings(compiled), current.say, columns=columns, ink=ink, whole=whole))
    return ExitCode.DONE


def _guide(name: str, current: CommonSettings) -> GuideText | None:
    """Return the guide of that id or slug."""
    wanted = name.strip().lower()
    if not wanted.startswith("g") and "-" not in wanted:
        return None
    from distkb.catalogue.guide import load_guides
    from distkb.catalogue.places import knowledge_bases

    guides, _ = load_guides(knowledge_bases(current.overlays))
    return next((guide for guide in guides if wanted in (guide.id.lower(), guide.slug)), None)


def _show_guide(guide: GuideText, current: CommonSettings, *, as_json: bool) -> ExitCode:
    if as_json:
        from distkb.report.json import encode

        output.write(encode(guide))
        return ExitCode.DONE
    from distkb.report import guide as view

    output.write(view.write(guide, current.say, columns=output.columns(), ink=output.ink()))
    return ExitCode.DONE


def _meanings(compiled: Compiled) -> Meanings:
    """Return what the observations of an entry mean, without decoding what no entry refers to."""
    from distkb.catalogue.model import Catalogue
    from distkb.report.meaning import Meanings

    catalogue = Catalogue(
        entries=compiled.entries(),
        signatures=compiled.signatures(),
        facts=compiled.facts(),
        findings=compiled.findings(),
        steps=(),
        terms=(),
    )
    return Meanings(catalogue)


def _find(compiled: Compiled, name: str) -> str | None:
    """Return the id of the entry that `name` means: its id in any case, the id of one of its causes, or its slug."""
    names = {row.id.lower(): row.id for row in compiled.titles()}
    names |= {row.slug.lower(): row.id for row in compiled.titles()}
    wanted = name.strip().lower()
    return names.get(wanted) or names.get(wanted.partition(".")[0])


def _show_setting(compiled: Compiled, name: str, current: CommonSettings, *, as_json: bool) -> ExitCode:
    """Print the settings of that name, or what is known of a name without a record."""
    from distkb.report import setting as view
    from distkb.settings import lookup

    found = lookup.find(compiled.settings(), name)
    listed = None if found else lookup.known_name(compiled.names(), name)
    if not found and listed is None:
        raise _unknown(name, compiled)
    shown = name.strip().strip("$").upper()
    if as_json:
        from distkb.report.json import encode

        output.write(encode(view.document(found, listed, shown)))
        return ExitCode.DONE
    columns, ink = output.columns(), output.ink()
    if listed is not None:
        output.write(view.write_listed(shown, listed, current.say, columns=columns, ink=ink))
        return ExitCode.DONE
    around = view.Surroundings.of(compiled)
    output.write(view.write(found, around, current.say, columns=columns, ink=ink))
    return ExitCode.DONE


def _unknown(name: str, compiled: Compiled) -> Failure:
    """Return the failure for a name that means nothing. Of entries only slugs are guessed: alike ids mean other things.

    What looks like a variable or a flag is compared with the settings.
    """
    from difflib import get_close_matches

    if "_" in name or name.startswith("-"):
        from distkb.settings.lookup import nearest

        setting = nearest(compiled.settings(), compiled.names(), name)
        key = "setting.none-near" if setting else "setting.none"
        return Failure(key, name=name, near=setting or "")
    near = get_close_matches(name.strip().lower(), [row.slug for row in compiled.titles()], n=1)
    return Failure("error.no-entry-near", name=name, near=near[0]) if near else Failure("error.no-entry", name=name)
