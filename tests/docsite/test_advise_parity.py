"""The advisor's script answers as the program does: the same numbers, the same sentences, the same files."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from distkb.docsite.data import sizing as data
from distkb.docsite.scripts import script
from distkb.locale import Say
from distkb.report import sizing as report
from distkb.sizing.advise import advise, choose
from distkb.sizing.form import CHOICES, Form, FormError, command_line, read
from distkb.sizing.launch import STAGES, command, files
from distkb.sizing.presets import PRESETS

pytestmark = pytest.mark.slow

ASSETS = Path(__file__).parents[2] / "site" / "assets"
RUNNER = Path(__file__).with_name("run_sizing.js")
SEED, ANSWERED = 20260102, 400
ODD = (
    "",
    "0",
    "-1",
    "abc",
    "12",
    "1e3",
    "7.B",
    " 9 b ",
    "체크포인트",
    "3,000,000,000",
    "x" * 60,
    "80 GiB",
    "'q\"",
    "{n}",
)
"""Words to put into fields: most cannot be read."""
CONFIGS: tuple[dict[str, Any], ...] = (
    {"num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32, "vocab_size": 128256},
    {"model_type": "gpt2", "n_layer": 12, "n_embd": 768, "n_head": 12, "vocab_size": 50257, "n_positions": 1024},
    {"text_config": {"num_hidden_layers": 1, "hidden_size": 64, "num_attention_heads": 4, "vocab_size": 99}},
    {"model_type": "qwen2", "num_hidden_layers": 24, "hidden_size": 896, "num_attention_heads": 14, "head_dim": 64,
     "num_key_value_heads": 2, "intermediate_size": 4864, "tie_word_embeddings": True, "vocab_size": 151936},
    {"num_hidden_layers": 2, "hidden_size": True, "num_attention_heads": 4, "vocab_size": 99},
    {"num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4, "vocab_size": 99, "num_experts": 8},
    {"num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4, "model_type": ["gpt2"]},
    {},
)  # fmt: skip


def drawn(chance: random.Random) -> dict[str, Any]:
    """One question: a form as people fill it in, a language, and perhaps a strategy or a configuration."""
    per_node = chance.choice((1, 2, 4, 8, 8, 8, 16))
    model = chance.choice((f"{chance.lognormvariate(2, 2):.3g}B", chance.choice(list(PRESETS)), "7B", "350m"))
    form = Form(
        model=model if "e" not in model or model in PRESETS else "70B",
        gpus=str(per_node * chance.choice((1, 1, 2, 4, 16, 125))),
        memory=chance.choice(("24G", "40G", "48G", "80G", "79.6G", "141GiB", "192g", "8192m")),
        per_node=chance.choice((str(per_node), str(per_node), "")),
        host=chance.choice(("", "", "512G", "2T")),
        seq=str(chance.choice((128, 512, 2048, 4096, 8192, 32768, 131072))),
        batch=str(chance.choice((1, 1, 2, 3, 8, 64))),
        optimizer=chance.choice(CHOICES["optimizer"]),
        precision=chance.choice(CHOICES["precision"]),
        checkpointing=chance.choice(CHOICES["checkpointing"]),
        lora=chance.choice(("", "", "8", "64")),
    )
    return {
        "form": asdict(form),
        "config": chance.choice(CONFIGS) if chance.random() < 0.1 else None,
        "lang": chance.choice(("en", "ko")),
        "strategy": chance.choice(list(STAGES)) if chance.random() < 0.5 else None,
    }


def questions() -> list[dict[str, Any]]:
    """At least 400 questions that have an answer, and some hundred that have none; the same each time."""
    chance = random.Random(SEED)
    out = [drawn(chance) for _ in range(2 * ANSWERED)]
    for field in asdict(Form()):
        for word in ODD:
            form = asdict(replace(Form(), **{field: word}))
            out.append({"form": form, "config": None, "lang": chance.choice(("en", "ko")), "strategy": None})
    return out


def expected(asked: dict[str, Any]) -> dict[str, Any]:
    """What the program answers."""
    form, say = Form(**asked["form"]), Say(asked["lang"])
    try:
        shape, run = read(form, asked["config"])
    except FormError as problem:
        return {"field": problem.field, "problem": say(problem.sentence, **problem.values)}
    found = advise(shape, run)
    known = {row.name for row in found.rows}
    advice = choose(found, asked["strategy"]) if asked["strategy"] in known else found
    return {
        "parameters": shape.parameters,
        "start": found.chosen and found.chosen.name,
        "enough": advice.enough,
        "checkpointing": advice.checkpointing,
        "rows": [
            [
                row.name,
                row.params,
                row.grads,
                row.optimizer,
                row.gathered,
                row.activations.peak(checkpointing=False),
                row.activations.peak(checkpointing=True),
                row.peak(checkpointing=False),
                row.peak(checkpointing=True),
                row.host,
                row.sent,
                row.leaves_node,
            ]
            for row in advice.rows
        ],
        "figures": [[*report.figures(row, run), report.fit(row, run)] for row in advice.rows],
        "texts": [
            report.verdict(advice, say),
            *report.assumed(advice, say, form=True),
            *report.notes(advice, say, form=True),
        ],
        "command": command(advice),
        "line": command_line(form),
        "files": files(advice),
    }


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]]:
    """Each question with the program's answer and the script's."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("Node is not installed (Debian: apt-get install nodejs)")
    folder = tmp_path_factory.mktemp("assets")
    shutil.copy(ASSETS / "sizing.js", folder)
    (folder / "sizing-data.js").write_bytes(script("sizingData", data.values()))
    asked = questions()
    done = subprocess.run([node, RUNNER, folder], input=json.dumps(asked), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return list(zip(asked, map(expected, asked), json.loads(done.stdout), strict=True))


def test_enough_is_asked(answers: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]]) -> None:
    """More than 300 questions have figures, every strategy is started with, and some have none that fits."""
    told = [ours for _, ours, _ in answers if "rows" in ours]
    assert len(told) >= ANSWERED
    assert {ours["start"] for ours in told} >= {"ddp", "fsdp2", "fsdp2_hybrid", "fsdp2_offload", None}
    assert sum("problem" in ours for _, ours, _ in answers) >= 100


def test_numbers_are_the_same(answers: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]]) -> None:
    """Every figure of every strategy agrees within a part in 10⁹."""
    for asked, ours, theirs in answers:
        if "rows" not in ours:
            continue
        assert theirs["parameters"] == ours["parameters"], asked
        for mine, other in zip(ours["rows"], theirs["rows"], strict=True):
            assert mine[0] == other[0], asked
            assert other[1:] == pytest.approx(mine[1:], rel=1e-9), (asked, mine[0])


def test_words_are_the_same(answers: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]]) -> None:
    """Sentences, cells of the table, commands, files and refusals are equal to the letter in both languages."""
    for asked, ours, theirs in answers:
        for key in ours:
            if key not in ("rows", "parameters"):
                assert theirs[key] == ours[key], (key, asked)
        assert set(theirs) == set(ours), asked
