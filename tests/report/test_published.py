"""The JSON documents keep what was published: each validates, and whoever read yesterday's reads today's."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from click.testing import CliRunner

from distkb.cli import schema as command
from distkb.cli.main import cli
from distkb.report.documents import DOCUMENTS, schema

HERE = Path(__file__).parent
PUBLISHED = HERE / "published"
"""`NAME.schema.json` as it was published, and `NAME.json` as it was written then, cut to its first causes."""
RUN = HERE.parent / "replay" / "recorded" / "gloo-collectives-in-other-order"
SCRIPT = "import torch.distributed as dist\nif dist.get_rank() == 0:\n    dist.barrier()\n"
CALLS = {
    "diagnosis": ("diagnose", "{run}"),
    "digest": ("digest", "{run}"),
    "search": ("search", "barrier"),
    "list": ("list",),
    "entry": ("show", "D70"),
    "setting": ("show", "NCCL_DEBUG"),
    "probe": ("probe", "script", "{script}"),
    "repro-list": ("repro", "list"),
}


@cache
def written(name: str, script: Path) -> Any:
    """What a command writes today."""
    args = [arg.format(run=RUN, script=script) for arg in CALLS[name]]
    return json.loads(CliRunner().invoke(cli, [*args, "--json"]).stdout)


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A script with a finding."""
    path = tmp_path_factory.mktemp("script") / "train.py"
    path.write_text(SCRIPT)
    return path


def check(document: Any, against: dict[str, Any]) -> None:
    """Fail with the first difference between a document and a schema."""
    jsonschema_rs.meta.validate(against)
    told = jsonschema_rs.Draft202012Validator(against).iter_errors(document)
    problems = [f"{e.instance_path}: {e.message[:200]}" for e in told]
    assert not problems, problems[:3]


def published(name: str) -> dict[str, Any]:
    """The schema as it was published first."""
    found: dict[str, Any] = json.loads((PUBLISHED / f"{name}.schema.json").read_text())
    return found


def test_every_document_has_a_schema_a_command_and_a_record() -> None:
    """None is forgotten in the help, in the tests or among the records."""
    assert tuple(DOCUMENTS) == command.NAMES == tuple(CALLS)
    assert {path.name for path in PUBLISHED.iterdir()} == {
        f"{n}{s}" for n in DOCUMENTS for s in (".schema.json", ".json")
    }


@pytest.mark.parametrize("name", DOCUMENTS)
def test_what_is_written_is_what_the_schema_says(name: str, script: Path) -> None:
    """The command's document validates, and says its name where it has one."""
    document = written(name, script)
    check(document, schema(name))
    if isinstance(document, dict) and "schema" in document:
        assert document["schema"] == DOCUMENTS[name][0]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_recorded_document_is_still_one(name: str) -> None:
    """What was written and kept earlier validates against the schema of today."""
    check(json.loads((PUBLISHED / f"{name}.json").read_text()), schema(name))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_an_old_consumer_reads_the_document_of_today(name: str, script: Path) -> None:
    """What is written today validates against the schema that was published."""
    check(written(name, script), published(name))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_fields_are_only_added(name: str) -> None:
    """No field that was published is gone, and none that was always there may be missing now."""
    before, now = published(name), schema(name)
    compared: set[str] = set()
    left = [(before, now)]
    while left:
        old, new = (_resolved(part, whole) for part, whole in zip(left.pop(), (before, now), strict=True))
        name_of_old = json.dumps(old, sort_keys=True)
        if name_of_old in compared:
            continue
        compared.add(name_of_old)
        assert old.get("properties", {}).keys() <= new.get("properties", {}).keys(), old.get("title")
        assert set(old.get("required", ())) <= set(new.get("required", ())), old.get("title")
        left += [(field, new["properties"][key]) for key, field in old.get("properties", {}).items()]
        left += [(old[key], new[key]) for key in ("items", "additionalProperties") if isinstance(old.get(key), dict)]
        left += list(zip(old.get("anyOf", ()), new.get("anyOf", ()), strict=False))


def _resolved(part: dict[str, Any], whole: dict[str, Any]) -> dict[str, Any]:
    """What a reference in a schema stands for; what its records are called is nobody's business."""
    while "$ref" in part:
        part = whole["$defs"][part["$ref"].rpartition("/")[2]]
    return part


def test_the_command_prints_the_schema() -> None:
    """`distkb schema NAME` prints it; another name is wrong usage."""
    result = CliRunner().invoke(cli, ["schema", "digest"])
    assert json.loads(result.stdout) == schema("digest")
    assert CliRunner().invoke(cli, ["schema", "nothing"]).exit_code == 2
