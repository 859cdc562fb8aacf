"""A first, cheap look at large files: short pieces of text, one of which is in every line that may match.

Far fewer and simpler than the patterns themselves, they are looked for about twice as fast; only the lines in which
one is found are then scanned with the patterns.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any

from distkb.evidence.literals import required_literals

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

LENGTHS = (4, 5)
"""Characters of a piece: shorter ones are found everywhere, longer ones are shared by fewer patterns."""

_USUAL = b"""
2026-11-21 10:15:32,123 [rank0] info step 1200 loss=2.3456 lr=3.0e-04 tokens/s=12345 grad_norm: 0.531 perplexity
info:root:epoch: [3][ 40/500] time 0.123 (0.130) data 0.002 loss 1.2345e+00 acc@1 71.09 global_step learning_rate
iteration 100/ 5000 | consumed samples: 800 | elapsed time per iteration (ms): 531.2 | throughput per gpu (tflop/s)
node1:12345:12367 [0] nccl info channel 00/0 : 0[1000] -> 1[2000] via p2p/ipc/read net/ib/socket gdrdma connected
[1] nccl info comm 0x7f rank 1 nranks 8 cudadev 1 nvmldev 1 busid commid init complete bootstrap : using eth0:10.0.0<0>
nccl info setting affinity for gpu 0 to ffff trees [0] 1/-1/-1->0->-1 rings threadthresholds 8/8/64 coll channels peer
training:  30%|###       | 4000/12500 [01:23<12:34, 11.26it/s, loss=0.512] evaluating validation: 100% map: examples/s
loading checkpoint shards saving model checkpoint to output/checkpoint-500 configuration saved in config.json model
***** running training ***** num examples = 1000 num epochs = 3 gradient accumulation total optimization steps = 375
userwarning: the argument will be removed in a future version, please use this instead. warnings.warn(
[rank1]:[w1121 10:15:32.123456789 utils.hpp:136] warning: nccl_blocking_wait is deprecated, use torch_nccl (function)
{'loss': 2.1, 'grad_norm': 1.1, 'learning_rate': 2e-05, 'epoch': 0.01} wandb: syncing run dataset started finished
debug memory allocated max reserved samples per second forward backward optimizer step time evaluation accuracy
the of and to in is that for with as was on are by this be from not have all been which you can or an at it has will
/usr/lib/python3/dist-packages/torch/nn/parallel/distributed.py site-packages/transformers/trainer.py accelerate logging
"""
"""What healthy logs are full of, in lower case: a piece that is in it would let them through."""
_PENALTY = 3.0


def choose(patterns: Iterable[str]) -> list[bytes] | None:
    """Pieces, in lower case, of which every match of any pattern contains one; None where a pattern has none."""
    texts: set[bytes] = set()
    for pattern in patterns:
        literals = required_literals(pattern)
        if literals is None:
            return None
        texts |= {literal.encode().lower() for literal in literals}
    holders: dict[bytes, set[bytes]] = {}
    for text in texts:
        for length in LENGTHS if len(text) >= min(LENGTHS) else (len(text),):
            for at in range(len(text) - length + 1):
                holders.setdefault(text[at : at + length], set()).add(text)
    return _cover(texts, holders)


def _cover(texts: set[bytes], holders: dict[bytes, set[bytes]]) -> list[bytes]:
    """Few pieces that are in all texts and seldom in healthy logs, the most useful first."""
    weight = {piece: (1 + len(piece) / 10) / (1 + _PENALTY * _USUAL.count(piece)) for piece in holders}
    waiting = [(-len(found) * weight[piece], piece) for piece, found in holders.items()]
    heapq.heapify(waiting)
    left = set(texts)
    chosen: list[bytes] = []
    while left:
        worth, piece = heapq.heappop(waiting)
        now = -len(holders[piece] & left) * weight[piece]
        if now > worth:  # others have taken some of its texts since
            if now:
                heapq.heappush(waiting, (now, piece))
            continue
        chosen.append(piece)
        left -= holders[piece]
    return chosen


def compile_pieces(pieces: Sequence[bytes]) -> Any:
    """Database that finds the pieces, capitals or not."""
    import hyperscan

    expressions = [b"".join(b"\\x%02x" % byte for byte in piece) for piece in pieces]
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    database.compile(
        expressions=expressions,
        ids=[0] * len(expressions),
        elements=len(expressions),
        flags=[hyperscan.HS_FLAG_CASELESS] * len(expressions),
    )
    return database


class Sieve:
    """Finds the places in a block that deserve a closer look."""

    def __init__(self, database: Any) -> None:
        """Take a database of pieces."""
        self.database = database
        self._skip = self._rest = 0

    def ends(self, data: memoryview) -> list[int] | None:
        """Offsets after the pieces found; None where they are so many that the patterns are faster themselves."""
        import hyperscan

        if self._skip > 0:
            self._skip -= 1
            return None
        found: list[int] = []
        keep = found.append
        limit = len(data) // 8192 + 16

        def on_match(_index: int, _start: int, end: int, _flags: int, _context: object) -> bool | None:
            keep(end)
            return True if len(found) > limit else None

        try:
            self.database.scan(data, match_event_handler=on_match)
        except hyperscan.ScanTerminated:
            # the next blocks will be like this one; look again from time to time
            self._rest = min(64, 2 * self._rest + 4)
            self._skip = self._rest
            return None
        self._rest = 0
        return found
