"""The diagnosis as Markdown, to paste into an issue or a chat: short, and log text can never become markup."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from distkb.catalogue.model import Fix, Step
from distkb.diagnosis.model import Contribution, Diagnosis, RankedCause
from distkb.evidence.observation import Quote
from distkb.locale import Say
from distkb.report.decided import decided
from distkb.report.layout import clean
from distkb.report.meaning import COLLECT, Meanings
from distkb.report.measure import (
    answer,
    best_of_entries,
    could_be,
    entry_total,
    percent,
    runner_up,
    siblings,
    supposition,
)
from distkb.report.page import unified
from distkb.report.story import tell

_SHOWN = 6
_MARKUP = re.compile(r"([\\*_\[\]<>|#~@!])")
_BACKTICKS = re.compile(r"`+")


def write(diagnosis: Diagnosis, meanings: Meanings, say: Say) -> str:
    """Return the diagnosis as a Markdown document."""
    verdict = answer(diagnosis)
    first = diagnosis.causes[0] if diagnosis.causes else None
    if verdict in {"no-evidence", "nothing-wrong"} or first is None:
        blocks = [f"## {say(f'verdict.{verdict}')}"]
        if supposed := could_be(diagnosis):
            blocks += [prose(tell(diagnosis.evidence, meanings, say)), f"**{say(supposition(diagnosis))}**"]
            blocks += _candidates(diagnosis, supposed, say, repairs=True)
        return "\n\n".join(filter(None, blocks)) + "\n"
    unexplained = verdict == "unknown" and meanings.leaves_unexplained(diagnosis.evidence.observations)
    blocks = [f"## {say('verdict.unexplained') if unexplained else _verdict(diagnosis, first, say)}"]
    if told := tell(diagnosis.evidence, meanings, say):
        blocks.append(prose(told))
    if verdict in {"named", "leading"}:
        blocks += _found(diagnosis, first, meanings, say)
        blocks += _decided(diagnosis, "report.decided", say)
    elif unexplained:
        blocks += _unexplained(diagnosis, meanings, say)
    else:
        blocks += _candidates(diagnosis, best_of_entries(diagnosis)[:3], say, repairs=verdict == "undecided")
        blocks += _decided(diagnosis, "report.points-most", say)
    blocks += _next(diagnosis, say)
    return "\n\n".join(blocks) + "\n"


def _verdict(diagnosis: Diagnosis, first: RankedCause, say: Say) -> str:
    if diagnosis.verdict == "unknown":
        return say("verdict.unknown", percent=percent(diagnosis.other))
    if diagnosis.verdict == "undecided":
        return say("verdict.undecided")
    total = percent(entry_total(diagnosis, first.entry.id))
    return say(f"verdict.{diagnosis.verdict}", id=first.entry.id, percent=total)


def _found(diagnosis: Diagnosis, first: RankedCause, meanings: Meanings, say: Say) -> list[str]:
    blocks = [
        f"**{first.entry.id}** {prose(say.text(first.entry.title))}",
        f"**{first.cause.id}** {prose(say.text(first.cause.title))}",
        prose(say.text(first.cause.explanation)),
    ]
    supporting = [c for c in first.evidence if c.weight > 0][:_SHOWN]
    opposing = sorted((c for c in first.evidence if c.weight < 0), key=lambda c: c.weight)[:_SHOWN]
    for heading, chosen in (("report.why-short", supporting), ("report.against", opposing)):
        if chosen:
            blocks.append(f"### {say(heading)}")
            blocks.append("\n".join(_contribution(c, meanings, say) for c in chosen))
    if others := siblings(diagnosis, first):
        blocks.append(f"### {say('report.siblings')}")
        blocks.append("\n".join(row for ranked in others for row in _sibling(ranked, say)))
    rival = runner_up(diagnosis)
    if rival is not None:
        title = prose(say.text(rival.cause.title))
        blocks.append(f"### {say('report.runner-up')}")
        blocks.append(f"**{rival.cause.id}** {title} ({percent(rival.probability)})")
    if remedy := meanings.remedy(diagnosis.remedy, say):
        blocks.append(f"**{say('report.fix-in-short')}** {prose(remedy)}")
    if diagnosis.fix is not None:
        blocks += _fix(diagnosis.fix, say)
    return blocks


def _sibling(ranked: RankedCause, say: Say) -> Iterator[str]:
    """Yield the lines of a cause that is not told from the first one of its entry."""
    yield f"- **{ranked.cause.id}** {prose(say.text(ranked.cause.title))} ({percent(ranked.probability)})"
    for fix in ranked.cause.fixes[:1]:
        yield f"  {say('report.fix-if')} {prose(say.text(fix.title))}"


def _decided(diagnosis: Diagnosis, key: str, say: Say) -> list[str]:
    """Say which of several sources told the first cause from the others."""
    found = decided(diagnosis)
    if found is None:
        return []
    said = prose(say(key, source=say(f"report.source.{found.source}"), id=diagnosis.causes[0].entry.id))
    return [said if found.quote is None else f"{said}\n\n{_quote(found.quote)}"]


def _candidates(diagnosis: Diagnosis, causes: Iterable[RankedCause], say: Say, *, repairs: bool) -> list[str]:
    rows: list[str] = []
    for r in causes:
        total = percent(entry_total(diagnosis, r.entry.id))
        rows.append(f"- **{r.entry.id}** {prose(say.text(r.entry.title))} ({total})")
        for fix in r.cause.fixes[:1] if repairs else ():
            rows.append(f"  - {r.cause.id} {prose(say.text(r.cause.title))}")
            rows.append(f"  - {say('report.fix-if')} {prose(say.text(fix.title))}")
        others = siblings(diagnosis, r) if repairs and r is diagnosis.causes[0] else ()
        rows += [f"  {row}" for ranked in others for row in _sibling(ranked, say)]
    return ["\n".join(rows)] if rows else []


def _unexplained(diagnosis: Diagnosis, meanings: Meanings, say: Say) -> list[str]:
    """Quote the errors of which no entry speaks, and say what to collect."""
    seen = [o for o in diagnosis.evidence.observations if meanings.is_failure(o)][:_SHOWN]
    lines = [f"- {prose(meanings.seen(o, say))}\n  {_quote(o.quotes[0])}" for o in seen if o.quotes]
    collect = "\n".join(f"- {prose(say(f'report.collect.{what}'))}" for what in COLLECT)
    return ["\n".join(lines), f"### {say('report.collect')}", collect]


def _contribution(contribution: Contribution, meanings: Meanings, say: Say) -> str:
    observation = contribution.observation
    lines = [f"- {prose(meanings.seen(observation, say))}"]
    lines += [f"  {_quote(quote)}" for quote in observation.quotes[:1]]
    return "\n".join(lines)


def _quote(quote: Quote) -> str:
    place = ""
    if quote.path is not None:
        place = code(quote.path + (f":{quote.line}" if quote.line is not None else "")) + " "
    return f"{place}{code(quote.text)}" if quote.text else place.rstrip()


def _fix(fix: Fix, say: Say) -> list[str]:
    title = prose(say.text(fix.title))
    if fix.workaround:
        title = say("fix.workaround-title", title=title)
    blocks = [f"### {say('fix.heading', id=fix.id, title=title)}"]
    if fix.workaround:
        blocks.append(say("fix.workaround"))
    blocks.append("\n".join(f"{n}. {prose(say.text(s))}" for n, s in enumerate(fix.steps, start=1)))
    if fix.commands:
        blocks.append(fenced("\n".join(fix.commands), "sh"))
    if fix.code:
        blocks.append(fenced("\n".join(unified(fix.code)), "diff"))
    if fix.changes_results:
        blocks.append(say("fix.changes-results", text=prose(say.text(fix.changes_results))))
    blocks.append(say("fix.verify", text=prose(say.text(fix.verify))))
    return blocks


def _next(diagnosis: Diagnosis, say: Say) -> list[str]:
    step = diagnosis.next.step if diagnosis.next else None
    if step is None:
        return []
    blocks = _step(step, f"report.next.{step.kind}", say)
    collect = diagnosis.collect
    return blocks if collect is None else [*blocks, *_step(collect, f"report.or.{collect.kind}", say)]


def _step(step: Step, heading: str, say: Say) -> list[str]:
    blocks = [f"### {say(heading)}", prose(say.text(step.text))]
    return [*blocks, fenced("\n".join(step.commands), "sh")] if step.commands else blocks


def prose(text: str) -> str:
    """Return a text of the catalogue for use in running Markdown: only its `code` keeps a meaning."""
    parts = clean(text).split("`")
    if len(parts) % 2 == 0:
        return _MARKUP.sub(r"\\\1", clean(text)).replace("`", r"\`")
    return "`".join(part if n % 2 else _MARKUP.sub(r"\\\1", part) for n, part in enumerate(parts))


def code(text: str) -> str:
    """Return untrusted text as inline code, fenced by more backticks than it holds in a row."""
    text = clean(text)
    fence = "`" * (_longest(text) + 1)
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{space}{text}{space}{fence}"


def fenced(text: str, language: str) -> str:
    """Return a code block that its own content cannot close."""
    fence = "`" * max(3, _longest(text) + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _longest(text: str) -> int:
    return max((len(run) for run in _BACKTICKS.findall(text)), default=0)
