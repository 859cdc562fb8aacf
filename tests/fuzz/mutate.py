"""Makes inputs out of others: the plain way, seeded, so that a number stands for an input."""

from __future__ import annotations

import contextlib
import copy
import json
import random
import re
from collections.abc import Iterator, Sequence
from typing import Any

_TOKEN = re.compile(rb"[A-Za-z_]+|\d+|\s+|.", re.DOTALL)
_NUMBER = re.compile(rb"\d+")
_NUMBERS = (b"0", b"-1", b"65536", b"999999999", b"9" * 20, b"0" * 5000, b"1e999", "\u00b2".encode())
_ODD = (
    b"\0", b"\xff", b"\n", b"\r", b"\x1b[31m", b"\xe2\x80\xae", b'"', b"'", b"{", b"[", b"(", b")", b"-1", b"9" * 25,
    b"1e999", b"nan", b"None", b"\\", b"%s", b"\x80\x04", b"}", b"\x94", b"h\x00", b"File \"", b"Thread 1 (idle)",
    b"Traceback (most recent call last):\n", b"[rank0]: ", b"://", b"@", b"=", b": ", b"password=", "비밀번호".encode(),
)  # fmt: skip


_VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 1 << 70, 0.5, 1e308, "", "x", "9" * 30, "\u202e\x1b[31m", "password=Pw1", [], {}, [[]], [{}],
    {"": {}}, ["x", 1, None],
)  # fmt: skip


def reshaped(source: random.Random, seed: bytes) -> bytes:
    """Return a JSON document with a few of its values in place of others, or others in their place."""
    try:
        document = json.loads(seed)
    except (ValueError, RecursionError):
        lines = seed.split(b"\n")  # a document a line
        at = source.randrange(len(lines))
        return seed if len(lines) < 2 else b"\n".join([*lines[:at], reshaped(source, lines[at]), *lines[at + 1 :]])
    places = list(_places(document))
    for _ in range(source.choice((1, 1, 2, 4))):
        if not places:
            break
        inside, at = source.choice(places)
        with contextlib.suppress(KeyError, IndexError, TypeError):
            match source.randrange(4):
                case 0:
                    del inside[at]
                case 1:
                    other, there = source.choice(places)
                    inside[at] = copy.deepcopy(other[there])
                case _:
                    inside[at] = copy.deepcopy(source.choice(_VALUES))
    return json.dumps(document).encode()


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for at, item in inside:
        yield value, at
        yield from _places(item)


def mutated(source: random.Random, seeds: Sequence[bytes], most: int = 1 << 14) -> bytes:
    """Return a few changes of one seed, or of two put together; of a JSON document often of its values."""
    seed = source.choice(seeds)
    if seed[:1] in (b"{", b"[") and len(seed) <= 4 * most and source.random() < 0.6:
        return reshaped(source, seed)
    data = bytearray(seed[:most])
    for _ in range(source.choice((1, 1, 2, 4, 8))):
        if not data:
            data += source.choice(_ODD)
        at, other = source.randrange(len(data)), source.randrange(len(data))
        low, high = min(at, other), max(at, other)
        match source.randrange(8):
            case 0:
                data[at] = source.randrange(256)
            case 1:
                data[at:at] = source.choice(_ODD)
            case 2:
                del data[low : min(high, low + 64)]
            case 3:
                data[at:at] = data[low:high] * source.choice((1, 2, 8))
            case 4:
                data[low:high] = source.choice(seeds)[: high - low]
            case 5:
                del data[at:]
            case 6 if numbers := [match.span() for match in _NUMBER.finditer(data)]:
                first, last = source.choice(numbers)
                data[first:last] = source.choice(_NUMBERS)
            case _:
                data[at:at] = data[at : at + 4] * 64
        del data[most:]
    return bytes(data)


def pumps(source: random.Random, seeds: Sequence[bytes]) -> tuple[bytes, bytes, bytes]:
    """Return what stands before, what is to be repeated, and what stands behind, out of one seed."""
    tokens = _TOKEN.findall(source.choice(seeds)[: 1 << 12]) or [b"x"]
    start = source.randrange(len(tokens))
    stop = start + source.choice((1, 1, 2, 3, 6))
    before = b"".join(tokens[max(0, start - source.choice((0, 4, 40))) : start])
    behind = b"".join(tokens[stop : stop + source.choice((0, 4, 40))])
    return before, b"".join(tokens[start:stop]), behind
