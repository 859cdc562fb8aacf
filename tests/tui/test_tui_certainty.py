"""The screen says in plain words how sure it is, and asks about GPUs only where there may be some."""

from __future__ import annotations

from pathlib import Path

import pytest
from tui_driver import BOTH, FIRST, Drive, drive

from distkb import intake, knowledge
from distkb.diagnosis.guide import Guide
from distkb.diagnosis.moves import Ask
from distkb.diagnosis.propose import candidates
from distkb.diagnosis.session import EvidenceAdded
from distkb.locale import Language, Say
from distkb.report.certainty import certainty

GLOO = (
    "[rank0]: RuntimeError: [/w/gloo/gloo/transport/tcp/unbound_buffer.cc:78] Timed out waiting 15000ms for recv "
    "operation to complete"
)
NCCL = (
    "[rank0]:[E1218 20:27:21.4 ProcessGroupNCCL.cpp:629] [Rank 0] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=1, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600081 milliseconds "
    "before timing out."
)


@BOTH
@pytest.mark.usefixtures("recorded")
def test_one_sentence_says_how_sure_and_what_would_help(lang: Language) -> None:
    """Beside the causes stands the verdict in words and what makes it surer, and no share of what is known."""

    async def script(driven: Drive) -> None:
        await driven.at("session")
        assert driven.app.current is not None
        assert driven.app.current.view is not None
        said = certainty(driven.app.current.view, Say(lang))
        rows = " ".join(line.strip() for line in driven.shown.splitlines())
        assert said.split(". ")[0][:40] in rows
        assert "known" not in driven.shown.splitlines()[0]
        assert "%" not in driven.shown.splitlines()[0]

    drive(script, lang=lang, resume=FIRST, size=(120, 40))


@pytest.mark.slow
@pytest.mark.parametrize(("line", "asked"), [(GLOO, False), (NCCL, True)], ids=["gloo", "nccl"])
def test_a_run_on_the_cpu_is_not_asked_about_gpus(line: str, asked: bool, tmp_path: Path) -> None:
    """Where the ranks communicate over gloo, nobody is asked what the GPUs do."""
    guide = Guide(knowledge.open_knowledge([]).catalogue())
    log = tmp_path / "rank0.log"
    log.write_text(f"{line}\n" * 2, encoding="utf-8")
    read = intake.read(guide.catalogue, [log])
    events = (EvidenceAdded(label="log", evidence=read, paths=(str(log),)),)
    known = guide.known(events)
    posterior = guide.belief_after(events).posterior
    moves = [c.move for c in candidates(guide, known, posterior)]
    assert ("gpus_while_frozen" in {move.question.id for move in moves if isinstance(move, Ask)}) is asked
