"""One entry for people: how it looks, each cause and how to tell it, every fix, what does not help, the sources."""

from __future__ import annotations

from distkb.catalogue.model import Cause, Entry, Version
from distkb.locale import Say
from distkb.report.meaning import Meanings
from distkb.report.page import Ink, Page, plain
from distkb.report.signs import SHOWN, speaking_against, speaking_for, table
from distkb.report.text import write_fix


def write(
    entry: Entry, meanings: Meanings, say: Say, *, columns: int = 80, ink: Ink = plain, whole: bool = True
) -> str:
    """Return the entry as text of `columns` display columns; unless it is `whole`, with the most telling signs only."""
    page = Page(columns, ink)
    page.title(say.text(entry.title), first=f"{entry.id}  ")
    page.paragraph(say("entry.line", family=say(f"family.{entry.family}"), status=say(f"status.{entry.status}")))
    page.blank()
    for number, line in enumerate(table(entry, meanings, say, columns)):
        page.line(line, "", "heading" if number == 0 else None)
    page.blank()
    page.paragraph(say.text(entry.summary))
    page.heading(say("entry.symptoms"))
    for symptom in entry.symptoms:
        page.item("-", say.text(symptom))
    _messages(page, entry, say)
    for cause in entry.causes:
        _cause(page, cause, meanings, say, most=len(cause.cues) if whole else SHOWN)
    if entry.does_not_help:
        page.heading(say("entry.does-not-help"))
        for text in entry.does_not_help:
            page.item("-", say.text(text))
    _end(page, entry, meanings, say)
    return page.text()


def _messages(page: Page, entry: Entry, say: Say) -> None:
    """Add what the failure prints, with what each line means."""
    printed = [(signature, signature.example) for signature in entry.signatures if signature.example]
    if printed:
        page.heading(say("entry.messages"))
    for signature, example in printed:
        page.item("-", say.text(signature.means))
        page.quote(example, "    ")


def _cause(page: Page, cause: Cause, meanings: Meanings, say: Say, *, most: int) -> None:
    page.blank()
    page.title(say("entry.cause", id=cause.id, title=say.text(cause.title)))
    page.paragraph(say(f"prior.{cause.prior}"), role="faint")
    page.blank()
    page.paragraph(say.text(cause.explanation))
    found = (
        ("entry.speaks-for", speaking_for(cause, meanings)),
        ("entry.speaks-against", speaking_against(cause, meanings)),
    )
    for name, chosen in found:
        if chosen:
            page.heading(say(name))
        for evidence in chosen[:most]:
            page.item("-", meanings.sentence(evidence.observation, say))
        if len(chosen) > most:
            page.paragraph(say.count("entry.more-signs", len(chosen) - most), role="faint")
    if cause.confused_with:
        page.heading(say("entry.confused-with"))
        for confusion in cause.confused_with:
            title = meanings.title(confusion.id, say)
            page.item(confusion.id, title or say.text(confusion.how_to_tell))
            if title:
                page.paragraph(say.text(confusion.how_to_tell), "    ")
    page.heading(say("entry.fixes"))
    for fix in cause.fixes:
        write_fix(page, fix, say, heading=False)


def _end(page: Page, entry: Entry, meanings: Meanings, say: Say) -> None:
    if entry.repro:
        page.heading(say("entry.reproduce"))
        if entry.repro.hardware:
            page.paragraph(say.text(entry.repro.hardware))
        recorded = entry.repro.kind == "hw"
        page.command(f"distkb repro run {entry.id}{' --recorded' if recorded else ''}")
        if not recorded:
            page.command(f"distkb repro run {entry.id} --fixed")
    if entry.related:
        page.heading(say("entry.related"))
        for identity in entry.related:
            page.item(identity, meanings.title(identity, say))
    if entry.applies_to:
        page.heading(say("entry.applies-to"))
        for version in entry.applies_to:
            page.item("-", _range(version, say))
    page.heading(say("entry.references"))
    for reference in entry.references:
        page.item("-", say("entry.reference", title=reference.title, accessed=reference.accessed))
        page.paragraph(reference.url, "    ", "faint")


def _range(version: Version, say: Say) -> str:
    if version.since and version.until:
        return say("version.between", component=version.component, since=version.since, until=version.until)
    if version.since:
        return say("version.since", component=version.component, since=version.since)
    if version.until:
        return say("version.until", component=version.component, until=version.until)
    return version.component
