"""What each page shows, as plain values for its template."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from distkb.catalogue.guide import GuideText
from distkb.catalogue.incident import StoredIncident
from distkb.catalogue.model import PRIOR_WEIGHT, PROBABILITY, Catalogue, Cause, Confusion, Cue, Entry, Fix, Signature
from distkb.catalogue.records import Language, Text
from distkb.docsite import colours
from distkb.docsite.diagrams import drawing
from distkb.docsite.text import Writer, code
from distkb.locale import Say
from distkb.report.meaning import Meanings
from distkb.report.signs import TELLS, SignsRow, rows, speaking_for

OPEN = 3
"""Signs that stand open with a cause."""
MOST_FOR, MOST_AGAINST = 7, 4
"""So much of what speaks for a cause and against it stands on its page, the strongest first; nobody reads 40 lines."""


OPENING = 25
"""Characters that the first sentence of a summary has at least; the table of fixes follows it."""


@dataclass(frozen=True, eq=False)
class Library:
    """Everything that the pages are made from."""

    catalogue: Catalogue
    guides: tuple[GuideText, ...]
    meanings: Meanings
    search: bytes | memoryview = b""
    """The search index as it is stored with the catalogue; where it is empty, it is built."""
    incidents: tuple[StoredIncident, ...] = ()

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The entries in the order of the catalogue."""
        return self.catalogue.entries


def entry(shown: Entry, library: Library, write: Writer, say: Say, *, drawn: str = "drawn") -> dict[str, Any]:
    """Return the values of an entry's page; `drawn` begins the ids of its drawing."""
    lead, rest = opening(say.text(shown.summary))
    return {
        "entry": shown,
        "family": say(f"family.{shown.family}"),
        "status": say(f"status.{shown.status}"),
        "read": max((reference.accessed for reference in shown.references), default=""),
        "lead": write.inline(lead),
        "rest": write.paragraphs(rest),
        "summary": write.paragraphs(say.text(shown.summary)),
        "rows": [row(one, library, write, say) for one in rows(shown.causes, library.meanings)],
        "symptoms": [write.inline(say.text(text)) for text in shown.symptoms],
        "messages": [_message(signature, write, say) for signature in shown.signatures if signature.example],
        "causes": [_cause(cause, shown, library, write, say) for cause in shown.causes],
        "useless": [write.inline(say.text(text)) for text in shown.does_not_help],
        "related": [(identity, library.meanings.title(identity, say)) for identity in shown.related],
        "versions": [version(one, say) for one in shown.applies_to],
        "references": shown.references,
        "repro": _repro(shown, library, write, say),
        "drawing": drawing(drawn, shown.diagram, say) if shown.diagram else "",
        "drawn": write.inline(say.text(shown.diagram.says)) if shown.diagram else "",
        "source": f"kb/entries/{shown.family}/{shown.id}-{shown.slug}/entry.yaml",
    }


def _message(signature: Signature, write: Writer, say: Say) -> dict[str, str]:
    return {
        "means": write.inline(say.text(signature.means)),
        "example": signature.example or "",
        "address": f"m/{signature.id}.html" if "log" in signature.where else "",
        "versions": ", ".join(version(one, say) for one in signature.seen_in),
    }


_SENTENCE = re.compile(r"(?<=[.?!])\s+(?=[A-Z가-힣`])")


def opening(text: str) -> tuple[str, str]:
    """Return the first sentence of a text, and the rest; what is short or holds code across the cut stays whole."""
    for match in _SENTENCE.finditer(text):
        first = text[: match.start()]
        if len(first) >= OPENING and first.count("`") % 2 == 0 and first.count("(") == first.count(")"):
            return first, text[match.end() :]
    return text, ""


def row(told: SignsRow, library: Library, write: Writer, say: Say) -> dict[str, str]:
    """Return the row of a cause: what one sees, what to check, and the first fix; what is missing is empty."""
    fix = told.fix
    sentences = [library.meanings.sentence(one, say) if one else "" for one in (told.seen, told.checked)]
    seen, checked = map(write.inline, sentences)
    return {
        "id": told.cause.id,
        "title": write.code_only(say.text(told.cause.title)),
        "seen": seen,
        "check": f"{code(told.command)} {checked}".rstrip() if told.command else checked,
        "fix": fix.id if fix else "",
        "fix_title": write.code_only(say.text(fix.title)) if fix else "",
    }


def _cause(cause: Cause, shown: Entry, library: Library, write: Writer, say: Say) -> dict[str, Any]:
    meanings = library.meanings
    ranked = sorted(cause.cues, key=meanings.lift)
    shown_open = speaking_for(cause, meanings, shown.causes)[:OPEN]
    speaks_for = [one for one in reversed(ranked) if meanings.lift(one) >= TELLS and one not in shown_open][:MOST_FOR]
    speaks_against = [one for one in ranked if meanings.lift(one) <= 1.0 / TELLS][:MOST_AGAINST]
    return {
        "id": cause.id,
        "title": write.inline(say.text(cause.title)),
        "plain_title": say.text(cause.title).replace("`", ""),
        "prior": say(f"prior.{cause.prior}"),
        "explanation": write.paragraphs(say.text(cause.explanation)),
        "signs": [_evidence(one, library, write, say) for one in shown_open],
        "evidence": [
            (heading, [_evidence(one, library, write, say) for one in chosen])
            for heading, chosen in (
                (say("entry.speaks-for"), speaks_for),
                (say("entry.speaks-against"), speaks_against),
            )
            if chosen
        ],
        "confused": [_confusion(one, meanings, write, say) for one in cause.confused_with],
        "fixes": [fix_of(fix, write, say) for fix in cause.fixes],
    }


def _confusion(one: Confusion, meanings: Meanings, write: Writer, say: Say) -> str:
    """Return how to tell an entry apart; it is named where its sentence does not name it."""
    how = say.text(one.how_to_tell)
    if re.search(rf"(?<![\w.]){re.escape(one.id.partition('.')[0])}(?!\w)", how):
        return write.inline(how)
    return f"{write.link(one.id)} {write.inline(meanings.title(one.id, say))}: {write.inline(how)}"


def _evidence(evidence: Cue, library: Library, write: Writer, say: Say) -> dict[str, str]:
    return {
        "text": write.inline(library.meanings.sentence(evidence.observation, say)),
        "likelihood": say(f"site.sign.{evidence.likelihood}"),
    }


def fix_of(fix: Fix, write: Writer, say: Say) -> dict[str, Any]:
    """Return what a page shows of a fix."""
    return {
        "id": fix.id,
        "title": write.inline(say.text(fix.title)),
        "terms": say("fix.terms", cost=say(f"cost.{fix.cost}"), risk=say(f"risk.{fix.risk}")),
        "workaround": say("fix.workaround") if fix.workaround else "",
        "steps": [write.inline(say.text(step)) for step in fix.steps],
        "commands": [command.rstrip("\n") for command in fix.commands],
        "diff": colours.diff(fix.code) if fix.code else "",
        "language": fix.code.language if fix.code else "",
        "changes": write.inline(say.text(fix.changes_results)) if fix.changes_results else "",
        "verify": write.inline(say.text(fix.verify)),
    }


def version(given: Any, say: Say) -> str:
    """Return a range of versions of a component in words."""
    since, until = given.since, given.until
    if since and until:
        return say("version.between", component=given.component, since=since, until=until)
    if since:
        return say("version.since", component=given.component, since=since)
    return say("version.until", component=given.component, until=until) if until else str(given.component)


def _repro(shown: Entry, library: Library, write: Writer, say: Say) -> dict[str, Any] | None:
    """Return the commands that show the failure, and what of it the first one is known to show."""
    repro = shown.repro
    if repro is None:
        return None
    recorded = repro.kind == "hw"
    commands = [f"distkb repro run {shown.id}{' --recorded' if recorded else ''}"]
    if not recorded:
        commands.append(f"distkb repro run {shown.id} --fixed")
    examples = {signature.id: signature.example or "" for signature in library.catalogue.signatures}
    return {
        "commands": commands,
        "seconds": f"{repro.seconds:g}",
        "shows": [(write.inline(library.meanings.sentence(o, say)), examples.get(o, "")) for o in repro.shows],
        "hardware": write.inline(say.text(repro.hardware)) if repro.hardware else "",
    }


def families(library: Library, say: Say) -> list[tuple[str, str, list[Entry]]]:
    """Return key, name and entries of each family, in the order in which they first come."""
    grouped: dict[str, list[Entry]] = {}
    for one in library.entries:
        grouped.setdefault(one.family, []).append(one)
    return [(family, say(f"family.{family}"), members) for family, members in grouped.items()]


def symptoms(library: Library, say: Say) -> list[dict[str, Any]]:
    """Return each value of the fact `symptom` with the entries that show it usually, the likeliest first.

    An entry belongs where one of its causes states the symptom as often or more; weighed by how common the cause is.
    """
    fact = next((fact for fact in library.catalogue.facts if fact.id == "symptom"), None)
    out = []
    for value in fact.values if fact else ():
        name = f"symptom={value.value}"
        weighed = [(weight, one) for one in library.entries if (weight := _shows(one, name)) > 0]
        weighed.sort(key=lambda pair: -pair[0])
        out.append({"id": value.value, "label": say.text(value.label), "entries": [one for _, one in weighed]})
    return out


def _shows(shown: Entry, observation: str) -> float:
    weights = [
        PROBABILITY[evidence.likelihood] * PRIOR_WEIGHT[cause.prior]
        for cause in shown.causes
        for evidence in cause.cues
        if evidence.observation == observation and PROBABILITY[evidence.likelihood] >= 0.5
    ]
    return max(weights, default=0.0)


def settings(library: Library, write: Writer, say: Say) -> list[dict[str, Any]]:
    """Return each setting, variables first, then by the place where it is written."""
    rows = sorted(library.catalogue.settings, key=lambda one: (one.place != "environment", one.place, one.name))
    return [
        {
            "id": one.id,
            "name": one.name,
            "place": one.place,
            "status": one.status,
            "status_text": say(f"setting.status.{one.status}"),
            "means": write.inline(say.text(one.means)),
            "read_by": ", ".join(version(each, say) for each in one.read_by),
            "defaults": ", ".join(_default(default, say) for default in one.defaults),
            "allowed": ", ".join(one.allowed),
            "replaced_by": one.replaced_by,
            "instead": write.inline(say.text(one.instead)) if one.instead else "",
            "traps": [write.inline(say.text(trap)) for trap in one.traps],
            "entry": one.entry,
        }
        for one in rows
    ]


def _default(default: Any, say: Say) -> str:
    where = version(default, say) if getattr(default, "component", None) else ""
    return f"{default.value} ({where})" if where else str(default.value)


def glossary(library: Library, lang: Language) -> list[Any]:
    """Return the terms in the alphabetical order of a language: Hangul before Latin in Korean, after it in English."""

    def order(term: Any) -> tuple[bool, str]:
        name: Text = term.term
        text = name.ko if lang == "ko" else name.en
        hangul = "가" <= text[:1] <= "힣"
        return (hangul != (lang == "ko"), text.lower())

    return sorted(library.catalogue.terms, key=order)


def by_id(entries: Iterable[Entry]) -> Sequence[Entry]:
    """Return the entries in the order of their ids, letters first."""
    return sorted(entries, key=lambda one: (one.id.rstrip("0123456789"), int(one.id.lstrip("DMNU"))))
