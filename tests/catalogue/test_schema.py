"""The JSON Schemas say what the types say."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from catalogue_samples import DATA, KB, OBSERVATIONS, QUIET

from distkb.catalogue import schema

FILES = sorted([*KB.glob("entries/*/*/*.yaml"), *KB.glob("observations/*.yaml"), *KB.glob("[gt]*.yaml")])


@cache
def validator(name: str) -> jsonschema_rs.Draft202012Validator:
    """Return what checks files of this kind."""
    return jsonschema_rs.Draft202012Validator(schema.schemas()[f"{name}.schema.json"])


def validator_for(path: Path) -> jsonschema_rs.Draft202012Validator:
    """Return what checks a file of a knowledge base."""
    return validator(path.parent.name if path.parent.name == "observations" else path.stem)


def test_committed_schemas_are_current() -> None:
    """`distkb kb schema` was run after the last change of the model."""
    committed = {path.name: path.read_text(encoding="utf-8") for path in (KB / "schema").glob("*.json")}
    assert committed == schema.rendered()


def content_of(path: Path) -> Any:
    """Read a file as an editor would."""
    import yaml

    return yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)


@pytest.mark.parametrize("name", sorted(schema.FILES))
def test_schemas_are_valid(name: str) -> None:
    """Each is a schema of the dialect that it names."""
    jsonschema_rs.meta.validate(schema.schemas()[name])


@pytest.mark.parametrize("path", FILES, ids=lambda path: "/".join(path.parts[-2:]))
def test_files_of_the_knowledge_base_match_their_schema(path: Path) -> None:
    """An editor shows no error in what the program accepts."""
    content = content_of(path)
    errors = [error.message for error in validator_for(path).iter_errors(content)]
    assert errors == []


@pytest.mark.parametrize("name", [QUIET, OBSERVATIONS, "glossary.yaml"])
def test_schemas_refuse_unknown_fields(name: str) -> None:
    """A misspelt field is an error in the editor too."""
    path = DATA / "sound" / name
    content = content_of(path)
    assert list(validator_for(path).iter_errors(content)) == []
    assert list(validator_for(path).iter_errors({**content, "symtoms": []})) != []


def test_docstrings_and_scales_reach_the_schema() -> None:
    """Editors explain fields, and offer words from one end of a scale to the other."""
    parts = schema.schemas()["entry.schema.json"]["$defs"]
    assert parts["Fix"]["properties"]["verify"]["description"] == "What shows that it worked."
    assert "echo on a rank" in parts["Signature"]["properties"]["role"]["description"]
    words = ["always", "usually", "often", "sometimes", "rarely", "never"]
    assert parts["Fix"]["properties"]["works"]["enum"] == words
    assert parts["Cause"]["properties"]["evidence"]["propertyNames"]["enum"] == words


def test_writing_changes_only_what_differs(tmp_path: Path) -> None:
    """A second run touches nothing."""
    assert len(schema.write(tmp_path / "schema")) == len(schema.FILES)
    assert schema.write(tmp_path / "schema") == []
    (tmp_path / "schema" / "glossary.schema.json").write_text("{}", encoding="utf-8")
    assert [path.name for path in schema.write(tmp_path / "schema")] == ["glossary.schema.json"]
