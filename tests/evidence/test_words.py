"""Facts that a person's words show: what says a value, what only goes with it, and what must not be taken for it."""

from __future__ import annotations

import pytest
from evidence_samples import facts

from distkb.catalogue.model import Fact, FactValue, Text, Words
from distkb.evidence.readers.report.report_reader import facts_of, take_apart
from distkb.evidence.readers.report.words import SHOWN, SURE, TORN, inferred

EMPTY = Text(en="", ko="")


def _read(report: str) -> dict[str, str]:
    return dict(one.id.split("=") for one in facts_of(take_apart(report), facts(), None))


def _fact(name: str = "symptom") -> Fact:
    return Fact(
        id=name,
        question=EMPTY,
        why=EMPTY,
        not_said_as=Words(en=("freeze the",)),
        values=(
            FactValue(
                value="hang",
                label=EMPTY,
                share=0.5,
                said_as=Words(en=("freeze", "never … return*"), ko=("멈추", "안 … 끝나")),
                hinted_as=Words(en=("timeout",)),
            ),
            FactValue(
                value="crash", label=EMPTY, share=0.4, said_as=Words(en=("crash*", "error")), shown_as=("*error:",)
            ),
            FactValue(value="oom", label=EMPTY, share=0.1, shown_as=("out of memory",)),
        ),
    )


def _one(prose: str, output: str = "", name: str = "symptom") -> tuple[str, float]:
    found = inferred(prose, "", output, [_fact(name)])
    return (found[0].id.partition("=")[2], found[0].certainty) if found else ("", 0.0)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("it never ever returned", "hang"),
        ("never. It returned", ""),
        ("crashing", "crash"),
        ("I freeze the encoder", ""),
        ("I freeze the encoder, and they freeze", "hang"),
        ("안 그래도 끝나", "hang"),
        ("nothing crashes, no crash and no error", ""),
        ("it does not train and crashes", "crash"),
    ],
)
def test_phrases(text: str, value: str) -> None:
    """Endings, gaps within a sentence, phrases that only hold a word, and negations that end at a conjunction."""
    assert _one(text)[0] == value


def test_certainty() -> None:
    """What is said is surer than what is hinted at, and that surer than what only the output shows."""
    assert _one("they freeze") == ("hang", SURE)
    assert _one("a timeout") == ("hang", TORN)
    assert _one("they freeze\n\nbefore, a crash") == ("hang", TORN)
    assert _one("hello", "ValueError: x") == ("crash", SHOWN)
    assert SURE > TORN > SHOWN


def test_the_title_counts_most() -> None:
    """What the first line says outweighs what is mentioned on the way."""
    assert _one("They freeze\n\nBefore, there was a crash.")[0] == "hang"
    assert _one("They crash\n\nBefore, they would freeze.")[0] == "crash"


def test_output_makes_a_general_word_exact() -> None:
    """An error that the words name is the one in the output; what they say otherwise stands."""
    assert _one("I get an error", "ValueError: out of memory") == ("oom", TORN)
    assert _one("they freeze", "ValueError: out of memory") == ("hang", SURE)


def test_a_phase_holds_although_it_is_negated() -> None:
    """What never comes to an end was tried."""
    assert _one("no crash", name="phase")[0] == "crash"


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        ("A single node works, two hang.", {"nodes": "multi", "symptom": "hang"}),
        ("With ZeRO-2 it works, with ZeRO-3 it hangs.", {"parallelism": "zero3"}),
        ("ZeRO-2에서는 잘 되는데 ZeRO-3에서는 멈춥니다.", {"parallelism": "zero3", "symptom": "hang"}),
        ("노드 하나에서는 정상인데 노드 16개에서는 멈춥니다.", {"nodes": "multi"}),
        ("One GPU: trains. Two GPUs: crash.", {"single_gpu_works": "yes", "symptom": "crash"}),
        ("한 장에서는 되는데 두 장이면 죽습니다.", {"single_gpu_works": "yes", "symptom": "crash"}),
        ("The loss stays at 2.7 and the weights are not updated.", {"symptom": "wrong-result"}),
        ("loss가 안 내려가고 가중치가 바뀌지 않습니다.", {"symptom": "wrong-result"}),
        ("The saved checkpoint cannot be loaded: missing keys.", {"symptom": "save-load"}),
        ("저장한 체크포인트를 불러오지 못합니다. 키가 안 맞습니다.", {"symptom": "save-load"}),
        ("It hangs at the end of the first epoch.", {"symptom": "hang", "phase": "epoch-end"}),
        ("첫 에폭이 끝나고 더 이상 진행되지 않습니다.", {"symptom": "hang", "phase": "epoch-end"}),
        ("GPU 여러 장을 줘도 한 장만 씁니다.", {"symptom": "not-distributed"}),
        ("Training is 3 times slower with two GPUs.", {"symptom": "slow"}),
        ("CPU 오프로드를 켜니 너무 느려요.", {"symptom": "slow"}),
        ("加载模型时CPU内存不够", {"symptom": "oom"}),
        ("It stops after training a while", {"phase": "training"}),
    ],
)
def test_what_people_write(report: str, expected: dict[str, str]) -> None:
    """Plain sentences in both languages say what a colleague would hear in them."""
    assert expected.items() <= _read(report).items()


@pytest.mark.parametrize(
    ("report", "absent"),
    [
        ("All layers of the encoder are frozen; the room is warm.", "symptom"),
        ("We use gradient checkpointing to save memory.", "phase"),
        ("gradient checkpointing을 켜고 학습합니다.", "phase"),
        ("I call random.seed and use a RandomSampler with a random seed.", "same_spot"),
        ("학습이 잘 되고 이상이 없습니다.", "symptom"),
    ],
)
def test_words_that_say_nothing(report: str, absent: str) -> None:
    """Parameters that are frozen, checkpointing of activations and seeds are no failures, phases or chances."""
    assert absent not in _read(report)
