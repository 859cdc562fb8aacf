"""Search over a small catalogue."""

from __future__ import annotations

import math
import time

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from search_catalogue import catalogue

from distkb.search.index import FORMAT, build, load
from distkb.search.query import lift_related, search

INDEX = load(build(catalogue()))
ENTRIES = catalogue().entries
FIRST, LAST = ENTRIES[0], ENTRIES[-1]


def ids(query: str) -> list[str]:
    """Ids of the entries found, best first."""
    return [hit.id for hit in search(INDEX, query)]


@pytest.mark.parametrize("query", ["D21", "d21", "what is d21?", "Ｄ２１", "D21이 뭔가요"])
def test_named_id_comes_first(query: str) -> None:
    """An entry that is named by its id must come first, in any case."""
    assert ids(query)[0] == "D21"


def test_named_ids_keep_their_order() -> None:
    """Several ids must come in the order in which they are named, before everything else."""
    assert ids("m1 D4 port")[:2] == ["M1", "D4"]


@pytest.mark.parametrize("query", ["ProcessGroup object at 0x7f3c5c1d21e70", "xD21", "d21h copy", "D21_port"])
def test_an_id_inside_of_a_word_names_nothing(query: str) -> None:
    """Addresses and names that happen to hold an id must not put its entry ten points before all others."""
    assert all(hit.score < 10.0 for hit in search(INDEX, query))


def test_unknown_id_is_only_a_word() -> None:
    """An id that no entry has must not raise or put anything first."""
    assert ids("D99") == []


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("port collision", "D4"),
        ("포트 충돌", "D4"),
        ("포트충돌", "D4"),
        ("barrier on rank 0", "D21"),
        ("베리어가 먹통", "D21"),
        ("it freezes at the ckpt", "D21"),
        ("체크 포인트 저장하다 굳어버림", "D21"),
        ("싱크배치놈 써야 하나요", "D10"),
        ("그래픽카드에 안 올라가요 메모리부족", "M1"),
        ("LOCAL_RANK가 없대요", "D1"),
        ("find_unused_parameters", "D8"),
    ],
)
def test_both_languages_find_the_entry(query: str, expected: str) -> None:
    """Words in either language, slang and spacing variants must find the entry."""
    assert ids(query)[0] == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("find_unsued_parameters", "D8"),
        ("unsued paramters", "D8"),
        ("adress alredy in use", "D4"),
        ("deepseed", "M1"),
        ("싱크배치넘", "D10"),
    ],
)
def test_typos_are_corrected(query: str, expected: str) -> None:
    """A word with a typo must find what the right word finds."""
    assert ids(query)[0] == expected


def test_pasted_line_finds_the_entry_that_lists_it() -> None:
    """A log line that matches a signature must put the entry that lists it first, over word overlap."""
    line = "[W] The server socket has failed to listen on 0.0.0.0:29500 (errno: 98 - Address already in use)."
    assert ids(line)[0] == "D4"
    echo = "RuntimeError: Connection closed by peer [10.0.0.1]:33333"
    assert ids(echo)[0] == "D21"


def test_primary_line_outweighs_its_echo() -> None:
    """If both a failure and an echo are pasted, the failure's entry must come first."""
    pasted = (
        "Connection closed by peer [10.0.0.1]:33333\n"
        "The server socket has failed to listen on [::]:29500 (errno: 98 - Address already in use)"
    )
    assert ids(pasted)[0] == "D4"


def test_what_the_first_name_as_related_comes_up() -> None:
    """Behind the first three comes what one of them names as related, by no more than up to them; they stay."""
    linked = tuple(msgspec.structs.replace(e, related=(LAST.id,)) if e.id == FIRST.id else e for e in ENTRIES)
    index = load(build(msgspec.structs.replace(catalogue(), entries=linked)))
    numbers = {id_: number for number, id_ in enumerate(index.ids)}
    scores = {number: 2.0 - 0.01 * number for number in range(len(ENTRIES))}
    lift_related(index, scores)
    order = sorted(scores, key=lambda number: -scores[number])
    assert order[:3] == [0, 1, 2]
    assert order[3] == numbers[LAST.id]
    assert scores[numbers[LAST.id]] < scores[2]


def test_nothing_is_found_for_nothing() -> None:
    """A query without known words must have no result."""
    assert ids("") == ids("zzqx") == ids("왜 어떻게") == []


def test_limit_cuts_and_never_raises() -> None:
    """The limit must hold, zero and negative ones included."""
    assert len(search(INDEX, "rank 0 port", limit=1)) == 1
    assert search(INDEX, "rank 0 port", limit=0) == search(INDEX, "rank 0 port", limit=-3) == []


def test_language_breaks_near_ties_only() -> None:
    """The reader's language must not change which entries are found."""
    for query in ("barrier hang", "배리어 멈춤"):
        found = [{hit.id for hit in search(INDEX, query, lang=lang)} for lang in (None, "en", "ko")]
        assert found[0] == found[1] == found[2]


@given(st.text())
def test_any_string_is_answered(query: str) -> None:
    """No string may raise, scores must be finite and fall, and ties must be in the catalogue's order."""
    hits = search(INDEX, query)
    order = {id_: number for number, id_ in enumerate(INDEX.ids)}
    keys = [(-hit.score, order[hit.id]) for hit in hits]
    assert all(math.isfinite(hit.score) and hit.score > 0 for hit in hits)
    assert keys == sorted(keys)
    assert hits == search(INDEX, query)


@settings(max_examples=20)
@given(st.text(alphabet="행배리어랭크 hangrkD21_-.:[]()\n", min_size=1, max_size=30))
def test_a_megabyte_is_answered_in_time(unit: str) -> None:
    """A query of a megabyte must be cut, and answered in two seconds of the processor."""
    started = time.process_time()
    search(INDEX, unit * (1_000_000 // len(unit)))
    assert time.process_time() - started < 2.0


def test_same_catalogue_gives_same_bytes() -> None:
    """Building twice must give the same bytes, so that caches and wheels can be compared."""
    assert build(catalogue()) == build(catalogue())


def test_empty_catalogue_can_be_searched() -> None:
    """An index without entries must answer with nothing."""
    empty = msgspec.structs.replace(catalogue(), entries=())
    assert search(load(build(empty)), "D21 hang barrier 멈춤") == []


@pytest.mark.parametrize("data", [b"", b"\xc1", b"\x90", msgspec.msgpack.encode([FORMAT + 1])])
def test_other_bytes_are_refused(data: bytes) -> None:
    """Bytes that are no index must be refused with a ValueError."""
    with pytest.raises(ValueError, match="search index"):
        load(data)
