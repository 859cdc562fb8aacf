"""What one run of the program knows before its command starts: the language and the knowledge bases."""

from __future__ import annotations

from pathlib import Path

import click

from distkb.locale import Say


class CommonSettings:
    """The settings that every command shares; `--lang` and `--kb` may stand before or after the command."""

    def __init__(self, say: Say) -> None:
        self.say = say
        self.overlays: list[Path] = []


def session(context: click.Context) -> CommonSettings:
    """Return the session that a context belongs to."""
    found = context.find_object(CommonSettings)
    if found is None:
        found = context.find_root().obj = CommonSettings(Say("en"))
    return found


def global_options() -> list[click.Parameter]:
    """Return fresh copies of the options that every command takes."""
    return [
        click.Option(
            ["--lang"],
            type=click.Choice(["en", "ko"], case_sensitive=False),
            metavar="en|ko",
            expose_value=False,
            callback=_set_language,
            help="option.lang",
        ),
        click.Option(
            ["--kb"],
            type=click.Path(path_type=Path),
            metavar="DIR",
            multiple=True,
            expose_value=False,
            callback=_add_overlays,
            help="option.kb",
        ),
    ]


def _set_language(context: click.Context, _: click.Parameter, value: str | None) -> None:
    if value:
        session(context).say = Say("ko" if value == "ko" else "en")


def _add_overlays(context: click.Context, _: click.Parameter, value: tuple[Path, ...]) -> None:
    session(context).overlays.extend(value)
