"""A first, cheap look at large files: short pieces of text, one of which is in every line that may match.

Far fewer and simpler than the patterns themselves, they are looked for about twice as fast; only the lines in which
one is found are then scanned with the patterns. What healthy logs are full of is no such piece; where a file turns out
to be full of one, others are chosen for it.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from distkb.evidence.scanner.literals import needed, required_cases

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from distkb.evidence.scanner.literals import Need

SHORTEST = 4
"""Bytes of a piece at first: shorter ones are found everywhere, longer ones are shared by fewer patterns."""
LONGEST = 8
"""Bytes up to which it is made longer where all that share it agree: more are not looked at together."""
WHOLE = 40
"""Patterns without a piece up to which the first look is worth it."""
OFTEN = 4
"""Times that text must be in an example of usual lines to be taken for usual."""
EXAMPLE = 1 << 16
"""Bytes of such an example."""
_RETURN = 13
_DIGITS = b"0123456789"
_ALIKE = bytes.maketrans(_DIGITS, b"0" * 10)
_GAPS = re.compile(rb" {2,}")
PATIENCE = 24
"""Blocks with too many pieces after which others are chosen, which takes about as long as they do."""

LEAST, ENOUGH = 2, 6
"""Bytes of a piece that no usual line holds at all: as few as these, and as many as do no harm."""

MOST = 256
"""Pieces for one pattern: more take longer to be made ready than the pattern itself."""

_ANCHOR = re.compile(r"(?P<other>\\.|\[\^?\]?(?:\\.|[^\]\\])*\])|(?P<start>\^)|\$", re.DOTALL)
_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\.\{\d*,\d+\}|[()|]", re.DOTALL)
_BOUND = re.compile(r"(?<=\.)\{0,\d+\}")
"""Bounds that are found out at the second look: the first one is faster without them."""

_USUAL = b"""
2026-11-21 10:15:32,123 [rank0] info step 1200 loss=2.3456 lr=3.0e-04 tokens/s=12345 grad_norm: 0.531 perplexity
info:root:epoch: [3][ 40/500] time 0.123 (0.130) data 0.002 loss 1.2345e+00 acc@1 71.09 global_step learning_rate
iteration 100/ 5000 | consumed samples: 800 | elapsed time per iteration (ms): 531.2 | throughput per gpu (tflop/s/gpu)
 412.1 | learning rate: 3.000000e-04 | global batch size:  1024 | lm loss: 2.345678e+00 | loss scale: 1.0
 | grad norm: 0.5 | params norm: 8.1 | num zeros: 12 | number of skipped iterations:   0 | number of nan iterations:   0
node1:12345:12367 [0] nccl info channel 00/0 : 0[1000] -> 1[2000] via p2p/ipc/read net/ib/socket gdrdma connected
[1] nccl info comm 0x7f rank 1 nranks 8 cudadev 1 nvmldev 1 busid commid init complete bootstrap : using eth0:10.0.0<0>
nccl info setting affinity for gpu 0 to ffff trees [0] 1/-1/-1->0->-1 rings threadthresholds 8/8/64 coll channels peer
training:  30%|###       | 4000/12500 [01:23<12:34, 11.26it/s, loss=0.512] evaluating validation: 100% map: examples/s
loading checkpoint shards saving model checkpoint to output/checkpoint-500 configuration saved in config.json model
***** running training ***** num examples = 1000 num epochs = 3 gradient accumulation total optimization steps = 375
userwarning: the argument will be removed in a future version, please use this instead. warnings.warn(
[rank1]:[w1121 10:15:32.123456789 utils.hpp:136] warning: nccl_blocking_wait is deprecated, use torch_nccl (function)
{'loss': 2.1, 'grad_norm': 1.1, 'learning_rate': 2e-05, 'epoch': 0.01} wandb: syncing run dataset started finished
step 1200 loss 2.3456 grad_norm 0.531 grad norm 0.53 lr 3.0e-04 epoch 3 'grad_norm': '0.5', grad_norm=0.531, mfu 41.2%
debug memory allocated max reserved samples per second forward backward optimizer step time evaluation accuracy
the of and to in is that for with as was on are by this be from not have all been which you can or an at it has will
/usr/lib/python3/dist-packages/torch/nn/parallel/distributed.py site-packages/transformers/trainer.py accelerate logging
train batch 30/400 batch_size=32 micro-batch size 4 device: cuda:0 local rank 0 world_size 8 process rate data timeout
number of parameters tensor shape loaded state steps/s process group ready node host local worker dataloader cpu core
info trainer: info worker: info logger: info loader: info __main__: info train: data_time iter_time gpu_mem 41.2gb gib
"""
"""What healthy logs are full of, in lower case: a piece that is in it would let them through."""

Case = tuple[bytes, ...]
"""Texts that are all in each match of one kind."""


class SieveTask(NamedTuple):
    """What the first look is for."""

    pieces: list[bytes]
    """In lower case. A match of any pattern that is not in `whole` contains one."""
    whole: list[str]
    """Parts of patterns that are looked for themselves: all that stands in them is usual."""


def choose(patterns: Iterable[str], cases: Iterable[Sequence[Sequence[str]] | None], example: bytes = b"") -> SieveTask:
    """Pieces that tell the matches of all patterns from healthy lines, of which there may be an example.

    `cases` are the `required_cases` of the patterns; the example is in lower case.
    """
    common = {*_grams(_USUAL)} | {gram for gram, count in Counter(_grams(example)).items() if count >= OFTEN}
    usual = _Example(example or _USUAL)
    holders: dict[bytes, set[Case]] = {}
    needed_cases: set[Case] = set()
    unseen: set[bytes] = set()
    whole: list[str] = []
    for pattern, of_pattern in zip(patterns, cases, strict=True):
        lowered = {tuple(text.encode().lower() for text in case) for case in of_pattern or ()}
        found = {case: {gram for text in case for gram in _grams(text) if gram not in common} for case in lowered}
        if not found or not all(found.values()):
            for one in (_rarest(parts, usual) for parts in branches(pattern)):
                if isinstance(one, str):
                    whole.append(one)
                else:
                    unseen |= one
            continue
        needed_cases |= lowered
        for case, pieces in found.items():
            for piece in pieces:
                holders.setdefault(piece, set()).add(case)
    return SieveTask([*_cover(needed_cases, holders), *sorted(unseen)], whole)


class _Example:
    """Usual lines, in lower case."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._alike = _without_numbers(text)
        self._held: dict[bytes, bool] = {}

    def holds(self, text: bytes) -> bool:
        """Whether a text is in them."""
        found = self._held.get(text)
        if found is None:
            found = self._held[text] = text in self._text
        return found

    def unseen_in(self, text: bytes) -> bytes | None:
        """A piece of a text that is not in them: a short one that no other number brings in, if possible."""
        bare = text.rstrip(_DIGITS)
        short = (bare[:ENOUGH], bare[-ENOUGH:], *_windows(bare, ENOUGH), *_windows(bare, LONGEST))
        for way in (*short, bare[-2 * ENOUGH :], bare):
            if len(way) >= LEAST and not self.holds(way) and _without_numbers(way) not in self._alike:
                return way
        return None if len(text) < LEAST or self.holds(text) else text


def _windows(text: bytes, length: int) -> Iterator[bytes]:
    return (text[at : at + length] for at in range(len(text) - length + 1))


def _without_numbers(text: bytes) -> bytes:
    """A text in which all digits are alike, and all gaps."""
    return _GAPS.sub(b" ", text.translate(_ALIKE))


def branches(pattern: str) -> list[list[str]]:
    """Alternatives of a pattern, each cut at its gaps of any text: a match holds all parts of one of them."""
    flags = pattern[: 4 if pattern.startswith("(?i)") else 0]
    found: list[list[str]] = [[]]
    depth, start = 0, len(flags)
    for token in _TOKEN.finditer(pattern, start):
        depth += (token[0] == "(") - (token[0] == ")")
        if not depth and token[0][0] in "|.":
            found[-1].append(flags + pattern[start : token.start()])
            start = token.end()
            if token[0] == "|":
                found.append([])
    found[-1].append(flags + pattern[start:])
    return found


def _rarest(parts: Iterable[str], usual: _Example) -> set[bytes] | str:
    """Texts of which every match contains one, and an example none; else the part that says most beside the example."""
    ways = [way for part in parts if (way := _unseen(needed(part), usual)) and len(way) <= MOST]
    if ways:
        return max(ways, key=_shortest)
    return max(parts, key=lambda part: min((_said(case, usual) for case in required_cases(part) or ()), default=(0, 0)))


def _said(case: Iterable[str], usual: _Example) -> tuple[int, int]:
    """Bytes of the texts that no usual line holds, and of all."""
    texts = [text.encode().lower() for text in case]
    return sum(len(text) for text in texts if not usual.holds(text)), sum(map(len, texts))


def _shortest(texts: Collection[bytes]) -> int:
    return min(map(len, texts))


def _unseen(need: Need | None, usual: _Example) -> set[bytes] | None:
    """Texts of which every match contains one, and an example none; they may be short. None where there are none."""
    if need is None:
        return None
    if need.every:
        ways = [way for one in need.every if (way := _unseen(one, usual))]
        return max(ways, key=_shortest, default=None)
    found: set[bytes] = set()
    for text in need.texts:
        piece = usual.unseen_in(text.encode().lower())
        if piece is None:
            return None
        found.add(piece)
    for one in need.some:
        inner = _unseen(one, usual)
        if inner is None:
            return None
        found |= inner
    return found


def _grams(text: bytes) -> Iterator[bytes]:
    """All shortest pieces of a text."""
    return _windows(text, SHORTEST)


def _cover(left: set[Case], holders: dict[bytes, set[Case]]) -> list[bytes]:
    """Few pieces of which all cases have one, the most useful first."""
    waiting = [(-len(found), piece) for piece, found in holders.items()]
    heapq.heapify(waiting)
    chosen: list[bytes] = []
    while left:
        expected, piece = heapq.heappop(waiting)
        now = holders[piece] & left
        if -len(now) > expected:  # others have taken some of its cases since
            if now:
                heapq.heappush(waiting, (-len(now), piece))
            continue
        chosen.append(_longer(piece, now))
        left -= now
    return chosen


def _longer(piece: bytes, cases: Collection[Case]) -> bytes:
    """A piece with what stands beside it in all cases."""
    for length in range(LONGEST, len(piece), -1):
        for text in min(cases):
            for at in range(len(text) - length + 1):
                longer = text[at : at + length]
                if piece in longer and all(any(longer in other for other in case) for case in cases):
                    return longer
    return piece


def compile_choice(pieces: Iterable[bytes], whole: Collection[str]) -> Any:
    """Database that finds pieces, capitals or not, and the patterns that have none; None where these are many."""
    import hyperscan

    if len(whole) > WHOLE:
        return None
    expressions = [b"".join(b"\\x%02x" % byte for byte in piece) for piece in pieces]
    flags = [hyperscan.HS_FLAG_CASELESS] * len(expressions)
    expressions += [_BOUND.sub("*", _ANCHOR.sub(_anchor, pattern)).encode() for pattern in whole]
    flags += [hyperscan.HS_FLAG_MULTILINE] * len(whole)
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    try:
        database.compile(expressions=expressions, ids=[0] * len(flags), elements=len(flags), flags=flags)
    except hyperscan.error:  # without its anchors, a pattern may match nothing at all
        return None
    return database


def _anchor(match: re.Match[str]) -> str:
    """The same anchor where a carriage return ends a line too; what is no anchor as it is."""
    return match["other"] or (r"(?:^|\r)" if match["start"] else r"(?:$|\r)")


class Sieve:
    """Finds the places in a block that deserve a closer look."""

    def __init__(self, database: Any, others: Callable[[bytes], list[Any]]) -> None:
        """Take a database of pieces; `others` makes some for files that are full of what is in its example."""
        self.databases = [database]
        self._others = others
        self._skip = self._rest = self._wasted = 0

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
            for database in self.databases:
                database.scan(data, match_event_handler=on_match)
        except hyperscan.ScanTerminated:
            self._flooded(data)
            return None
        self._rest = 0
        found = [end - (data[end - 1] == _RETURN) for end in found]  # it ends the line of the match
        return found if len(self.databases) == 1 else sorted(found)

    def adapt(self, example: bytes) -> None:
        """Choose other pieces at once where an example of the files is full of these."""
        if self.ends(memoryview(example)) is None:
            self._choose(example)
        self._skip = self._rest = self._wasted = 0

    def _flooded(self, data: memoryview) -> None:
        """Leave out the next blocks, which will be like this one, or choose other pieces."""
        self._rest = min(64, 2 * self._rest + 4)
        self._skip = self._rest
        self._wasted += 1 + self._rest
        if self._wasted > PATIENCE:
            self._choose(bytes(data[-EXAMPLE:]))
            self._wasted = -16 * PATIENCE  # where that is of no use, it is not tried soon again
            self._skip = self._rest = 0

    def _choose(self, example: bytes) -> None:
        self.databases = self._others(example.lower()) or self.databases
