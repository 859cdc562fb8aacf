"""A person's report: their words, commands and pasted output."""

from __future__ import annotations

import pytest
from evidence_samples import FINDINGS, SIGNATURES, by_id, facts, read

from distkb.evidence.read import read_evidence
from distkb.evidence.readers.report.report_reader import take_apart
from distkb.evidence.readers.report.words import SURE, TORN
from distkb.evidence.walk import take_stock


def _ids(report: str) -> set[str]:
    return set(by_id(read(report=report)))


def test_pasted_message_wrapped_by_mail() -> None:
    """A message broken over quoted lines is found, a little less surely than one that is whole."""
    wrapped = "It dies:\n> RuntimeError: Expected to have finished\n> reduction in the prior iteration before starting"
    observation = by_id(read(report=wrapped))["torch.ddp.unfinished"]
    assert observation.certainty < 1
    assert observation.source == "report"
    assert observation.quotes[0].line == 2
    whole = "RuntimeError: Expected to have finished reduction in the prior iteration"
    assert by_id(read(report=whole))["torch.ddp.unfinished"].certainty == 1


def test_places() -> None:
    """Patterns for reports match people's words in both languages; patterns for logs only do not."""
    assert "report.rank-zero-save" in _ids("In our code `only rank 0 calls` save_model.")
    assert "report.korean" in _ids("체크포인트를 랭크 0에서만 저장합니다")
    assert "log.only" not in _ids("printed in logs only")


def test_what_is_commented_out_is_not_set() -> None:
    """A call or a setting behind a comment's mark is no part of the set-up; a remark and a heading stay."""
    fenced = "```\ntrainer(\n    # device_map = 'auto',\n    #use(model)\n# loss = nan\n```"
    report = fenced + "\n#export A=1\n# strategy = 'ddp'"
    assert take_apart(report).lines == ("", "trainer(", "", "", "# loss = nan", "", "", "# strategy = 'ddp'")


def test_words_and_their_certainty() -> None:
    """Facts are inferred from prose, and with less trust where several values of one fact are said."""
    observations = by_id(read(report="Training hangs on two nodes with FSDP2, started by torchrun."))
    assert observations["symptom=hang"].certainty == pytest.approx(SURE)
    assert {"nodes=multi", "parallelism=fsdp2", "launcher=torchrun"} <= set(observations)
    torn = by_id(read(report="It hangs, hangs and hangs again, and once it crashed."))
    assert torn["symptom=hang"].certainty == pytest.approx(TORN)
    assert "symptom=crash" not in torn


def test_negated_words_do_not_count() -> None:
    """What did not happen is not inferred."""
    assert "symptom=hang" not in _ids("It does not hang, the loss is just wrong.")
    assert "symptom=hang" not in _ids("멈추지 않습니다")


def test_korean_words() -> None:
    """Korean words count wherever they stand in a word."""
    assert {"symptom=hang", "phase=checkpoint"} <= _ids("체크포인트 저장 직전에 학습이 멈춥니다")


def test_pasted_output_is_not_the_persons_word() -> None:
    """A timeout in a pasted traceback says nothing about the symptom; the person's own words do."""
    report = (
        "The loss diverges after some steps.\n\n```\nTraceback (most recent call last):\n"
        '  File "/home/u/train.py", line 3, in main\n    wait(timeout=3)\nTimeoutError: timeout, stuck\n```\n'
        "2026-01-01 10:00:00 INFO hang detector: frozen stuck hang\n"
    )
    symptoms = {name for name in _ids(report) if name.startswith("symptom=")}
    assert symptoms == {"symptom=wrong-result"}


def test_commands_show_the_setup() -> None:
    """A command line in a code block shows launcher and nodes."""
    report = "Fails with:\n\n```\n$ torchrun --nnodes 1 --nproc-per-node 8 train.py\n```\n"
    assert {"launcher=torchrun", "nodes=single"} <= _ids(report)


def test_pasted_traceback_gives_frames() -> None:
    """Frames and the user's own exception are read from a pasted traceback."""
    report = (
        'Traceback (most recent call last):\n  File "/home/u/train.py", line 3, in main\n    dist.barrier()\n'
        "ValueError: bad value\n"
    )
    observations = by_id(read(report=report))
    assert observations["frame.barrier"].quotes[0].line == 2
    assert observations["logs.exception-in-user-code"].certainty < 1


def test_stated_facts_override_words() -> None:
    """A fact that the user states stands; the inferred one goes, also where the user says that it is unknown."""
    observations = by_id(read(report="It hangs.", symptom="crash"))
    assert observations["symptom=crash"].source == "fact"
    assert "symptom=hang" not in observations
    assert not any(name.startswith("symptom=") for name in by_id(read(report="It hangs.", symptom="unknown")))


def test_surrogates_and_control_characters() -> None:
    """A report with broken characters is read."""
    report = "\ud800\x1b[31mIt hangs\x00 \u202e Expected to have finished reduction in the prior iteration"
    evidence = read_evidence(SIGNATURES, facts(), FINDINGS, take_stock([]), report, "report.md")
    (quote,) = by_id(evidence)["torch.ddp.unfinished"].quotes
    assert quote.path == "report.md"
    assert quote.text.isprintable()


def test_words_after_the_name_of_an_error_are_prose() -> None:
    """A line that begins with an error and in which a person speaks tells about the setup, too."""
    for spoken in (
        "RuntimeError: 'weight' must be 2-D occurs when I am using DeepSpeed ZeRO-3",
        "RuntimeError: 'weight' must be 2-D 에러가 ZeRO-3에서 납니다.",
    ):
        assert take_apart(spoken).prose == spoken
    printed = "RuntimeError: in version 2.5 we will raise an exception; check your code"
    assert take_apart(printed).output == printed


def test_parts_keep_line_numbers() -> None:
    """Each part has as many lines as the report."""
    text = "a\n```\n$ torchrun x\nValueError: b\n```\nc"
    parts = take_apart(text)
    assert len(parts.lines) == len(parts.prose.split("\n")) == len(parts.setup.split("\n")) == 6
    assert parts.prose.split() == ["a", "c"]
