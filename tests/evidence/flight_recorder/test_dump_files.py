"""Files: found by name and first bytes, chosen by rank, and one clear line for each that is no dump."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path
from typing import Any

import pytest
from desyncs import common, job, write
from hypothesis import given, settings
from hypothesis import strategies as st
from recorder_dumps import dump, torch_pickle

from distkb.evidence.readers.flight_recorder import find_flight_recorder, read_flight_recorder
from distkb.evidence.readers.flight_recorder.dump import NotADumpError, Tables, build
from distkb.evidence.text.ranks import listed
from distkb.locale import Say

DUMPS = job(lambda rank: common(2) if rank == 3 else common(3, last="started"))


@pytest.mark.parametrize("prefix", ["nccl_trace_rank_", "comm_lib_trace_rank_", "rank_", "myjob-", "fr/x_rank_"])
def test_any_prefix_with_a_number_is_found(tmp_path: Path, prefix: str) -> None:
    """The name ends with the rank; what stands before it is free."""
    folder = tmp_path / Path(prefix).parent
    write(folder, DUMPS, Path(prefix).name)
    (folder / "train.log").write_text("rank 3 stopped\n")
    (folder / "part-00001").write_bytes(b"\x80\x02}q\x00.")
    assert len(find_flight_recorder([tmp_path])) == 4
    assert read_flight_recorder(find_flight_recorder([tmp_path])).observations[0].values["ranks"] == "3"


@pytest.mark.parametrize(
    "name",
    [
        "{:05d}.fr",
        "r{}.pt",
        "{}_trace.pickle",
        "rank{}_node0.pkl",
        "rank_{}/trace.pkl",
        "{}/nccl.dump",
        "job7_r{}_last.bin",
        "trace_{}_of_4.pkl",
        "dump-{}.pickle.bak",
    ],
)
def test_dumps_are_found_by_what_is_in_them(name: str, tmp_path: Path) -> None:
    """Wherever the rank stands in the name, and whatever the suffix, the files of a folder are read."""
    for rank, document in DUMPS.items():
        path = tmp_path / name.format(rank)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(torch_pickle(document))
    reading = read_flight_recorder(find_flight_recorder([tmp_path]))
    assert (reading.facts["ranks"], reading.observations[0].values["ranks"]) == ("0-3", "3")


@pytest.mark.parametrize(
    ("name", "content"), [("rank_0.out", b""), ("model_0.pt", b"PK\x03\x04"), ("log.3", b"\x80"), ("rank_1.fr", b"")]
)
def test_files_that_only_bear_a_number_are_no_dumps(name: str, content: bytes, tmp_path: Path) -> None:
    """Empty output of a rank, saved tensors and logs are left alone."""
    (tmp_path / name).write_bytes(content)
    assert not find_flight_recorder([tmp_path])


def test_json_dumps_say_the_same(tmp_path: Path) -> None:
    """The JSON variant has no stacks and strings for numbers; the finding is the same."""
    for rank, document in DUMPS.items():
        bare = {**document, "entries": [{k: v for k, v in e.items() if k != "frames"} for e in document["entries"]]}
        (tmp_path / f"rank_{rank}.json").write_text(json.dumps(bare, separators=(",", ":")))
    values = read_flight_recorder(find_flight_recorder([tmp_path])).observations[0].values
    assert (values["ranks"], values["call"]) == ("3", "all_reduce #3")


def test_two_runs_in_one_folder_are_not_mixed(tmp_path: Path) -> None:
    """Of two files for a rank one is read, and the other is named."""
    write(tmp_path, DUMPS)
    write(tmp_path, {0: dump(common(1), {"0": ("default_pg", range(4))})}, "comm_lib_trace_rank_")
    reading = read_flight_recorder(find_flight_recorder([tmp_path]))
    assert reading.observations[0].id == "flight-recorder.rank-behind"
    assert [(Path(item.path).name, item.code) for item in reading.skipped] == [("comm_lib_trace_rank_0", "same-rank")]


class Payload:
    """Touches a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (f"touch {self.path}",)


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "empty"),
        (torch_pickle(DUMPS[0])[:700], "damaged-dump"),
        (b"\x80\x02X\x05\x00\x00\x00helloq\x00.", "no-dump"),
        (b"\x80\x02}(X\x09\x00\x00\x00pg_configcos\nsystem\nu.", "unsafe-pickle"),
        (b'{"pg_config": {}, "entries": [', "damaged-dump"),
        (b'{"hello": 1, "pg_status_": 2}', "no-dump"),
        (b"\x7fELF\x02\x01\x01\x00", "damaged-dump"),
        (b"[" * 200_000, "damaged-dump"),
        (b'{"pg_config":' + b"[" * 200_000, "damaged-dump"),
    ],
)
def test_files_that_cannot_be_read_get_one_line(tmp_path: Path, content: bytes, code: str) -> None:
    """The others still count, the rank is missing, and both languages have a sentence."""
    paths = write(tmp_path, {rank: DUMPS[rank] for rank in (0, 1, 3)})
    bad = tmp_path / "nccl_trace_rank_2"
    bad.write_bytes(content)
    reading = read_flight_recorder([*paths, bad])
    assert [(item.path, item.code) for item in reading.skipped] == [(str(bad), code)]
    assert "flight-recorder.rank-behind" in {o.id for o in reading.observations}
    assert reading.facts["missing"] == "2"
    assert all(Say(lang).knows(f"skip.{code}") for lang in ("en", "ko"))


def test_a_payload_in_a_folder_of_dumps_does_not_run(tmp_path: Path) -> None:
    """It is refused by name, found or given."""
    write(tmp_path, {0: DUMPS[0]})
    mark = tmp_path / "ran"
    (tmp_path / "nccl_trace_rank_1").write_bytes(pickle.dumps({"pg_config": Payload(mark), "entries": []}))
    reading = read_flight_recorder(find_flight_recorder([tmp_path]))
    assert [item.code for item in reading.skipped] == ["unsafe-pickle"]
    assert not mark.exists()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
KEYS = list(DUMPS[0]["entries"][0])


@settings(max_examples=120)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.sampled_from(KEYS), JSON), max_size=5),
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["version", "pg_config", "pg_status", "entries"]), JSON)),
)
def test_values_of_any_type_never_raise(
    tmp_path_factory: pytest.TempPathFactory, fields: list[Any], tops: list[Any]
) -> None:
    """Whatever stands in a field, the reader says something or nothing."""
    changed = {rank: json.loads(json.dumps(document)) for rank, document in DUMPS.items()}
    for rank, at, key, value in fields:
        if at < len(changed[rank]["entries"]):
            changed[rank]["entries"][at][key] = value
    for rank, key, value in tops:
        changed[rank][key] = value
    folder = tmp_path_factory.mktemp("mutated")
    for rank, document in changed.items():
        (folder / f"rank_{rank}.json").write_text(json.dumps(document))
    reading = read_flight_recorder([folder / f"rank_{rank}.json" for rank in changed])
    assert all(isinstance(value, str) for o in reading.observations for value in o.values.values())


def test_documents_of_other_kinds_are_no_dumps() -> None:
    """A dict without any key of a dump is refused."""
    documents: list[Any] = [[], 3, None, {"model": 1}, {"entries": 5}]
    for document in documents:
        with pytest.raises(NotADumpError):
            build(document, None, Tables(), 0, "x")


@pytest.mark.parametrize(
    ("ranks", "text"), [([], ""), ([3], "3"), ([0, 1], "0, 1"), ([5, 0, 1, 2, 7, 8, 9], "0-2, 5, 7-9")]
)
def test_ranks_are_written_as_people_do(ranks: list[int], text: str) -> None:
    """Runs of three or more become a range."""
    assert listed(ranks) == text
