"""What a shell completes behind the Tab key: ids of entries, names of settings, facts with their values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from distkb.cli.session import session

if TYPE_CHECKING:
    from distkb.catalogue.compiled import Compiled

MOST = 200
"""Names that are offered at most: a shell asks before it lists more."""


def entries(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the ids of entries that begin like this, with their titles."""
    say, wanted = session(ctx).say, incomplete.casefold()
    rows = _compiled(ctx).titles()
    return [CompletionItem(row.id, help=say.text(row.title)) for row in rows if row.id.casefold().startswith(wanted)]


def names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return ids of entries, and names of settings once something is typed."""
    found = entries(ctx, param, incomplete)
    if incomplete:
        wanted = incomplete.casefold()
        known = dict.fromkeys(setting.name for setting in _compiled(ctx).settings())
        found += [CompletionItem(name) for name in known if name.casefold().startswith(wanted)]
    return found[:MOST]


def facts(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return `NAME=VALUE` for the facts that begin like this: first the names, then the values of one."""
    return [item for item in _facts(ctx, "=" in incomplete) if item.value.startswith(incomplete)][:MOST]


def _facts(ctx: click.Context, whole: bool) -> Iterator[CompletionItem]:
    say = session(ctx).say
    for fact in _compiled(ctx).facts():
        if not whole:
            yield CompletionItem(f"{fact.id}=", help=say.text(fact.question))
        else:
            yield from (CompletionItem(f"{fact.id}={v.value}", help=say.text(v.label)) for v in fact.values)


def _compiled(ctx: click.Context) -> Compiled:
    from distkb.cli.knowledge import open_knowledge

    return open_knowledge(session(ctx))
