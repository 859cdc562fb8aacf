"""JSON Schemas of the YAML files, made from the types and their docstrings, so that editors complete and explain."""

from __future__ import annotations

import ast
import itertools
import json
from pathlib import Path
from typing import Any, Final

import msgspec

from distkb.catalogue import account, message, model, records, settings
from distkb.catalogue.listing import PARTS
from distkb.catalogue.validate import in_order

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
FILES: Final[dict[str, tuple[Any, str]]] = {
    "entry.schema.json": (model.Entry, "An entry of the distkb knowledge base"),
    "accounts.schema.json": (account.AccountFile, "Accounts of an entry of the distkb knowledge base"),
    "projects.schema.json": (account.ProjectFile, "Programs that fail as an entry of the distkb knowledge base says"),
    "runs.schema.json": (account.RunFile, "Runs that fail as an entry of the distkb knowledge base says"),
    "messages.schema.json": (message.LibraryMessages, "Messages of a library that the distkb knowledge base knows"),
    "observations.schema.json": (model.ObservationFile, "Observations of the distkb knowledge base"),
    "settings.schema.json": (settings.SettingsFile, "Settings and timers of the distkb knowledge base"),
    "aliases.schema.json": (records.Words, "Aliases of an entry of the distkb knowledge base"),
    "signatures.schema.json": (tuple[model.Signature, ...], "Signatures of an entry of the distkb knowledge base"),
    "traits.schema.json": (model.TraitsFile, "Traits of causes in the distkb knowledge base"),
    "glossary.schema.json": (model.GlossaryFile, "Glossary of the distkb knowledge base"),
}
"""File name → the record, or list of records, that such a file holds, and the schema's title."""

_NARROWER: Final[dict[tuple[str, str], dict[str, Any]]] = {
    ("Entry", "id"): {"pattern": "^[A-Z]{1,8}[1-9][0-9]*$"},
    ("Entry", "slug"): {"pattern": "^[a-z0-9]+(-[a-z0-9]+)*$"},
    ("Entry", "symptoms"): {"minItems": 1},
    ("Entry", "causes"): {"minItems": 1},
    ("Entry", "references"): {"minItems": 1},
    ("Cause", "fixes"): {"minItems": 1},
    ("Fix", "steps"): {"minItems": 1},
    ("Reference", "url"): {"pattern": "^https://"},
    ("Reference", "accessed"): {"pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"},
    ("Text", "en"): {"minLength": 1},
    ("Text", "ko"): {"minLength": 1},
}
"""What `distkb kb check` asks beyond the types, as far as a schema can say it."""


def schemas() -> dict[str, dict[str, Any]]:
    """Return the schema of every kind of file, by file name."""
    return {name: _schema(kind, title) for name, (kind, title) in FILES.items()}


def rendered() -> dict[str, str]:
    """Return the text of every schema file, by file name."""
    return {name: json.dumps(schema, indent=2, ensure_ascii=False) + "\n" for name, schema in schemas().items()}


def write(directory: Path) -> list[Path]:
    """Write the schema files into a directory, made if missing; returns those whose content changed."""
    directory.mkdir(parents=True, exist_ok=True)
    changed = []
    for name, text in rendered().items():
        path = directory / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            changed.append(path)
    return changed


def _schema(kind: Any, title: str) -> dict[str, Any]:
    (top,), parts = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    notes = _docstrings()
    for name, part in parts.items():
        for field, shape in part.get("properties", {}).items():
            shape.update(_NARROWER.get((name, field), {}))
            if notes.get((name, field)):
                shape["description"] = notes[name, field]
            if field in ("evidence", "given"):
                shape["propertyNames"] = {"enum": list(model.PROBABILITY)}
            if "enum" in shape:
                shape["enum"] = list(in_order(shape["enum"]))
            if shape.get("default") is None:
                shape.pop("default", None)
    if "Entry" in parts:
        parts["Entry"]["required"] = [name for name in parts["Entry"]["required"] if name not in PARTS]
    return {"$schema": DIALECT, "title": title, **top, "$defs": dict(sorted(parts.items()))}


def _docstrings() -> dict[tuple[str, str], str]:
    """Return what the model's source says under each field, or under the alias that is the field's type."""
    body = [
        statement
        for module in (records, settings, account, model)
        for statement in ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8")).body
    ]
    aliases = _documented(body)
    found: dict[tuple[str, str], str] = {}
    for node in body:
        if not isinstance(node, ast.ClassDef):
            continue
        own = _documented(node.body)
        for statement in node.body:
            if not (isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)):
                continue
            name = statement.target.id
            used = [part.id for part in ast.walk(statement.annotation) if isinstance(part, ast.Name)]
            notes = [own.get(name, ""), *(aliases.get(alias, "") for alias in used)]
            found[node.name, name] = " ".join(note for note in notes if note)
    return found


def _documented(body: list[ast.stmt]) -> dict[str, str]:
    """Return the docstrings that stand under assignments, by the name assigned to."""
    notes: dict[str, str] = {}
    for statement, following in itertools.pairwise(body):
        target: ast.expr | None = None
        if isinstance(statement, ast.Assign):
            target = statement.targets[0]
        elif isinstance(statement, ast.AnnAssign):
            target = statement.target
        if not (isinstance(target, ast.Name) and isinstance(following, ast.Expr)):
            continue
        if isinstance(following.value, ast.Constant) and isinstance(following.value.value, str):
            notes[target.id] = " ".join(following.value.value.split())
    return notes
