"""What the page needs to think as the program does: the likelihoods, the questions and fixes, and all their words.

Everything goes by number: observations in the order of `observations`, causes in the order of the table. The words
are scripts of their own, one for each language, and the long texts of the fixes are loaded when a fix is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

from distkb.catalogue.model import PROBABILITY, Fix
from distkb.diagnosis import belief, conclude, guide, information, known, likelihood, presumed, propose, repair
from distkb.diagnosis.guide import Guide
from distkb.diagnosis.likelihood import OTHER, LikelihoodTable
from distkb.diagnosis.questions import LINES, LINES_SECONDS, lines_question
from distkb.docsite.data.signatures import camel
from distkb.evidence.readers.report.report_reader import MAX_CHARACTERS
from distkb.locale import Say, sentences
from distkb.report.page import unified

if TYPE_CHECKING:
    from distkb.catalogue.records import Language
    from distkb.docsite.views import Library

CONSTANTS: Mapping[ModuleType, tuple[str, ...]] = {
    belief: (
        "LATER",
        "REPEAT",
        "ECHO_SHARE",
        "FINDING_RECALL",
        "TEMPERATURE",
        "AFFINITY",
        "LIKENESS",
        "BESIDE",
        "RARE",
        "CLOSE",
        "RESEMBLES",
        "WORDED_ALIKE",
        "SYMPTOM",
        "REPORT_BACKGROUND",
        "REPORT_SILENCE",
    ),
    likelihood: ("HELPS_ANYWAY", "RULED_OUT", "_FLOOR"),
    conclude: ("NAMED", "LEADING", "UNWORDED", "CLEAR", "LEAD", "MAIN", "FITS", "COMMON", "OTHERWISE", "SEVERAL"),
    information: ("MISTAKE", "MISREAD"),
    guide: ("CLEAR_BACKGROUND",),
    known: ("LINE_CERTAINTY", "IMPLIED"),
    presumed: ("PRESUMED", "OUTPUT"),
    propose: (
        "LEAST_GAIN_BITS",
        "ATTENTION",
        "SHORTLIST",
        "LINES_OFFERED",
        "LINES_COMPARED",
        "LEAST_SPOKEN",
        "LOST",
        "ORDERED",
        "OUTCOMES_PLANNED",
        "REVEALS_COMPARED",
        "LEAST_CHANCE",
        "ALTERNATIVES",
    ),
    repair: ("GIVE_UP", "CONSIDERED"),
}
"""Numbers of the belief and of the choice of the next move, by the module that explains them."""

POINTING, SETTLING = 16, 32
"""Added to a likelihood's number where a finding points to the cause and the cause itself says nothing of it, and where
it is an error that settles the matter for the cause."""
ROLES = ("primary", "collateral", "context")
IN_LOGS, IS_SIGNATURE, FROM_LAUNCHER, ENDING, SILENT, DEFINITE, SETTLES = 1, 2, 4, 8, 16, 32, 64


def table(library: Library) -> dict[str, Any]:
    """Return the likelihoods and what can be asked and tried; the value of `distkb.diagnoseTable`.

    `observations`: id, role, background, flags, group, and the group that it yields to. `causes`: id, number of the
    entry, prior, the stated likelihoods as observation and level in turn, and the fixes: end of the id, level, seconds,
    cost and risk. Numbers of observations go on with each value of each fact.
    """
    catalogue = library.catalogue
    likelihoods = LikelihoodTable(catalogue.entries, catalogue.signatures, catalogue.findings, catalogue.facts)
    guided = Guide(catalogue, likelihoods)
    kinds = {name: kind for name, kind in likelihoods.kinds.items() if not kind.experiment}
    values = [f"{fact.id}={value.value}" for fact in catalogue.facts for value in fact.values]
    number = {name: index for index, name in enumerate([*kinds, *values])}
    levels = list(PROBABILITY.values())
    entries = {entry.id: index for index, entry in enumerate(catalogue.entries)}
    causes = []
    for h in likelihoods.hypotheses:
        if h.entry is None or h.cause is None:
            continue
        stated: list[int] = []
        for name, p in likelihoods.stated(h.id).items():
            if name in number:
                marks = POINTING * likelihoods.points(name, h.id) + SETTLING * likelihoods.settles(name, h.id)
                stated += (number[name], levels.index(p) + marks)
        causes.append([h.id, entries[h.entry.id], h.prior, stated, [_fix(fix, levels) for fix in h.cause.fixes]])
    return {
        "constants": {camel(name): getattr(module, name) for module, names in CONSTANTS.items() for name in names}
        | {"linesSeconds": LINES_SECONDS, "pointing": POINTING, "settling": SETTLING, "other": OTHER, "lines": LINES},
        "otherPrior": likelihoods.hypotheses[-1].prior,
        "levels": levels,
        "roles": ROLES,
        "entries": list(entries),
        "observations": [
            [
                name,
                ROLES.index(kind.role),
                kind.background,
                _flags(kind),
                kind.group or 0,
                likelihoods.yields_to.get(name, 0),
                *_named(likelihoods.excludes.get(name, ()), kind.refuted_by, number),
            ]
            for name, kind in kinds.items()
        ],
        "causes": causes,
        "facts": [
            [
                fact.id,
                [[v.value, v.share] for v in fact.values],
                int(fact.multi),
                fact.seconds,
                list(fact.when),
                list(fact.answered_by),
            ]
            for fact in catalogue.facts
        ],
        "steps": [
            [step.id, step.kind, step.seconds, list(step.reveals), list(step.commands)]
            for step in guided.steps.values()
        ],
        "lines": [[number[line.id], line.example] for line in guided.lines],
        "implies": [[number[name], list(implied)] for name, implied in guided.implies.items()],
    }


def words(library: Library, lang: Language) -> dict[str, Any]:
    """Return all that is read on the page in one language, in the order of the table's numbers.

    The value of `distkb.diagnoseWords`.
    """
    say = Say(lang)
    catalogue = library.catalogue
    lines = lines_question(())
    return {
        "say": {
            key.removeprefix("site.diagnose."): text
            for key, text in sentences(lang, "site").items()
            if key.startswith("site.diagnose.")
        }
        | {key: text for key, text in sentences(lang).items() if key.startswith(("cost.", "risk."))}
        | {name: say(f"site.{name}") for name in ("verify", "changes")},
        "entries": [say.text(entry.title) for entry in catalogue.entries],
        "causes": [say.text(cause.title) for entry in catalogue.entries for cause in entry.causes],
        "means": [say.text(s.means) for s in catalogue.signatures] + [say.text(f.means) for f in catalogue.findings],
        "facts": [
            [
                say.text(fact.question),
                say.text(fact.why),
                [say.text(value.label) for value in fact.values],
                [library.meanings.sentence(f"{fact.id}={value.value}", say) for value in fact.values],
            ]
            for fact in catalogue.facts
        ],
        "steps": [say.text(step.text) for step in catalogue.steps if step.kind != "ask"],
        "fixes": [say.text(fix.title) for fix in _fixes(library)],
        "lines": [say.text(lines.text), say.text(lines.why)],
        "most": MAX_CHARACTERS / 1_000_000,
    }


def fixes(library: Library, lang: Language) -> list[Any]:
    """Return of each fix its steps, commands, how to see that it worked, what it changes, and the code as a diff.

    The value of `distkb.diagnoseFixes`.
    """
    say = Say(lang)
    return [
        [
            [say.text(step) for step in fix.steps],
            [command.rstrip("\n") for command in fix.commands],
            say.text(fix.verify),
            say.text(fix.changes_results) if fix.changes_results else "",
            unified(fix.code) if fix.code else [],
        ]
        for fix in _fixes(library)
    ]


def _fixes(library: Library) -> list[Fix]:
    return [fix for entry in library.entries for cause in entry.causes for fix in cause.fixes]


def _fix(fix: Fix, levels: list[float]) -> list[Any]:
    end = fix.id.rpartition(".")[2]
    return [end, levels.index(PROBABILITY[fix.works]), repair.seconds_of(fix), fix.cost, fix.risk, int(fix.workaround)]


def _named(excluded: Iterable[str], refuting: Iterable[str], number: Mapping[str, int]) -> list[list[int]]:
    """Return the numbers of what an observation excludes and of what refutes it; nothing where there is neither."""
    both = [[number[name] for name in sorted(names) if name in number] for names in (excluded, refuting)]
    return both if any(both) else []


def _flags(kind: likelihood.Kind) -> int:
    told = ((IN_LOGS, kind.in_logs), (IS_SIGNATURE, kind.is_signature), (FROM_LAUNCHER, kind.from_launcher))
    judged = ((ENDING, kind.ending), (SILENT, not kind.telling), (DEFINITE, kind.definite), (SETTLES, kind.settles))
    return sum(flag for flag, holds in (*told, *judged) if holds)
