"""The advisor's form: what can be read is read, everything else is refused with its field and a sentence."""

from __future__ import annotations

import shlex
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from distkb.locale import LANGUAGES, Say
from distkb.sizing.advise import LADDER, advise, choose, fits, ladder
from distkb.sizing.config_file import load
from distkb.sizing.form import CHOICES, Form, FormError, command_line, count, read
from distkb.sizing.presets import PRESETS
from distkb.sizing.shape import ShapeError

PUBLISHED = {
    "gpt2": 124_439_808,
    "qwen2.5-0.5b": 494_032_768,
    "llama-3.2-1b": 1_235_814_400,
    "llama-3.2-3b": 3_212_749_824,
    "llama-3-8b": 8_030_261_248,
    "qwen2.5-14b": 14_770_033_664,
    "qwen2.5-32b": 32_763_876_352,
    "llama-3-70b": 70_553_706_496,
    "llama-2-7b": 6_738_415_616,
    "llama-2-13b": 13_015_864_320,
    "mistral-7b": 7_241_732_096,
}
"""Parameters that the models are published with."""


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_model_has_the_parameters_it_is_published_with(name: str) -> None:
    """The shape of a name adds up to the model's own number."""
    assert PRESETS[name].parameters == PUBLISHED[name]


@settings(max_examples=300)
@given(st.sampled_from(list(asdict(Form()))), st.text(max_size=12) | st.from_regex(r"[0-9.]{1,6}[kKmMgGbBtT]?"))
def test_whatever_is_typed_is_read_or_refused(field: str, typed: str) -> None:
    """No text in any field leads to anything but a run or a sentence of one line in both languages."""
    refused: list[FormError] = []
    try:
        shape, run = read(replace(Form(), **{field: typed}))
    except FormError as problem:
        refused.append(problem)
    else:
        assert shape.parameters > 0
        assert run.gpus % run.per_node == 0 or run.nodes == 1
    for said in refused:
        assert said.field in asdict(Form())
        for lang in LANGUAGES:
            assert len(Say(lang)(said.sentence, **said.values).splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "parameters"),
    [("7B", 7 * 10**9), ("350m", 35 * 10**7), ("124_439_808", 124_439_808), ("1.5 b", 15 * 10**8), ("7e9", 7 * 10**9)],
)
def test_numbers_of_parameters(text: str, parameters: int) -> None:
    """Units, separators and exponents are read as people write them."""
    assert count(text) == parameters


@pytest.mark.parametrize("text", ["", "seven", "-7B", "nan", "inf", "1e99", "7BB", "0", "0x10", "7B7"])
def test_what_is_no_number_of_parameters_is_refused(text: str) -> None:
    """Nothing is guessed."""
    with pytest.raises(ShapeError):
        count(text)


@pytest.mark.parametrize(
    ("field", "typed", "named"),
    [
        ("gpus", "0", "gpus"),
        ("gpus", "12", "per_node"),
        ("memory", "", "memory"),
        ("memory", "80X", "memory"),
        ("lora", "-1", "lora"),
        ("optimizer", "adam", "optimizer"),
        ("model", "1P", "model"),
        ("model", "5", "model"),
    ],
)
def test_a_refusal_names_the_field(field: str, typed: str, named: str) -> None:
    """The field that has to be changed is named; with 12 GPUs it is those of one node."""
    with pytest.raises(FormError) as problem:
        read(replace(Form(), **{field: typed}))
    assert problem.value.field == named


def test_empty_fields_mean_what_the_command_line_means_without_them() -> None:
    """Without GPUs per node, main memory and rank: nodes of 8, unknown, every parameter."""
    shape, run = read(Form(gpus="32"))
    assert shape.source == "typical"
    assert (run.per_node, run.nodes, run.host_memory, run.lora) == (8, 4, None, 0)
    assert read(Form(gpus="4"))[1].per_node == 4


@pytest.mark.parametrize(
    "form",
    [Form(), Form(model="llama-3-8b", gpus="16", seq="8192", checkpointing="on", lora="16", host="1T", per_node="4")],
)
def test_the_command_line_asks_the_same(form: Form) -> None:
    """What a form says, `distkb advise` understands: the same figures come out."""
    import json

    from click.testing import CliRunner

    from distkb.cli.advise import command
    from distkb.report.sizing import document

    words = shlex.split(command_line(form))
    assert words[:2] == ["distkb", "advise"]
    answer = CliRunner().invoke(command, [*words[2:], "--json"])
    assert json.loads(answer.stdout)["strategies"] == document(advise(*read(form)))["strategies"]


def test_a_configuration_file_is_read_within_limits(tmp_path: Path) -> None:
    """No JSON, another kind of JSON and a file that is too large are refused; the words of the path need quotes."""
    path = tmp_path / "my config.json"
    for content in (b"{", b"[1]", b"\xff", b"[" * 100_000, b" " * (2 << 20)):
        path.write_bytes(content)
        with pytest.raises(ShapeError):
            load(path)
    assert shlex.split(command_line(Form(), str(path)))[2:4] == ["--config", str(path)]


@pytest.mark.parametrize("checkpointing", CHOICES["checkpointing"])
def test_checkpointing_can_be_asked_for_and_ruled_out(checkpointing: str) -> None:
    """Always and never are kept to on every rung; where it is open both are tried."""
    shape, run = read(Form(model="13B", memory="40G", seq="8192", checkpointing=checkpointing))
    advice = advise(shape, run)
    rungs = ladder(run.checkpointing)
    assert checkpointing == "auto" or {on for _, on in rungs} == {checkpointing == "on"}
    assert {name for name, _ in rungs} == {name for name, _ in LADDER}
    assert len(set(rungs)) == len(rungs)
    if advice.chosen is not None:
        assert (advice.chosen.name, advice.checkpointing) in rungs
        assert fits(advice.chosen, run, checkpointing=advice.checkpointing)


def test_another_strategy_can_be_started_with() -> None:
    """A row that was chosen by hand takes checkpointing where it fits only so; an unknown one is refused."""
    advice = advise(*read(Form(memory="48G", seq="4096")))
    for row in advice.rows:
        chosen = choose(advice, row.name)
        assert chosen.chosen is row
        assert chosen.checkpointing is not fits(row, advice.run, checkpointing=False)
    with pytest.raises(KeyError):
        choose(advice, "zero4")
