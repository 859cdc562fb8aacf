"""The all_reduce smoke test: are the ranks of a job able to find each other, to communicate correctly, and how fast?

It starts real ranks through torchrun (`nproc`, `nnodes`, `rdzv_endpoint`), or is one rank of a job that a launcher has
started (`srun distkb probe allreduce`, `torchrun … -m distkb probe allreduce`): then every rank gives a verdict.
The ranks pass the stages of `communication.marks.STAGES`; where they stop, the verdict names the stage and the rank.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from distkb_probes._report import Report
from distkb_probes.communication import launch
from distkb_probes.communication.nodes import NodeRoll
from distkb_probes.communication.plan import Plan, plan, rank_environ, visible_gpus
from distkb_probes.communication.verdict import conclude
from distkb_probes.communication.watch import Watch

_DONE_GRACE_S = 3.0
"""Seconds that finished ranks have to take leave of those of other nodes, which may still need the store here."""


def run(request: Mapping[str, Any], report: Report) -> None:
    """Run the smoke test that the request describes; it ends within `deadline_s`."""
    if importlib.util.find_spec("torch") is None:
        report.skip("no-torch")
    try:
        chosen = plan(request, os.environ, visible_gpus())
    except ValueError as problem:
        report.fail("bad-request", str(problem))
    report.fact("world_size", 1 if chosen.inside else chosen.nproc * chosen.nnodes)
    report.fact("rank", int(rank_environ(os.environ)["RANK"]) if chosen.inside else None)
    if not chosen.inside and chosen.gpus and chosen.backend in (None, "nccl") and chosen.nproc > chosen.gpus:
        report.found("allreduce.too-few-gpus", values={"nproc": chosen.nproc, "gpus": chosen.gpus})
        return
    _carry_out(chosen, report)


def _carry_out(chosen: Plan, report: Report) -> None:
    directory = launch.scratch()
    try:
        (directory / "settings.json").write_text(json.dumps(chosen.settings()), encoding="utf-8")
        process = launch.start(chosen, directory)
        roll = NodeRoll(chosen, directory) if chosen.nnodes > 1 and not chosen.inside else None

        def tell(stage: str, ranks: int, world: int) -> None:
            report.stage(f"allreduce.{stage}", ranks=ranks, world=world)

        watch = Watch(chosen, directory, process, tell, roll.look if roll else lambda: None)
        try:
            outcome = watch.run()
        finally:
            grace = _DONE_GRACE_S if watch.finished and chosen.several else 0.0
            ranks = {seen.rank: seen.pid for seen in watch.board.ranks.values() if seen.local}
            nodes = roll.end() if roll else None
            launch.end(process, ranks, grace)
            if chosen.logs:
                launch.keep_output(directory, Path(chosen.logs))
        conclude(chosen, outcome, report, nodes)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
