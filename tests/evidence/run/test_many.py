"""The work that many ranks make grows as their number does."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from run_samples import observed, scan

if TYPE_CHECKING:
    from types import CodeType, FrameType

FEW, MORE = 30, 4
"""Files, and how many times as many are held against them."""
TIMEOUT = (
    "[E1120 09:42:00.1 ProcessGroupNCCL.cpp:632] [Rank {rank}] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=412, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=1800000) "
    "ran for 1800077 milliseconds before timing out.\n"
)
RAISED = (
    '[rank{rank}]: Traceback (most recent call last):\n[rank{rank}]:   File "/work/train.py", line 88, in <module>\n'
    "[rank{rank}]:     loss.backward()\n[rank{rank}]: RuntimeError: timeout\n"
)


def calls(files: int, *, named: bool) -> Counter[CodeType]:
    """How often each function is called where so many ranks' logs are put together."""
    scans = []
    for rank in range(files):
        steps = "".join(f"2026-11-20 09:0{step}:00 [rank{rank}] step {step} loss 0.{rank + 17}\n" for step in range(9))
        text = steps + TIMEOUT.format(rank=rank) + RAISED.format(rank=rank)
        scans.append(scan(text, f"rank_{rank}.log" if named else f"out-{rank}.log", rank if named else None))
    count: Counter[CodeType] = Counter()

    def called(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            count[frame.f_code] += 1

    sys.setprofile(called)
    try:
        observed(*scans)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("named", [True, False])
def test_no_function_is_called_for_each_pair_of_ranks(*, named: bool) -> None:
    """Four times as many files call no function more than about four times as often."""
    calls(FEW, named=named)  # what is looked up once is known then
    few, many = calls(FEW, named=named), calls(MORE * FEW, named=named)
    grown = {
        code.co_name: (few[code], count)
        for code, count in many.items()
        if count > (MORE + 1) * few[code] + 20 * FEW  # what was compiled once may be forgotten and made anew
    }
    assert not grown
