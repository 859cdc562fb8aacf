"""`distkb site build`: the catalogue as a static site."""

from __future__ import annotations

from pathlib import Path

import click

from distkb.cli import knowledge
from distkb.cli.command import Command
from distkb.cli.diagnostics import ExitCode, Failure, note
from distkb.cli.session import session


@click.command(
    "build",
    cls=Command,
    help="help.site.build",
    examples=(
        "distkb site build --out public",
        "distkb site build --out public --base-url https://example.org/distkb/",
    ),
)
@click.option("--out", type=click.Path(path_type=Path), required=True, metavar="DIR", help="option.site-out")
@click.option("--base-url", metavar="URL", help="option.base-url")
@click.option("--repository", metavar="URL", help="option.site-repository")
@click.pass_context
def command(ctx: click.Context, out: Path, base_url: str | None, repository: str | None) -> ExitCode:
    """Write the site."""
    from importlib.util import find_spec

    current = session(ctx)
    if find_spec("jinja2") is None:
        raise Failure("error.no-jinja", code=ExitCode.UNABLE)
    for given in (base_url, repository):
        if given is not None and not given.startswith(("https://", "http://")):
            raise Failure("error.base-url", given=given)
    from distkb.catalogue.guide import load_guides
    from distkb.catalogue.incident import load_incidents
    from distkb.catalogue.places import knowledge_bases
    from distkb.docsite.build import NotOursError, build, sources
    from distkb.docsite.runtime import DamagedRuntimeError, missing
    from distkb.docsite.views import Library
    from distkb.report.meaning import Meanings

    compiled = knowledge.open_knowledge(current)
    catalogue = compiled.catalogue()
    guides, _ = load_guides(knowledge_bases(current.overlays))
    incidents, _ = load_incidents(knowledge_bases(current.overlays))
    library = Library(
        catalogue, tuple(guides), Meanings(catalogue), compiled.search_index(), incidents=tuple(incidents)
    )
    try:
        pages = build(library, out, base_url=base_url, repository=repository)
    except NotOursError:
        raise Failure("error.site-folder", path=out) from None
    except DamagedRuntimeError as error:
        raise Failure("error.site-runtime", path=error) from None
    if names := missing(sources() / "runtime"):
        note(current.say("site.without-engine", names=", ".join(names), path=sources() / "runtime"), current.say)
    note(current.say("site.built", pages=pages, path=out), current.say)
    return ExitCode.DONE
