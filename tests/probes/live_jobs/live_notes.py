"""What the jobs share: one JSON file per rank with what every check returned."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

from distkb_probes import live


class Notes:
    """Collects the results of one rank; `write` is the job's last word."""

    def __init__(self) -> None:
        self.said: dict[str, Any] = {}

    def __call__(self, name: str, result: live.Findings) -> live.Findings:
        """Note one result."""
        found = {item.id: dict(item.values) for item in reversed(result.findings)}
        evidence = [line for item in result.findings for line in item.evidence]
        told = {"found": found, "evidence": evidence, "reason": result.reason, "facts": result.facts}
        self.said[name] = {**told, "elapsed": result.elapsed_s}
        return result

    def write(self) -> None:
        """Write `rank-<n>.json` where the test looks for it."""
        rank = os.environ["RANK"]
        (Path(os.environ["LIVE_OUT"]) / f"rank-{rank}.json").write_text(json.dumps(self.said))


def meet(store: Any, name: str, world: int) -> None:
    """Wait in the job's store until all ranks are here: no collective, no fixed sleep."""
    store.add(f"test/{name}", 1)
    end = time.monotonic() + 60
    while int(store.add(f"test/{name}", 0)) < world:
        if time.monotonic() > end:
            raise TimeoutError(name)
        time.sleep(0.005)
