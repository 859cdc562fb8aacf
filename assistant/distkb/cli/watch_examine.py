"""The look at a silent job that `distkb watch` takes in a process of its own: verdict, bundle, diagnosis."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from distkb.cli import knowledge
from distkb.cli.diagnostics import ExitCode, Failure
from distkb.cli.session import CommonSettings

if TYPE_CHECKING:
    from distkb.probing.collect import Collected
    from distkb.probing.run import ProbeRun
    from distkb.watching.examiner import ExamineRequest, Go, Kept
    from distkb.watching.verdict import JobVerdict

_ENV_S = 20.0


def examine(current: CommonSettings) -> ExitCode:
    """Answer the watcher at the other end of stdin and stdout."""
    from distkb.evidence.text.ranks import listed
    from distkb.watching import examiner
    from distkb.watching.take import take, take_workers
    from distkb.watching.verdict import Unseen, conclude

    request = examiner.begin()
    if request is None:
        raise Failure("watch.error.examine")
    taken = take(request.pids, request.slurm_job)
    dumps = taken.dumps()
    gone = [item.values.get("missing", "?") for item in taken.raw.found if item.id == "stacks.rank-missing"]
    verdict = conclude(
        dumps,
        request.cores,
        wanted=request.wanted,
        workers=take_workers(dumps),
        unseen=Unseen(
            missing=listed(request.missing) or ", ".join(gone[:16]),
            halted=", ".join([one.label for one in taken.unread if one.stopped][:16]),
            unread=", ".join([one.label for one in taken.unread if not one.stopped][:16]),
            reason=taken.raw.reason or "",
        ),
    )
    examiner.say(examiner.Seen(verdict, taken.written))
    environment = _environment(request)
    known = knowledge.Knowledge(knowledge.open_knowledge(current))
    go = examiner.wait_for_go()
    if go is None:
        return ExitCode.DONE
    try:
        examiner.say(_keep(request, go, (taken, verdict, environment), known, current))
    except Exception as problem:  # noqa: BLE001 - the watcher says it, and watches on
        examiner.say(examiner.Refused(f"{type(problem).__name__}: {problem}"))
    return ExitCode.DONE


def _keep(
    request: ExamineRequest,
    go: Go,
    seen: tuple[Collected, JobVerdict, ProbeRun | None],
    known: knowledge.Knowledge,
    current: CommonSettings,
) -> Kept:
    """Write the bundle and return where it is, with the answer that it gives."""
    import msgspec

    from distkb.report import json, text, watch
    from distkb.report.meaning import Meanings
    from distkb.watching import examiner
    from distkb.watching.bundle import Bundle
    from distkb.watching.event import Event
    from distkb.watching.take import recorder_dumps

    taken, verdict, environment = seen
    bundle = Bundle(Path(go.directory), go.name)
    bundle.stacks(taken)
    bundle.document("stacks.json", _stacks_document(taken, request, known))
    bundle.logs([Path(name) for name in go.logs])
    bundle.dumps(recorder_dumps(request.pids, go.since))
    bundle.document("watched.json", {"schema": "distkb.watch/1", "verdict": msgspec.to_builtins(verdict)} | _known(go))
    if environment is not None:
        bundle.document("env.json", _env_document(environment, known))
    diagnosis = known.diagnose("", [bundle.path], {"symptom": "slow" if verdict.outcome == "slow" else "hang"})
    meanings = Meanings(known.catalogue)
    bundle.document("diagnosis.json", msgspec.json.decode(json.write(diagnosis, meanings)))
    answer = text.write(diagnosis, meanings, current.say, columns=go.columns)
    event = Event(kind="stalled", verdict=verdict, silence_s=go.silence_s, limit_s=go.limit_s, logs=go.logs)
    first = watch.stalled(event, current.say, go.columns)
    bundle.answer.touch(mode=0o600)
    bundle.answer.write_text(f"{first}\n{answer}", encoding="utf-8")
    path = bundle.pack() if go.archive else bundle.path
    return examiner.Kept(bundle=str(path), answer=str(bundle.answer), text=answer)


def _known(go: Go) -> dict[str, Any]:
    return {"silence_s": round(go.silence_s, 1), "limit_s": round(go.limit_s, 1), "last_line": go.last_line}


def _stacks_document(taken: Collected, request: ExamineRequest, known: knowledge.Knowledge) -> dict[str, Any]:
    """Return what the probe said beside the stacks, and which ranks the watcher has seen before: no dump holds that."""
    from distkb.evidence.observation import Observation
    from distkb.evidence.text.ranks import listed
    from distkb.probing.judge import answer
    from distkb.report import probe

    gone: list[Observation] = []
    if request.missing and all(item.id != "stacks.rank-missing" for item in taken.raw.found):
        n, of = len(request.pids), len(request.pids) + len(request.missing)
        values = {"missing": listed(request.missing), "n": str(n), "of": str(of)}
        gone.append(Observation(id="stacks.rank-missing", source="probe", values=values))
    return probe.document(answer(taken.raw, known.catalogue.findings, more=gone, facts={}))


def _environment(request: ExamineRequest) -> ProbeRun | None:
    """Start the environment probe; the rest goes on while it runs."""
    from distkb.probing.interpreter import NoInterpreterError, find_interpreter
    from distkb.probing.run import ProbeRun

    try:
        python = find_interpreter(None if request.python is None else Path(request.python))
        return ProbeRun("env", {"pids": list(request.pids)}, python.path, deadline_s=_ENV_S)
    except (NoInterpreterError, OSError):
        return None


def _env_document(run: ProbeRun, known: knowledge.Knowledge) -> dict[str, Any]:
    from distkb.probing.conclude import conclude_env
    from distkb.probing.judge import answer
    from distkb.report import probe

    raw = run.result()
    concluded = conclude_env(raw.facts, known.catalogue, ())
    return probe.document(answer(raw, known.catalogue.findings, more=concluded.observations))
