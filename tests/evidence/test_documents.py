"""Saved answers of probes: read beside the logs, and never trusted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from distkb.evidence.read import read_evidence
from distkb.evidence.readers.probe_answers import is_probe_document, read_document
from distkb.evidence.walk import take_stock

RAW = {
    "schema": "distkb.probe-raw/1",
    "probe": "env",
    "status": "ok",
    "found": [
        {
            "id": "env.port",
            "values": {"port": "29500"},
            "quotes": [{"text": "\x1b[31mMASTER_PORT=29500 token=hf_abcdefghijklmnop", "path": "environment"}],
        }
    ],
    "clear": ["env.other"],
    "facts": {},
}
FINAL = {
    "schema": "distkb.probe/1",
    "probe": "env",
    "findings": [{"id": "env.port", "values": {"port": "29500"}, "evidence": [{"text": "x", "path": None, "line": 3}]}],
    "clear": [],
}


@pytest.mark.parametrize("document", [RAW, FINAL])
def test_what_a_probe_found_is_read_from_either_document(document: dict[str, object]) -> None:
    """The process's own document and the one that is shown say the same."""
    data = json.dumps(document).encode()
    assert is_probe_document(data[:256])
    observations = read_document(data)
    assert observations is not None
    first = observations[0]
    assert (first.id, first.source, first.present, first.values) == ("env.port", "probe", True, {"port": "29500"})


def test_quotes_of_a_document_are_cleaned_and_masked() -> None:
    """A file can say that it is a probe's answer and hold anything."""
    observations = read_document(json.dumps(RAW).encode())
    assert observations is not None
    text = observations[0].quotes[0].text
    assert "\x1b" not in text
    assert "hf_abcdefghijklmnop" not in text


def test_what_was_looked_for_in_vain_is_an_observation_too() -> None:
    """An absent finding speaks against the causes that would show it."""
    observations = read_document(json.dumps(RAW).encode())
    assert observations is not None
    assert [(o.id, o.present) for o in observations[1:]] == [("env.other", False)]


@pytest.mark.parametrize(
    "data", [b"", b"{", b'{"schema": "distkb.probe/9"}', b'{"schema": "distkb.probe/1", "found": 3}']
)
def test_damaged_documents_are_none(data: bytes) -> None:
    """What is no whole document is refused, not half read."""
    assert read_document(data) is None


def test_a_folder_with_only_a_document_is_read(tmp_path: Path) -> None:
    """A saved answer counts like a log: the folder is not empty, and its findings are known."""
    (tmp_path / "env.json").write_text(json.dumps(RAW), encoding="utf-8")
    evidence = read_evidence([], [], {"env.port"}, take_stock([tmp_path]))
    assert [o.id for o in evidence.observations] == ["env.port"]
    assert not evidence.skipped
    assert evidence.bytes_read


def test_a_damaged_document_is_named_and_the_rest_read(tmp_path: Path) -> None:
    """One bad file costs one line."""
    (tmp_path / "env.json").write_text('{"schema": "distkb.probe/1", "found": 3}', encoding="utf-8")
    (tmp_path / "live.json").write_text(json.dumps(RAW), encoding="utf-8")
    evidence = read_evidence([], [], {"env.port"}, take_stock([tmp_path]))
    assert [skipped.code for skipped in evidence.skipped] == ["bad-document"]
    assert [o.id for o in evidence.observations] == ["env.port"]
