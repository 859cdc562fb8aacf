"""What a probe's answer is to the screen: concluded, measured, and how it ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from distkb.evidence.text.clean import plain

if TYPE_CHECKING:
    from distkb.locale import Say
    from distkb.probing.document import ProbeAnswer
    from distkb.probing.interpreter import Interpreter
    from distkb.tui.knowledge import ScreenKnowledge
    from distkb.watching.whereabouts import ProbeFiles


_PATH = 50
"""Columns of a path, of which the end tells most."""


def files_found(found: ProbeFiles, say: Say) -> str:
    """Return which files Enter reads, in a sentence; empty where none were found."""
    if not found.paths:
        return ""
    name = plain(str(found.paths[0]))
    name = name if len(name) <= _PATH else f"…{name[1 - _PATH :]}"
    key = "tui.probes.of-job" if found.job else "tui.probes.found"
    return say.count(key, len(found.paths), path=name, job=plain(found.job))


def conclude(probe: str, raw: Any, known: ScreenKnowledge, python: Interpreter) -> ProbeAnswer:
    """Return the probe's answer with what the catalogue concludes from its facts."""
    from distkb.probing.conclude import conclude_env
    from distkb.probing.judge import answer

    findings = known.catalogue.findings
    if probe == "network":
        from distkb.probing.peers import of_the_environment

        return answer(raw, findings, more=of_the_environment(raw), interpreter=python)
    if probe != "env":
        return answer(raw, findings, interpreter=python)
    concluded = conclude_env(raw.facts, known.catalogue)
    facts = {**raw.facts, "timers": concluded.timer_facts()}
    return answer(raw, findings, more=concluded.observations, facts=facts, interpreter=python)


def body(answer: ProbeAnswer, say: Say, columns: int) -> str:
    """Return what was measured, for the probes that measure."""
    if answer.probe == "allreduce":
        from distkb.report import bandwidth

        return bandwidth.write(answer.facts, say, columns=columns)
    if answer.probe == "loader":
        from distkb.report import loaders

        return loaders.write(answer.facts, say, columns=columns)
    if answer.probe == "network":
        from distkb.report import network

        return network.write(answer.facts, say, columns=columns)
    return ""


def status_of(answer: ProbeAnswer) -> Literal["ok", "skipped", "error", "cancelled"]:
    """Return how a probe ended, as a session keeps it."""
    if answer.reason == "cancelled":
        return "cancelled"
    return answer.status if answer.status in ("skipped", "error") else "ok"
