"""Appends today's figures to `tests/benchmarks/eval_history.jsonl`, one line a change of the catalogue worth noting.

    python tests/benchmarks/eval_history.py REPORTS.jsonl QUERIES.jsonl --note "what changed"

A line holds the date, the size of the catalogue, and what `distkb eval diagnosis` and `distkb eval search` print for
the two files, which are not part of the project: figures are comparable only while the files are the same, so their
digests are kept beside.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from distkb.knowledge import open_knowledge

HISTORY = Path(__file__).with_name("eval_history.jsonl")


def figures(kind: str, path: Path) -> Any:
    """What `distkb eval` says of a file, without the single cases."""
    done = subprocess.run(
        [sys.executable, "-m", "distkb", "eval", kind, str(path), "--json"], capture_output=True, check=True
    )
    return rounded(json.loads(done.stdout)["figures"])


def rounded(value: Any) -> Any:
    """The same figures with three decimals."""
    if isinstance(value, dict):
        return {key: rounded(inner) for key, inner in value.items()}
    return round(value, 3) if isinstance(value, float) else value


def size() -> dict[str, int]:
    """How much the catalogue holds."""
    catalogue = open_knowledge().catalogue()
    return {
        "entries": len(catalogue.entries),
        "causes": sum(len(entry.causes) for entry in catalogue.entries),
        "fixes": sum(len(cause.fixes) for entry in catalogue.entries for cause in entry.causes),
        "signatures": len(catalogue.signatures),
        "findings": len(catalogue.findings),
        "settings": len(catalogue.settings),
        "terms": len(catalogue.terms),
    }


def main() -> None:
    """Evaluate both files and append one line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("reports", type=Path)
    parser.add_argument("queries", type=Path)
    parser.add_argument("--note", required=True)
    given = parser.parse_args()
    line = {
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "note": given.note,
        "catalogue": size(),
        "files": {
            path.stem: hashlib.sha256(path.read_bytes()).hexdigest()[:12] for path in (given.reports, given.queries)
        },
        "diagnosis": figures("diagnosis", given.reports),
        "search": figures("search", given.queries),
    }
    with HISTORY.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
