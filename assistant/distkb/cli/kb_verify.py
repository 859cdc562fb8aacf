"""`distkb kb verify`: what released packages say of the texts, names and version ranges of the knowledge base."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from distkb.cli import diagnostics, output
from distkb.cli.command import Command
from distkb.cli.diagnostics import ExitCode, Failure
from distkb.cli.session import session
from distkb.report.layout import clean

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from distkb.catalogue.load import Loaded
    from distkb.catalogue.model import Catalogue
    from distkb.catalogue.verified import Verified
    from distkb.locale import Say
    from distkb.verify.packages import Kind, PackageError


@click.command(
    "verify", cls=Command, help="help.kb.verify", examples=("distkb kb verify", "distkb kb verify nccl accelerate")
)
@click.argument("component", nargs=-1, metavar="[COMPONENT]...")
@click.option("--cache", type=click.Path(path_type=Path), metavar="DIR", help="option.verify-cache")
@click.option("--write", "mended", is_flag=True, help="option.verify-write")
@click.pass_context
def command(ctx: click.Context, component: tuple[str, ...], cache: Path | None, mended: bool) -> ExitCode:
    """Look into packages, write what was found, and print each range that differs as `file:line:column: message`."""
    from distkb.catalogue.checks.verified import check_verified
    from distkb.catalogue.load import load_located
    from distkb.catalogue.places import builtin, cache_directory, checkout
    from distkb.catalogue.verified import read
    from distkb.verify.mend import mend
    from distkb.verify.packages import KINDS
    from distkb.verify.run import look_up, write

    current = session(ctx)
    if not current.overlays and checkout() is None:
        raise Failure("error.verify-needs-kb")
    known = sorted({kind.component for kind in KINDS})
    for given in component:
        if given not in known:
            raise Failure("error.verify-component", given=given, known=", ".join(known))
    home = current.overlays[0] if current.overlays else builtin()
    loaded = load_located([home])
    before = read(home)
    kinds = [kind for kind in KINDS if not component or kind.component in component]
    cache = cache or cache_directory() / "packages"
    missing: dict[str, PackageError] = {}
    verified = look_up(
        loaded.catalogue(),
        kinds,
        cache,
        lambda path, found: diagnostics.echo(current.say("kb.verify.package", name=path.name, found=found)),
        lambda kind, problem: missing.update({kind.name: problem}),
        before,
    )
    write(home, verified)
    if mended:
        for name in mend(loaded, verified):
            diagnostics.echo(current.say("kb.verify.mended", name=name))
        loaded = load_located([home])
    here = Path.cwd()
    problems = list(check_verified(loaded))
    lines = [clean(problem.shown(here)) for problem in problems]
    looked = [kind for kind in kinds if kind.name not in missing]
    lines += _news(loaded.catalogue(), looked, verified, cache, current.say)
    lines += _changes(verified, component, current.say)
    lines += _defaults(before, verified, current.say)
    lines += _sum(loaded, verified, home, current.say)
    lines.append(current.say.count("kb.verify.differs", len(problems)) if problems else current.say("kb.verify.sound"))
    output.write("\n".join(lines) + "\n")
    for name, problem in missing.items():
        diagnostics.echo(current.say("error.verify-pip", component=name, reason=clean(str(problem))))
    if missing:
        return ExitCode.UNABLE
    return ExitCode.FINDINGS if problems else ExitCode.DONE


def _news(catalogue: Catalogue, kinds: Sequence[Kind], verified: Verified, cache: Path, say: Say) -> Iterator[str]:
    """Yield the variables that only the newest package of each kind knows, and the messages that it has lost."""
    from distkb.verify.news import gone_messages, unknown_names
    from distkb.verify.packages import package

    for kind in kinds:
        version = verified.packages[kind.name].versions[-1]
        newest = package(kind, version, cache)
        if names := unknown_names(newest, catalogue):
            yield say("kb.verify.news", component=kind.name, version=version, names=", ".join(names))
        gone = gone_messages(newest, kind.component, version, catalogue) if kind.declares else []
        yield from (clean(say("kb.verify.gone", component=kind.name, version=version, text=text)) for text in gone)


def _changes(verified: Verified, components: tuple[str, ...], say: Say) -> list[str]:
    """Return of each claim about these components the wordings that not all versions with one of them have."""
    lines: list[str] = []
    for name, looked in verified.claims.items():
        for kind, wordings in looked.found.items():
            component = verified.packages[kind].component
            if component in components and len({one.whole for one in wordings.values()}) > 1:
                lines += [name] if name not in lines else []
                lines += [
                    "  "
                    + clean(say("kb.verify.changed", text=text, component=component, versions=", ".join(one.whole)))
                    for text, one in wordings.items()
                ]
    return lines


def _defaults(before: Verified | None, now: Verified, say: Say) -> Iterator[str]:
    """Yield the defaults that the newest packages have and the newest of the last run had not."""
    from distkb.catalogue.verified import default_at

    for name, by_kind in now.defaults.items():
        for kind, declared in by_kind.items():
            looked = now.packages[kind]
            held = before.defaults.get(name, {}).get(kind) if before else None
            if before and held is not None:
                last, newest = before.packages[kind].versions[-1], looked.versions[-1]
                old = default_at(held, last, before.packages[kind].versions)
                new = default_at(declared, newest, looked.versions)
                if None not in (old, new) and old != new:
                    of, to = f"{looked.component} {last}", f"{looked.component} {newest}"
                    yield clean(say("kb.verify.default", name=name, old=old, new=new, last=of, newest=to))


def _sum(loaded: Loaded, verified: Verified, home: Path, say: Say) -> list[str]:
    from distkb.catalogue.checks.verified import explanations

    how = Counter(version.how for record in loaded.of("signature") for version in record.value.seen_in)
    found = sum(bool(looked.found) for looked in verified.claims.values())
    return [
        say(
            "kb.verify.sum",
            claims=len(verified.claims),
            packages=sum(len(kind.versions) for kind in verified.packages.values()),
            found=found,
            unseen=len(verified.claims) - found,
            explained=len(explanations(home)[0]),
        ),
        say("kb.verify.how", counts=", ".join(f"{name} {count}" for name, count in how.most_common())),
    ]
