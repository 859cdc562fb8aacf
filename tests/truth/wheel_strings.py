"""Looks up each signature's fixed words in the strings of released wheels, for versions that cannot be run here.

    python tests/truth/wheel_strings.py torch-2.4.1-….whl nvidia_nccl_cu12-….whl …

updates `wheel_strings.json`: for each wheel, the signatures whose words stand in it. `test_wheel_strings.py` compares
that with the version ranges that the catalogue states. A message that is put together at run time may stand nowhere
in one piece; such a signature is in no wheel and nothing is concluded from it.
"""

from __future__ import annotations

import json
import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from distkb.catalogue.load import load_sources
from distkb.catalogue.model import Signature
from distkb.evidence.scanner.literals import required_literals

ROOT = Path(__file__).resolve().parents[2]
TABLE = Path(__file__).with_name("wheel_strings.json")
COMPONENTS = {"torch": ("torch",), "nvidia_nccl_cu12": ("nccl",), "nvidia_nccl_cu13": ("nccl",)}
"""Whose messages a wheel holds, by its name."""
PARTS = re.compile(r".*(?:\.py|lib(?:torch_cpu|torch_cuda|torch_python|torch|c10|c10_cuda|nccl)\.so[.\d]*)$")
CHUNK = 1 << 26
OVERLAP = 1 << 10


def signatures(component: str) -> list[Signature]:
    """The signatures of lines that a component prints."""
    catalogue, _ = load_sources([ROOT / "kb"])
    return [
        signature
        for signature in catalogue.signatures
        if "log" in signature.where and any(version.component == component for version in signature.seen_in)
    ]


def found_in(wheel: Path, wanted: dict[str, list[str]]) -> set[str]:
    """Return the ids of `wanted` of which one literal stands in a file of the wheel."""
    if not wanted:
        return set()
    import hyperscan

    numbered = [(identity, literal) for identity, literals in wanted.items() for literal in literals]
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    database.compile(
        expressions=[re.escape(literal).encode() for _, literal in numbered],
        ids=list(range(len(numbered))),
        flags=[hyperscan.HS_FLAG_SINGLEMATCH | hyperscan.HS_FLAG_CASELESS] * len(numbered),
    )
    hits: set[str] = set()
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if PARTS.match(name):
                with archive.open(name) as file:
                    for chunk in chunks(file):
                        database.scan(chunk, lambda number, *_: hits.add(numbered[number][0]))
    return hits


def chunks(file: IO[bytes]) -> Iterator[bytes]:
    """Yield a file in pieces that overlap, so that no string is cut in all of them."""
    tail = b""
    while piece := file.read(CHUNK):
        yield tail + piece
        tail = piece[-OVERLAP:]


def main(wheels: list[Path]) -> None:
    """Scan the wheels and write the table."""
    table: dict[str, dict[str, list[str]]] = json.loads(TABLE.read_text()) if TABLE.exists() else {}
    for wheel in wheels:
        name, version = wheel.name.split("-")[:2]
        for component in COMPONENTS[name]:
            wanted = {
                signature.id: literals
                for signature in signatures(component)
                if (literals := required_literals(signature.pattern))
            }
            held = table.setdefault(component, {})
            held[version.partition("+")[0]] = sorted(found_in(wheel, wanted))
            sys.stdout.write(f"{wheel.name}: {component}: {len(held[version])} of {len(wanted)} signatures\n")
    ordered = {
        component: dict(sorted(held.items(), key=lambda item: [int(part) for part in item[0].split(".")]))
        for component, held in sorted(table.items())
    }
    TABLE.write_text(json.dumps(ordered, indent=1) + "\n")


if __name__ == "__main__":
    main([Path(name) for name in sys.argv[1:]])
