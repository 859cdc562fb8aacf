"""How good the diagnosis is on labelled cases: top-1, top-3, mean reciprocal rank and Brier score."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from distkb.diagnosis.conclude import entry_probabilities
from distkb.diagnosis.model import Diagnosis


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One labelled case: what was reported and which entries are right as a first diagnosis."""

    id: str
    report: str = ""
    accept: tuple[str, ...]
    lang: str = "en"
    paths: tuple[str, ...] = ()
    facts: dict[str, str] = {}


class CaseFileError(ValueError):
    """A line of a case file is not a case; the message carries file and line."""


Diagnose = Callable[[str, Sequence[Path], Mapping[str, str]], Diagnosis]
"""Report text, paths and facts to a diagnosis."""

Rank = Callable[[str], Sequence[str]]
"""Report text to ids of entries, best first."""


def read_cases(path: Path) -> list[Case]:
    """The cases of a JSON Lines file. Raises CaseFileError with `file:line` for a line that is not a case."""
    cases: list[Case] = []
    decoder = msgspec.json.Decoder(Case)
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        if not line.strip():
            continue
        try:
            cases.append(decoder.decode(line))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            message = f"{path}:{number}: {error}"
            raise CaseFileError(message) from error
    return cases


def evaluate(
    cases: Iterable[Case], known: Iterable[str], diagnose: Diagnose, *, facts: bool, baseline: Rank | None = None
) -> dict[str, Any]:
    """Figures over the cases that the catalogue can answer, and the ranking of each.

    A case counts when at least one of its accepted entries exists (`known`). The figures are split by language and by
    whether the case's facts were given; with `facts` False only the report and the paths are read.
    The figures of `baseline`, which sees the reports alone, are printed beside.
    """
    ids = frozenset(known)
    beside: list[dict[str, Any]] = []
    runs: list[dict[str, Any]] = []
    left_out = 0
    for case in cases:
        accept = [entry for entry in case.accept if entry in ids]
        if not accept:
            left_out += 1
            continue
        if baseline is not None:
            ranked = baseline(case.report)
            rank = min((ranked.index(entry) + 1 for entry in accept if entry in ranked), default=None)
            beside.append({"lang": case.lang, "rank": rank})
        modes = (False, True) if facts else (False,)
        runs.extend(_run(case, accept, diagnose, with_facts=mode) for mode in modes)
    figures: dict[str, Any] = {"cases": len({run["id"] for run in runs}), "left_out": left_out}
    for mode, name in ((False, "report_only"), (True, "with_facts")):
        chosen = [run for run in runs if run["facts"] is mode]
        if not chosen:
            continue
        figures[name] = _split(chosen, _figures)
    if beside:
        figures["bm25"] = _split(beside, _ranking)
    shown = [run for run in runs if run["facts"] is facts]
    return {"figures": figures, "cases": [_public(run) for run in shown]}


def _run(case: Case, accept: Sequence[str], diagnose: Diagnose, *, with_facts: bool) -> dict[str, Any]:
    given = {k: v for k, v in case.facts.items() if v != "unknown"} if with_facts else {}
    diagnosis = diagnose(case.report, [Path(p) for p in case.paths], given)
    probabilities = entry_probabilities(diagnosis)
    ranked = list(probabilities)
    rank = min((ranked.index(entry) + 1 for entry in accept if entry in probabilities), default=None)
    # Any accepted entry is right, so their probabilities are one outcome of the multi-class Brier score.
    right = sum(probabilities[e] for e in accept if e in probabilities)
    wrong = [p for e, p in probabilities.items() if e not in accept] + [diagnosis.other]
    return {
        "id": case.id,
        "lang": case.lang,
        "facts": with_facts,
        "accept": list(accept),
        "rank": rank,
        "ranked": ranked,
        "probability": probabilities.get(ranked[0], 0.0) if ranked else 0.0,
        "brier": (1.0 - right) ** 2 + sum(p * p for p in wrong),
        "verdict": diagnosis.verdict,
    }


Figures = dict[str, float | int]


def _split(
    runs: Sequence[Mapping[str, Any]], figures: Callable[[Sequence[Mapping[str, Any]]], Figures]
) -> dict[str, Figures]:
    """Return the figures of all runs and of each language."""
    languages = sorted({run["lang"] for run in runs})
    return {"all": figures(runs), **{lang: figures([r for r in runs if r["lang"] == lang]) for lang in languages}}


def _ranking(runs: Sequence[Mapping[str, Any]]) -> Figures:
    n = len(runs)
    ranks = [run["rank"] for run in runs]
    return {
        "n": n,
        "top1": sum(r == 1 for r in ranks) / n,
        "top3": sum(r is not None and r <= 3 for r in ranks) / n,
        "mrr": sum(1.0 / r for r in ranks if r is not None) / n,
    }


def _figures(runs: Sequence[Mapping[str, Any]]) -> Figures:
    n = len(runs)
    figures = _ranking(runs) | {"brier": sum(run["brier"] for run in runs) / n}
    for verdict in ("named", "leading"):  # "The cause is" and "Probably": how often they are said, and how often right
        said = [run for run in runs if run["verdict"] == verdict]
        figures[verdict] = len(said) / n
        figures[f"{verdict}_right"] = sum(run["rank"] == 1 for run in said) / len(said) if said else 0.0
    return figures


def _public(run: Mapping[str, Any]) -> dict[str, Any]:
    return {key: run[key] for key in ("id", "lang", "accept", "rank", "ranked", "probability", "verdict")}
