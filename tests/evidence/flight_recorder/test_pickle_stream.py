"""Pickles are read without the pickle module: plain containers, and nothing that could be called."""

from __future__ import annotations

import contextlib
import os
import pickle
import re
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recorder_dumps import dump, entry, torch_pickle

from distkb.evidence.readers.flight_recorder.dump import Tables, build
from distkb.evidence.readers.flight_recorder.pickle_stream import BadPickleError, Stream, UnsafePickleError
from distkb.evidence.readers.flight_recorder.runs import Alike, EntryBlock

DOCUMENT = dump([entry(seq=i + 1, record=i, at=f"/app/train.py:{i % 3}") for i in range(40)], {"0": ("d", range(4))})


@pytest.mark.parametrize("protocol", range(6))
def test_plain_containers_read_as_pickle_reads_them(protocol: int) -> None:
    """Whatever protocol wrote a dump, its content is the same."""
    written = {"a": [1, -5, 2**40, 2.5, True, None, "한글"], "t": (1, (2, 3), ()), "e": [DOCUMENT["entries"][0]], 3: {}}
    assert Stream(pickle.dumps(written, protocol)).load() == written


class Payload:
    """A pickle that runs a command when it is loaded."""

    def __init__(self, command: str) -> None:
        self.command = command

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (self.command,)


@pytest.mark.parametrize("protocol", range(6))
def test_a_pickle_that_calls_something_is_refused_and_nothing_runs(protocol: int, tmp_path: Path) -> None:
    """No protocol has a way to a function."""
    mark = tmp_path / "ran"
    data = pickle.dumps({"entries": [], "pg_config": Payload(f"touch {mark}")}, protocol)
    with pytest.raises(UnsafePickleError):
        Stream(data).load()
    assert not mark.exists()


@pytest.mark.parametrize(
    "data",
    [
        b"cos\nsystem\n(S'true'\ntR.",
        b"(S'true'\nios\nsystem\n.",
        b"(cos\nsystem\nS'true'\no.",
        b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x04true\x85R.",
        b"\x80\x02\x82\x01.",
        b"Pperson\n.",
        b"\x80\x02K\x01Q.",
    ],
)
def test_every_opcode_that_imports_or_calls_is_refused(data: bytes) -> None:
    """GLOBAL, INST, OBJ, STACK_GLOBAL, EXT and persistent ids are no part of a dump."""
    with pytest.raises(UnsafePickleError):
        Stream(data).load()


def test_a_huge_memo_index_costs_nothing() -> None:
    """An index of four billion takes one place, not four billion."""
    assert Stream(b"\x80\x02Nr" + struct.pack("<I", 2**32 - 1) + b"j" + struct.pack("<I", 2**32 - 1) + b"\x86.").load()


def test_lengths_beyond_the_end_are_refused() -> None:
    """A length is believed only as far as there are bytes."""
    for data in (b"\x80\x04\x8d" + b"\xff" * 8 + b"x.", b"X\xff\xff\xff\x7fab.", b"T\xff\xff\xff\xffab."):
        with pytest.raises(BadPickleError):
            Stream(data).load()


def columns(data: bytes, alike: Alike | None = None, tables: Tables | None = None) -> list[Any]:
    """Everything that is kept of a dump."""
    stream = Stream(data, alike)
    tables = tables or Tables()
    read = build(stream.load(), stream, tables, 0, "x")
    return [
        (
            key,
            list(t.sequence),
            [tables.calls[c] for c in t.calls],
            [tables.places[p] for p in t.places],
            list(t.states),
        )
        for tracks in (read.collectives, read.peers)
        for key, t in sorted(tracks.items())
    ]


def varied(count: int, clock: int = 0) -> dict[str, Any]:
    """A dump with two groups, sends, changing widths of numbers, shapes and states."""
    made = []
    for i in range(count):
        group = ("1", "tp") if i % 3 == 0 else ("0", "default_pg")
        op, p2p = ("send 0->1", True) if i % 7 == 0 else ("all_reduce", False)
        made.append(
            entry(
                op,
                seq=200 + i,
                record=100 + i,
                group=group,
                p2p=p2p,
                sizes=((70_000 * (i % 5), 3), ()) if i % 4 else ((i,),),
                state=("scheduled", "started", "completed")[i % 3],
                at=f"/app/file{i % 300}.py:{i}",
            )
        )
        made[-1]["time_created_ns"] += clock
    return dump(made, {"0": ("default_pg", range(4)), "1": ("tp", (0, 1))})


def test_entries_cut_up_at_once_are_the_entries_read_one_by_one() -> None:
    """The fast way and the slow way give the same columns."""
    document = varied(1200)
    assert columns(torch_pickle(document)) == columns(pickle.dumps(document, 2))


def shared(count: int, clock: int = 0) -> dict[str, Any]:
    """A dump whose entries share lists, tuples and strings that came up in the middle of it."""
    document = varied(count, clock)
    for at, item in enumerate(document["entries"]):
        earlier = document["entries"][max(0, at - 37)]
        if at % 5 == 0:
            item["frames"] = earlier["frames"]
        if at % 4 == 0:
            item["input_sizes"] = item["output_sizes"] = earlier["output_sizes"]
        if at % 3 == 0:
            item["process_group"] = earlier["process_group"]
        item["profiling_name"] = "".join(item["profiling_name"])
    return document


@pytest.mark.parametrize("protocol", [4, 5])
@pytest.mark.parametrize("made", [varied, shared])
def test_pythons_own_pickler_takes_the_fast_way_too(made: Any, protocol: int) -> None:
    """Its dumps are cut up as torch's are, whatever objects the entries share, and give the same columns."""
    for document in (made(1200), pickle.loads(torch_pickle(made(1200)))):  # noqa: S301 - written here
        data = pickle.dumps(document, protocol)
        assert columns(data) == columns(pickle.dumps(document, 2))
        entries = Stream(data).load()["entries"]
        assert sum(len(item) for item in entries if type(item) is EntryBlock) > 1000


def test_pickled_ranks_that_are_alike_share_their_runs_and_others_do_not() -> None:
    """What a run refers to may be in the run before it: where that differs, nothing is shared."""
    alike, tables = Alike(), Tables()
    first = columns(pickle.dumps(shared(900)), alike, tables)
    assert columns(pickle.dumps(shared(900, clock=77)), alike, tables) == first
    assert columns(pickle.dumps(shared(900, clock=99)), alike, tables) == first
    for place in (10, 400, 899):
        changed = shared(900, clock=5)
        changed["entries"][place]["output_sizes"] = [[9]]
        assert columns(pickle.dumps(changed), alike, tables) == columns(pickle.dumps(changed, 2)) != first


def test_a_reference_to_what_comes_after_it_is_damage_and_no_circle() -> None:
    """A run whose bytes refer to themselves ends the reading."""
    data = pickle.dumps(shared(400))
    for index in range(300, 3000, 150):
        broken = re.sub(rb"j.{4}", b"j" + struct.pack("<I", index), data, flags=re.DOTALL)
        stream = Stream(broken)
        with contextlib.suppress(BadPickleError):
            build(stream.load(), stream, Tables(), 0, "x")


def test_ranks_that_are_alike_share_their_runs_and_others_do_not() -> None:
    """A difference in anything but clocks is seen, wherever it stands."""
    alike, tables = Alike(), Tables()
    first = columns(torch_pickle(varied(900)), alike, tables)
    assert columns(torch_pickle(varied(900, clock=77)), alike, tables) == first
    assert columns(torch_pickle(varied(900, clock=99)), alike, tables) == first
    for place in (10, 400, 899):
        changed = varied(900, clock=5)
        changed["entries"][place]["output_sizes"] = [[9]]
        assert columns(torch_pickle(changed), alike, tables) == columns(pickle.dumps(changed, 2)) != first


TORCHS = torch_pickle(varied(60))
PYTHONS = pickle.dumps(shared(60))


@settings(max_examples=150)
@given(
    st.sampled_from([TORCHS, PYTHONS]),
    st.lists(st.tuples(st.integers(0, len(TORCHS) - 1), st.integers(0, 255)), min_size=1, max_size=6),
    st.one_of(st.none(), st.integers(0, len(TORCHS))),
)
def test_changed_bytes_never_raise_anything_else(
    written: bytes, changes: list[tuple[int, int]], cut: int | None
) -> None:
    """A damaged dump is read as far as it is a dump, or refused."""
    data = bytearray(written)
    for at, value in changes:
        data[at % len(data)] = value
    stream = Stream(bytes(data[:cut]))
    try:
        document = stream.load()
        if isinstance(document, dict) and "entries" in document and isinstance(document["entries"], list):
            build(document, stream, Tables(), 0, "x")
    except BadPickleError:
        pass


@settings(max_examples=100)
@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    """Bytes that are no pickle raise the one error."""
    with contextlib.suppress(BadPickleError):
        Stream(data).load()
