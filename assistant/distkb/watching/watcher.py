"""Watches one job to its end: looks at it every second, and closely when it has been silent for too long."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

import msgspec

from distkb.watching import outputs, processes, slurm
from distkb.watching.event import Event
from distkb.watching.examiner import Examiner, ExamineRequest, Go, Kept, Refused, Seen
from distkb.watching.pace import Pace
from distkb.watching.started import Signals, StartedCommand, ended, run_beside
from distkb.watching.verdict import JobVerdict

POLL_S = 1.0
LEAD_S = 3.0
"""The first look at the ranks is taken so long before the limit, at most a third of it."""
LEAD_FAR_S = 10.0
"""The same where other nodes have to be asked, at most half of it."""
SLOW_TIMES = 10.0
"""A job that works and says nothing for so many limits is reported as well."""
PHASE_S, PHASE_TIMES = 600.0, 4.0
"""How long a save, an evaluation, a compilation may stand still, at least, and in limits."""
GRACE_S = 30.0
"""Between SIGTERM and SIGKILL, where the user wants a stalled job ended."""
_WINDOW_S = 6.0
_FIND_S, _FILES_S, _CHECK_S = 2.0, 10.0, 30.0
_ASLEEP_S = 10.0
"""A pause between two looks that only a stopped or sleeping machine explains."""


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What the user asked for."""

    pids: tuple[int, ...] = ()
    slurm_job: str | None = None
    elsewhere: bool = False
    """Whether none of the Slurm job's ranks runs on this machine."""
    logs: tuple[Path, ...] = ()
    stall_s: float | None = None
    out: Path
    archive: bool = False
    execute: str | None = None
    kill_after_s: float | None = None
    once: bool = False
    python: Path | None = None
    columns: int = 80
    examine: tuple[str, ...] = ()
    """Arguments of the command that examines."""


class Watcher:
    """Everything that is known of one job while it runs."""

    def __init__(
        self, options: Options, tell: Callable[[Event], None], signals: Signals, command: StartedCommand | None = None
    ) -> None:
        self._options = options
        self._tell = tell
        self._signals = signals
        self._command = command
        self._passing = None if command is None else command.passing
        now = time.monotonic()
        self._pace = Pace(now, options.stall_s)
        self._outputs = outputs.Outputs()
        self._outputs.follow([*options.logs, *(self._passing.logs if self._passing is not None else ())])
        self._ranks: list[processes.RankProcess] = []
        self._elsewhere = options.elsewhere
        """Whether the job is known by Slurm only: none of its ranks runs here."""
        self._numbers: set[int] = set()
        self._used: deque[tuple[float, processes.Sample]] = deque(maxlen=16)
        self._written: int | None = None
        self._written_there: int | None = None
        self._began = time.time()
        self._due_at = {"look": now, "find": now, "files": now, "check": now + _CHECK_S}
        self._last_look = now
        self._examiner: Examiner | None = None
        self._beats_at_start = 0
        self._verdict: JobVerdict | None = None
        self._look_at: float | None = None
        self._told_slow = False
        self._stalled: float | None = None
        """When the stall was reported; None while the job goes on."""
        self._kept = True
        self._killed = 0
        self._beside: list[int] = []
        self.stalls = 0

    def run(self) -> int | None:
        """Watch until the job ends; return its exit code where we started it, else None."""
        try:
            while True:
                number = self._signals.wait(self._nap())
                self._beside = [pid for pid in self._beside if not ended(pid)]
                if self._command is not None:
                    if number is not None:
                        self._command.send(number)
                    if self._passing is not None:
                        self._passing.copy()
                    if (code := self._command.poll()) is not None:
                        if self._passing is not None:
                            self._passing.copy()
                        return code
                now = time.monotonic()
                if now >= self._due_at["look"]:
                    self._look(now)
                self._watch_closely(now)
                if self._command is None and self._over():
                    return None
        finally:
            if self._examiner is not None:
                self._examiner.cancel()

    def _nap(self) -> float:
        quick = 0.1 if self._examiner is not None else 0.2 if self._passing is not None else POLL_S
        return min(quick, max(0.0, self._due_at["look"] - time.monotonic()))

    def _over(self) -> bool:
        if self._options.once and self._stalled is not None and self._kept:
            return True
        now = time.monotonic()
        if self._elsewhere:
            if now < self._due_at["check"]:
                return False
            self._due_at["check"] = now + _CHECK_S
            job = slurm.show(self._options.slurm_job or "")
            if job is not None and job.live and not job.running:
                self._pace.restart(now)  # it waits for its turn, or was suspended: that is no silence
                self._outputs.follow(job.outputs)
            if job is None or job.live:
                return False
        elif self._ranks or self._numbers or now < self._due_at["find"]:
            return False
        self._tell(Event(kind="ended"))
        return True

    def _look(self, now: float) -> None:
        """Look at the job once: its ranks, what they use, what they wrote."""
        if now - self._last_look > _ASLEEP_S + POLL_S:
            self._pace.shift(now - self._last_look)
        self._last_look = now
        self._due_at["look"] = now + POLL_S
        gone = [rank for rank in self._ranks if not processes.alive(rank)]
        self._ranks = [rank for rank in self._ranks if rank not in gone]
        if (
            not self._elsewhere
            and now >= self._due_at["find"]
            and (gone or not self._ranks or now >= self._due_at["check"])
        ):
            self._find(now)
        if now >= self._due_at["files"]:
            own = [self._command.pid] if self._command is not None else []
            self._outputs.follow(outputs.written_by([*own, *(rank.pid for rank in self._ranks)]))
            self._due_at["files"] = now + (_FILES_S if self._ranks else _FIND_S)
        sample = processes.sample(self._ranks)
        self._used.append((now, sample))
        if sample.written is not None and self._written is not None and sample.written > self._written:
            self._pace.other(now)
        self._written = sample.written
        news = self._outputs.look()
        ago = time.time() - now
        if news.step is not None:
            self._pace.step(min(now, news.step - ago))
        elif news.grew is not None:
            self._pace.other(min(now, news.grew - ago))
        self._goes_on(now)

    def _find(self, now: float) -> None:
        self._due_at["find"] = now + _FIND_S
        self._due_at["check"] = now + _CHECK_S
        root = (self._command.pid,) if self._command is not None else self._options.pids
        try:
            found = processes.find(root, self._options.slurm_job)
        except processes.NoSuchProcessError:
            # The one that was named has ended; the others may be there.
            found = self._ranks
        except processes.SeveralJobsError:
            found = self._ranks
        new = [rank for rank in found if rank not in self._ranks]
        if new and (self._ranks or self._numbers) and {rank.rank for rank in new} & self._numbers:
            self._pace.restart(now)  # a launcher has started them anew
            self._numbers.clear()
        self._ranks = found
        self._numbers |= {rank.rank for rank in found if rank.rank is not None}
        if not found:
            self._numbers.clear()
        if new:
            self._written = None
            self._due_at["files"] = now
            numbers = tuple(rank.rank for rank in found)
            name = processes.command_of(found[0].pid)
            self._tell(Event(kind="found", ranks=numbers, pids=tuple(rank.pid for rank in found), name=name))

    def _goes_on(self, now: float) -> None:
        """Notice that the job went on after it was silent."""
        if self._pace.silent(now) > 2 * POLL_S:
            return
        if self._stalled is not None and self._kept:
            silence = now - self._stalled
            self._stalled = None
            self._tell(Event(kind="goes-on", silence_s=silence, line=self._outputs.last_line))
        if self._stalled is None:
            self._look_at = None
            self._told_slow = False

    def _watch_closely(self, now: float) -> None:
        silence, limit = self._pace.silent(now), self._pace.limit()
        due = max(limit, self._look_at or 0.0)
        if self._examiner is None:
            if self._stalled is not None:
                self._end_it(now)
            if self._wants_a_look(silence, limit, due):
                self._examine(now)
            return
        if self._stalled is None and self._pace.beats != self._beats_at_start:
            self._drop_examiner()
            return
        for message in self._examiner.messages():
            match message:
                case Seen(verdict=verdict, written=written):
                    if self._went_on_there(written, now) or (self._stalled is not None and self._kept):
                        self._drop_examiner()
                        return
                    self._verdict = verdict
                case Kept(bundle=bundle, answer=answer, text=text):
                    self._drop_examiner()
                    self._keep(bundle, answer, text)
                    return
                case Refused(reason=reason):
                    self._drop_examiner()
                    self._kept = True
                    self._look_at = silence + limit
                    self._tell(Event(kind="failed", line=reason))
                    return
        if self._verdict is not None and self._stalled is None and silence >= due:
            self._judge(self._verdict, silence, limit, now)

    def _wants_a_look(self, silence: float, limit: float, due: float) -> bool:
        if self._stalled is None:
            lead = min(LEAD_FAR_S, limit / 2) if self._elsewhere else min(LEAD_S, limit / 3)
            return bool(self._ranks or self._elsewhere) and silence >= due - lead
        if not (self._blind_here and self._kept and silence >= due):
            return False
        self._look_at = silence + limit
        return True

    @property
    def _blind_here(self) -> bool:
        """Whether only the nodes of the job can say that it goes on."""
        return self._elsewhere and not self._outputs.readable

    def _went_on_there(self, written: int | None, now: float) -> bool:
        """Whether ranks whose output cannot be seen here wrote since the last look; the first look counts so too."""
        if not self._blind_here:
            return False
        before, self._written_there = self._written_there, written
        if written is None or written == before:
            return False
        if self._stalled is None:
            self._pace.shift(self._pace.silent(now))
        else:
            self._pace.other(now)
        return True

    def _examine(self, now: float) -> None:
        if not self._elsewhere:
            self._find(now)  # a launcher may have started one more since, and that one is not gone
            if not self._ranks:
                return
        self._beats_at_start = self._pace.beats
        self._verdict = None
        cores, wanted = self._of_late(now)
        request = ExamineRequest(
            parent=os.getpid(),
            pids=tuple(rank.pid for rank in self._ranks),
            cores=cores,
            wanted=wanted,
            missing=tuple(sorted(self._numbers - {rank.rank for rank in self._ranks})),
            slurm_job=self._options.slurm_job or self._spread(),
            python=None if self._options.python is None else str(self._options.python),
        )
        try:
            self._examiner = Examiner(request, self._options.examine)
        except OSError as problem:
            self._look_at = self._pace.silent(now) + self._pace.limit()
            self._tell(Event(kind="failed", line=problem.strerror or ""))

    def _spread(self) -> str:
        """Return the Slurm job of ranks that run on several nodes, on the node of rank 0: one of them asks all."""
        first = next((rank for rank in self._ranks if rank.rank == 0), None)
        environment = {} if first is None else processes.environment_of(first.pid)
        world = environment.get("WORLD_SIZE", "")
        return environment.get("SLURM_JOB_ID", "") if world.isdecimal() and int(world) > len(self._ranks) else ""

    def _of_late(self, now: float) -> tuple[dict[int, float], dict[int, float]]:
        """Return what each rank used in the last seconds, and what it would have used alone on the machine."""
        before = next(((at, used) for at, used in self._used if now - at <= _WINDOW_S), None)
        if before is None or not self._used or self._used[-1][0] - before[0] < POLL_S:
            return {}, {}
        seconds, last = self._used[-1][0] - before[0], self._used[-1][1]
        return _share(before[1].cpu, last.cpu, seconds), _share(before[1].wanted, last.wanted, seconds)

    def _judge(self, verdict: JobVerdict, silence: float, limit: float, now: float) -> None:
        """Act on what was seen at the limit."""
        logs = tuple(map(str, self._outputs.logs))
        event = Event(kind="stalled", silence_s=silence, limit_s=limit, verdict=verdict, logs=logs)
        patient = max(PHASE_S, PHASE_TIMES * limit)
        if verdict.outcome == "slow" and silence < SLOW_TIMES * limit:
            if not self._told_slow:
                self._told_slow = True
                self._tell(msgspec.structs.replace(event, kind="slow"))
            self._look_at = 2 * silence
            self._drop_examiner()
            return
        # What a user set holds for all but imports, which a slow disk makes long and nothing makes endless.
        if verdict.outcome == "phase" and (self._pace.fixed is None or verdict.phase == "import") and silence < patient:
            self._look_at = patient
            self._drop_examiner()
            return
        self._stalled = now - silence
        self._look_at = silence + limit
        self._kept = False
        self.stalls += 1
        self._tell(event)
        if self._examiner is not None:
            self._examiner.go(
                Go(
                    directory=str(self._options.out),
                    name=processes.command_of(self._ranks[0].pid) if self._ranks else self._options.slurm_job or "job",
                    logs=logs,
                    since=self._began if self._command is not None else 0.0,
                    silence_s=silence,
                    limit_s=limit,
                    last_line=self._outputs.last_line,
                    archive=self._options.archive,
                    columns=self._options.columns,
                )
            )

    def _keep(self, bundle: str, answer: str, text: str) -> None:
        self._kept = True
        self._tell(Event(kind="answer", bundle=bundle, answer=answer, text=text))
        if self._options.execute is not None:
            more = {"DISTKB_BUNDLE": bundle, "DISTKB_ANSWER": answer}
            self._beside += run_beside(self._options.execute, more, self._signals)

    def _drop_examiner(self) -> None:
        if self._examiner is not None:
            self._examiner.cancel()
            self._examiner = None

    def _end_it(self, now: float) -> None:
        """End the ranks of a stalled job, where the user wants that: never the launcher, which reports how they end."""
        after = self._options.kill_after_s
        if after is None or self._stalled is None or not self._kept:
            return
        late = self._pace.silent(now) - self._pace.limit() - after
        for step, number, since in ((1, signal.SIGTERM, 0.0), (2, signal.SIGKILL, GRACE_S)):
            if late >= since and self._killed < step:
                self._killed = step
                pids = tuple(rank.pid for rank in self._ranks)
                self._tell(Event(kind="killed", pids=pids, line=signal.Signals(number).name))
                for pid in pids:
                    with contextlib.suppress(OSError):
                        os.kill(pid, number)


def _share(before: dict[int, float], after: dict[int, float], seconds: float) -> dict[int, float]:
    return {pid: round(max(0.0, used - before.get(pid, used)) / seconds, 2) for pid, used in after.items()}
