"""The versions in which a message was seen, beside the strings of the wheels of those versions."""

from __future__ import annotations

import json
from pathlib import Path

import catalogue_names as names

TABLE: dict[str, dict[str, list[str]]] = json.loads(Path(__file__).with_name("wheel_strings.json").read_text())


def explained() -> dict[str, str]:
    """Signatures that may be missing from a wheel, with the reason."""
    import yaml

    out: dict[str, str] = yaml.safe_load(Path(__file__).with_name("wheel_exceptions.yaml").read_text())
    return out


def key(version: str) -> list[int]:
    """Major and minor part of a version."""
    return [int(part) for part in version.split(".")[:2]]


def contradicted() -> dict[str, list[str]]:
    """Signatures that stand in some wheels, and not in others of the range that the catalogue states for them."""
    out: dict[str, list[str]] = {}
    for component, held in TABLE.items():
        for signature in names.catalogue().signatures:
            if not any(signature.id in ids for ids in held.values()):
                continue  # put together at run time, or newer than the table
            for seen in signature.seen_in:
                if seen.component != component or seen.since is None:
                    continue
                missing = [
                    f"{component} {wheel}"
                    for wheel, ids in held.items()
                    if signature.id not in ids
                    and key(wheel) >= key(seen.since)
                    and (seen.until is None or key(wheel) <= key(seen.until))
                ]
                if missing:
                    out.setdefault(signature.id, []).extend(missing)
    return out


def test_the_wheels_cover_the_versions_that_the_catalogue_speaks_of() -> None:
    """torch 2.4 to 2.15 and NCCL 2.20 to 2.28 were looked into."""  # noqa: D403 - a name that is written so
    assert {f"2.{minor}" for minor in (4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 15)} <= {
        ".".join(version.split(".")[:2]) for version in TABLE["torch"]
    }
    assert len(TABLE["nccl"]) >= 7


def test_a_message_stands_in_every_wheel_of_its_range() -> None:
    """Where a version is said to print a message, its words are in that version's wheel, or it is explained."""
    unexplained = {name: wheels for name, wheels in contradicted().items() if name not in explained()}
    assert unexplained == {}


def test_no_explanation_is_left_over() -> None:
    """Every explanation belongs to a signature that a wheel lacks."""
    assert sorted(set(explained()) - set(contradicted())) == []
