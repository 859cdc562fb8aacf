"""A small catalogue and diagnoses over it, made by hand so that every part of the writers has something to write."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from distkb.catalogue.model import (
    Catalogue,
    Cause,
    CodeChange,
    Confusion,
    Entry,
    Fact,
    FactValue,
    Finding,
    Fix,
    Reference,
    Signature,
    Step,
    Text,
    Version,
    Words,
)
from distkb.diagnosis.model import Contribution, Diagnosis, NextStep, RankedCause
from distkb.evidence import observation as seen

HOSTILE = (
    "\x1b[31mred\x1b[0m \x1b]0;title\x07\x1b]8;;http://evil\x1b\\link [red]markup[/red] \u202eevil\u202c `tick` \x9b2J"
)
"""A log line that tries to colour, to retitle the terminal, to reverse the reading order and to be markup."""


def text(en: str, ko: str) -> Text:
    """Return a text in both languages."""
    return Text(en=en, ko=ko)


FIX = Fix(
    id="D21.a.1",
    title=text("Call the barrier on every rank", "배리어를 모든 랭크에서 호출합니다"),
    steps=(
        text(
            "Move the collective out of the branch, so that all ranks reach it in the same order.",
            "집합 통신을 분기 밖으로 옮겨 모든 랭크가 같은 순서로 호출하게 합니다.",
        ),
        text("Keep the side effect in the branch.", "부수 효과만 분기 안에 둡니다."),
    ),
    commands=("torchrun --nproc-per-node 2 train.py",),
    code=CodeChange(
        before="if rank == 0:\n    save(model)\n    dist.barrier()\n",
        after="if rank == 0:\n    save(model)\ndist.barrier()\n",
    ),
    cost="edit",
    risk="none",
    works="always",
    verify=text("The run passes the place where it froze.", "멈추던 지점을 지나갑니다."),
)
WORKAROUND = Fix(
    id="D21.a.2",
    title=text("Raise the timeout", "제한 시간을 늘립니다"),
    steps=(text("Pass `timeout=` to `init_process_group`.", "`init_process_group`에 `timeout=`을 넘깁니다."),),
    cost="edit",
    risk="low",
    works="rarely",
    changes_results=text("Evaluation runs less often.", "평가 횟수가 줄어듭니다."),
    verify=text("The run goes on.", "작업이 계속됩니다."),
    workaround=True,
)
CAUSE = Cause(
    id="D21.a",
    title=text(
        "A barrier or collective is called under `if rank == 0`",
        "`if rank == 0` 안에서 배리어나 집합 통신을 호출합니다",
    ),
    explanation=text(
        "Collectives are matched by their order within a process group, so every rank of the group has to make the "
        "same calls in the same order.",
        "집합 통신은 프로세스 그룹 안에서 호출 순서로 짝이 맞춰지므로, "
        "그룹의 모든 랭크가 같은 순서로 같은 호출을 해야 합니다.",
    ),
    prior="common",
    evidence={"always": ("symptom=hang",), "usually": ("gloo.timeout",), "never": ("logs.same-error",)},
    fixes=(FIX, WORKAROUND),
    confused_with=(
        Confusion(id="D9", how_to_tell=text("In D9 the step numbers differ.", "D9에서는 스텝 번호가 다릅니다.")),
    ),
)
OTHER_CAUSE = Cause(
    id="D9.a",
    title=text("Ranks get different numbers of batches", "랭크마다 배치 수가 다릅니다"),
    explanation=text("One rank ends its loop early.", "한 랭크가 먼저 반복을 끝냅니다."),
    prior="very-common",
    evidence={"often": ("gloo.timeout",)},
    fixes=(msgspec.structs.replace(FIX, id="D9.a.1"),),
)
REFERENCE = Reference(
    url="https://docs.pytorch.org/docs/2.13/distributed.html",
    title="torch.distributed documentation",
    accessed="2026-11-21",
    supports="collectives must be called by all ranks",
)


def _entry(identity: str, slug: str, title: Text, cause: Cause) -> Entry:
    return Entry(
        id=identity,
        slug=slug,
        family="hangs",
        status="reviewed",
        since="0.1.0",
        title=title,
        aliases=Words(en=("rank 0 deadlock",), ko=("랭크 0 데드락",)),
        summary=text("One rank calls a collective that the others skip.", "한 랭크만 집합 통신을 호출합니다."),
        symptoms=(text("It freezes at the checkpoint.", "체크포인트에서 멈춥니다."),),
        causes=(cause,),
        does_not_help=(text("Setting NCCL_TIMEOUT: nothing reads it.", "NCCL_TIMEOUT 설정: 읽는 곳이 없습니다."),),
        related=("D9",),
        references=(REFERENCE,),
        applies_to=(Version(component="torch", since="2.0"),),
    )


ENTRY = _entry(
    "D21",
    "rank-conditional-collective",
    text("A collective inside a branch that only some ranks take", "일부 랭크만 들어가는 분기 안의 집합 통신"),
    CAUSE,
)
OTHER_ENTRY = _entry("D9", "uneven-inputs", text("Uneven inputs", "랭크마다 다른 입력 개수"), OTHER_CAUSE)
STEP = Step(
    id="collect.py-spy",
    kind="collect",
    text=text(
        "Dump the Python stack of every rank while it hangs.", "멈춰 있는 동안 모든 랭크의 파이썬 스택을 뜹니다."
    ),
    commands=("py-spy dump --pid PID",),
    reveals=("logs.same-error",),
    seconds=60.0,
)
CATALOGUE = Catalogue(
    entries=(OTHER_ENTRY, ENTRY),
    signatures=(
        Signature(
            id="gloo.timeout",
            pattern="Timed out waiting",
            role="collateral",
            means=text("A rank waited for a peer that never came.", "한 랭크가 오지 않는 상대를 기다렸습니다."),
            example="Timed out waiting 8000ms for recv operation to complete",
        ),
    ),
    facts=(
        Fact(
            id="symptom",
            question=text("What do you see?", "어떤 증상이 보입니까?"),
            why=text("It narrows most.", "가장 많이 좁혀 줍니다."),
            values=(
                FactValue(value="hang", label=text("It freezes", "멈춥니다"), share=0.5),
                FactValue(value="crash", label=text("It dies", "죽습니다"), share=0.5),
            ),
        ),
    ),
    findings=(
        Finding(
            id="logs.same-error", means=text("Every rank raised the same error.", "모든 랭크가 같은 오류를 냈습니다.")
        ),
    ),
    steps=(STEP,),
    terms=(),
)

TIMEOUT = seen.Observation(
    id="gloo.timeout",
    source="log",
    quotes=(
        seen.Quote(
            text="Timed out waiting 8000ms for recv operation", path="logs/rank1.log", line=12, rank=1, time=20.5
        ),
    ),
    count=3,
)
HANG = seen.Observation(id="symptom=hang", source="fact")
ABSENT = seen.Observation(id="logs.same-error", source="log", present=False)
EVENTS = (
    seen.Quote(text="step 40 done", path="logs/rank0.log", line=41, rank=0, time=12.25),
    seen.Quote(text="Timed out waiting 8000ms for recv operation", path="logs/rank1.log", line=12, rank=1, time=20.5),
)


def diagnosis(verdict: str, probability: float = 0.93, observation: seen.Observation = TIMEOUT) -> Diagnosis:
    """Return a diagnosis of the verdict, with evidence for and against and a second entry behind the first."""
    found = verdict in {"named", "leading"}
    first = RankedCause(
        entry=ENTRY,
        cause=CAUSE,
        probability=probability,
        evidence=(
            Contribution(observation=observation, weight=2.7),
            Contribution(observation=HANG, weight=1.3),
            Contribution(observation=ABSENT, weight=-0.6),
        ),
    )
    left = 1 - probability
    second = RankedCause(
        entry=OTHER_ENTRY,
        cause=OTHER_CAUSE,
        probability=left * 0.6,
        evidence=(Contribution(observation=observation, weight=0.9),),
    )
    return Diagnosis(
        causes=(first, second),
        other=left * 0.4,
        verdict=verdict,  # type: ignore[arg-type]
        next=NextStep(kind="fix", step=None, fix=FIX, gain_bits=0.0)
        if verdict == "named"
        else NextStep(kind="collect", step=STEP, gain_bits=0.8),
        fix=FIX if found else None,
        evidence=seen.Evidence(
            observations=(observation, HANG, ABSENT),
            skipped=(seen.Skipped(path="logs/core.1", code="binary"),),
            notes=EVENTS,
            bytes_read=1234,
        ),
    )


def assert_golden(name: str, text: str) -> None:
    """Compare text with the golden file of that name; `UPDATE_GOLDEN=1` rewrites the file first."""
    path = Path(__file__).with_name("golden") / name
    if os.environ.get("UPDATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text.encode())
    assert text == path.read_bytes().decode()
