"""What the model probe says: its sentences have all their values, and its screen fits in 80 columns."""

from __future__ import annotations

import ast
import string
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from fsdp_models import PROBES, inspect

from distkb.catalogue.model import Finding, ObservationFile
from distkb.locale import LANGUAGES, Language, Say, fill
from distkb.locale.particles import PARTICLES
from distkb.report import sharding
from distkb.report.layout import width
from distkb_probes.sharding.judge import IDS

RECORDS = PROBES.parent / "kb" / "observations" / "probe-fsdp.yaml"


@cache
def _records() -> dict[str, Finding]:
    import yaml

    content = msgspec.convert(yaml.safe_load(RECORDS.read_text(encoding="utf-8")), ObservationFile)
    return {finding.id: finding for finding in content.findings}


@cache
def _facts() -> tuple[dict[str, Any], ...]:
    """Return the documents of a plain model that fits, one that does not, and one wrapped by its own code."""
    return tuple(
        inspect(
            [
                {"model": "models:large", "world_size": 64, "gpu_memory": "80G", "precision": "bf16"},
                {"model": "models:large", "world_size": 4, "gpu_memory": "1G"},
                {"model": "models:fsdp2_tied_apart", "world_size": 16},
                {"model": "models:fsdp2_lora", "world_size": 1024, "gpu_memory": "1G"},
                {"model": "models:fsdp2_blocks_only", "world_size": 16},
            ]
        )
    )


def _fields(text: str) -> set[str]:
    return {field for _, field, _, _ in string.Formatter().parse(text) if field and field not in PARTICLES}


def test_every_finding_has_a_record_and_every_record_a_finding() -> None:
    """What the probe can report and what the catalogue describes are the same."""
    assert set(_records()) == set(IDS)


def test_both_languages_use_the_same_values() -> None:
    """No sentence asks for a value in one language that it does not have in the other."""
    for record in _records().values():
        for text in (record.says, record.fix):
            if text is not None:
                assert _fields(text.en) == _fields(text.ko), record.id


@pytest.mark.slow
def test_what_was_found_fills_its_sentences() -> None:
    """The values of real findings fill sentence and repair in both languages."""
    found = [item for document in _facts() for item in document["found"]]
    assert len({item["id"] for item in found}) >= 3
    for item in found:
        record = _records()[item["id"]]
        for text in (record.says, record.fix):
            if text is not None:
                assert "{" not in fill(text.en, item["values"]) + fill(text.ko, item["values"]).replace("({Block})", "")


@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_screen_fits_in_80_columns_and_says_it_without_colour(lang: Language) -> None:
    """Every line fits; the verdict comes first; ✓ and ✗ stand where memory was given."""
    for document in _facts():
        facts = document["facts"]
        screen = sharding.write(facts, Say(lang))
        assert all(width(line) <= 80 for line in screen.splitlines()), screen
        assert screen.count("✓") + screen.count("✗") == len(facts["fits"])
        assert sum(line.startswith("▸ ") for line in screen.splitlines()) == 1
        assert facts["unit_groups"][0]["class"] in screen


def test_the_verdict_names_the_strategy_and_what_it_needs() -> None:
    """One sentence says whether the model fits."""
    fits, fails = (sharding.write(document["facts"], Say("en")).splitlines()[0] for document in _facts()[:2])
    assert fits.startswith("FSDP2 over 64 ranks fits: ")
    assert fails.startswith("FSDP2 over 4 ranks does not fit: ")


def test_facts_that_did_not_come_as_far_have_no_screen() -> None:
    """Where the model could not be built there is nothing to show."""
    assert sharding.write({"torch": "2.13.0"}, Say("en")) == ""


def test_names_of_the_user_reach_the_screen_without_escape_sequences() -> None:
    """A class name with control characters cannot steer the terminal."""
    facts = {
        **_facts()[0]["facts"],
        "unit_groups": [{"class": "\x1b[31mNet", "root": False, "count": 2, "all_gather_bytes": 8}],
    }
    assert "\x1b" not in sharding.write(facts, Say("en"))


@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_reason_and_stage_has_a_sentence(lang: Language) -> None:
    """The codes that the probe ends with are told in both languages."""
    say = Say(lang)
    codes = _codes(PROBES / "distkb_probes" / "fsdp.py") | {
        f"fsdp-{code}" for code in _codes(PROBES / "distkb_probes" / "sharding" / "source.py")
    }
    assert len(codes) >= 15
    assert [code for code in codes if not say.knows(f"probe.reason.{code}")] == []
    assert say.knows("probe.stage.fsdp-build")
    assert say.knows("probe.stage.fsdp-count")


def _codes(path: Path) -> set[str]:
    """Return the literal codes that a module ends the probe with."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute)):
            name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
            at = {"fail": 0, "skip": 0, "Unusable": 0, "_guarded": 1}.get(name)
            if at is not None and len(node.args) > at:
                argument = node.args[at]
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                    found.add(argument.value)
    return found - {"no-torch"}
