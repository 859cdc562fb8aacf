"""Checkpoints of ranks: what is read from them, and what the patterns mean."""

from __future__ import annotations

import functools
import time
from pathlib import Path

import built_in
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from distkb.catalogue.model import Finding
from distkb.evidence.artifact import ArtifactReading
from distkb.evidence.observation import Observation
from distkb.evidence.readers.traces import find_traces, read_traces
from distkb.evidence.readers.traces.compare import IDS
from distkb.evidence.readers.traces.lines import parse
from distkb.locale import LANGUAGES, Say, fill
from distkb.report import traces
from distkb.report.layout import width

PLACES = ("a", "b", ">barrier", "<barrier", ">first forward")
CLOCK = "2026-01-31T09:05:{:02d}.123+00:00"


def line(number: int, rank: int, kind: str, name: str, world: int = 2, more: str = "", pid: int = 0) -> str:
    """One line of the tracer."""
    return (
        f"distkb-trace v1 #{number:04d} time={CLOCK.format(number)} elapsed={number}.000 rank={rank} "
        f'local_rank={rank} world={world} pid={pid or 100 + rank} host=node1 kind={kind} name="{name}"{more}'
    )


def way(rank: int, *places: str, world: int = 2, end: str = "", run: str = "a", pid: int = 0) -> str:
    """A whole trace: `>barrier` enters, `<barrier` leaves, anything else is a mark."""
    kinds = {">": "enter", "<": "leave"}
    text = [line(1, rank, "start", "train.py", world, f' run="{run}" restart="0"', pid)]
    for number, place in enumerate(places, 2):
        text.append(line(number, rank, kinds.get(place[0], "mark"), place.lstrip("<>"), world, "", pid))
    if end:
        more = "" if end == "end" else f' error="{end}"'
        text.append(line(len(places) + 2, rank, "end", "end", world, more, pid))
    return "\n".join(text) + "\n"


def reading(folder: Path, *texts: str) -> ArtifactReading:
    """What is read from one trace file for each text."""
    for rank, text in enumerate(texts):
        (folder / f"trace-rank-{rank}.log").write_text(text, encoding="utf-8")
    return read_traces([folder])


def written(folder: Path, text: str, name: str = "job.log") -> ArtifactReading:
    """What is read from one log."""
    (folder / name).write_text(text, encoding="utf-8")
    return read_traces([folder / name])


@functools.cache
def known_findings() -> tuple[Finding, ...]:
    """Records of the knowledge base."""
    return built_in.catalogue().findings


def said_in_full(observation: Observation) -> None:
    """Every sentence of a finding can be filled with what is given."""
    (finding,) = (finding for finding in known_findings() if finding.id == observation.id)
    for text in (finding.says, finding.fix):
        for template in () if text is None else (text.en, text.ko):
            assert fill(template, observation.values)
    for command in finding.commands:
        assert fill(command, observation.values)


def values(found: ArtifactReading, identity: str) -> dict[str, str]:
    """Values of the one finding that there must be."""
    assert [o.id for o in found.observations] == [identity]
    said_in_full(found.observations[0])
    return found.observations[0].values


@pytest.mark.parametrize(
    ("name", "identity"),
    [
        (">init_process_group", "trace.all-in-init"),
        (">FSDP", "trace.all-in-wrap"),
        (">first forward", "trace.all-in-forward"),
        (">first backward", "trace.all-in-backward"),
        (">barrier", "trace.all-in-barrier"),
        (">torch.save", "trace.all-in-save"),
        (">wandb.init", "trace.all-in-logger"),
        ("before logger", "trace.all-in-logger"),
        ("after dataloader", "trace.all-at-same"),
        ("<barrier", "trace.all-at-same"),
    ],
)
def test_all_ranks_at_one_place_are_judged_by_what_they_are_in(tmp_path: Path, name: str, identity: str) -> None:
    """The first pattern: every rank stops at the same checkpoint, and the next operation is the suspect."""
    found = reading(tmp_path, way(0, "a", name), way(1, "a", name))
    assert values(found, identity)["n"] == "2"
    assert found.facts["pattern"] == "same"
    assert found.facts["outliers"] == []


def test_the_rank_that_stops_earlier_is_the_suspect(tmp_path: Path) -> None:
    """The second pattern, with the lines of both sides and their places in the files."""
    found = reading(
        tmp_path,
        way(0, "a", "b", ">barrier", world=3),
        way(1, "a", world=3),
        way(2, "a", "b", ">barrier", world=3),
    )
    said = values(found, "trace.rank-behind")
    assert said == {"ranks": "1", "others": "0, 2", "last": "a", "front": "enter barrier"}
    first = found.observations[0].quotes[0]
    assert (Path(first.path or "").name, first.line, first.rank) == ("trace-rank-1.log", 2, 1)
    assert found.facts["outliers"] == [1]


def test_of_several_that_are_behind_the_furthest_is_named(tmp_path: Path) -> None:
    """A rank that is held up by a slower one is not the suspect."""
    found = reading(tmp_path, way(0, "a", "b", "c", world=3), way(1, "a", world=3), way(2, "a", "b", world=3))
    assert values(found, "trace.rank-behind")["ranks"] == "1"


def test_ranks_that_went_different_ways_are_shown_with_the_last_common_place(tmp_path: Path) -> None:
    """The third pattern: different next checkpoints."""
    found = reading(tmp_path, way(0, "a", "b", "save branch"), way(1, "a", "b", "train branch"))
    said = values(found, "trace.ranks-diverge")
    assert (said["common"], {said["last"], said["front"]}) == ("b", {"save branch", "train branch"})
    assert found.facts["pattern"] == "diverged"


def test_ranks_that_passed_the_same_places_in_other_orders_went_different_ways(tmp_path: Path) -> None:
    """Where each rank is behind another, none is in front, and none is called behind."""
    found = reading(tmp_path, *(way(rank, *places, world=3) for rank, places in enumerate(("ab", "bc", "ca"))))
    assert values(found, "trace.ranks-diverge")["ranks"] == "2"
    assert found.facts["pattern"] == "diverged"


def test_side_work_of_one_rank_is_told_from_another_way(tmp_path: Path) -> None:
    """A rank that saves while the others wait in a barrier is named; with a sharded model the cause is another."""
    found = reading(tmp_path, way(0, "a", ">torch.save"), way(1, "a", ">barrier"))
    assert values(found, "trace.rank-in-side-work")["ranks"] == "0"
    found = reading(tmp_path, way(0, ">FSDP", "<FSDP", ">torch.save"), way(1, ">FSDP", "<FSDP", ">barrier"))
    assert values(found, "trace.rank-in-sharded-save")["ranks"] == "0"


def test_the_first_forward_that_is_never_left_has_three_variants(tmp_path: Path) -> None:
    """All are in it, some came out of it, some never came to it."""
    inside, out = ("a", ">first forward"), ("a", ">first forward", "<first forward")
    assert values(reading(tmp_path, way(0, *inside), way(1, *inside)), "trace.all-in-forward")["n"] == "2"
    found = reading(tmp_path, way(0, *out), way(1, *inside))
    assert values(found, "trace.first-forward-not-left")["ranks"] == "1"
    found = reading(tmp_path, way(0, *inside), way(1, "a"))
    assert values(found, "trace.first-forward-not-entered")["ranks"] == "1"


def test_a_rank_without_any_line_is_missing(tmp_path: Path) -> None:
    """The world size that the others print says who is not there; that the others wait is then no news."""
    found = reading(tmp_path, way(0, ">init_process_group", world=3), way(1, ">init_process_group", world=3))
    assert values(found, "trace.rank-never-started")["ranks"] == "2"
    assert found.facts["missing"] == [2]


def test_a_rank_that_ended_leaves_the_others_waiting(tmp_path: Path) -> None:
    """A normal end of one rank beside a waiting one is a finding, an end of all is none."""
    found = reading(tmp_path, way(0, "a", ">barrier"), way(1, "a", end="end"))
    assert values(found, "trace.rank-ended-early")["ranks"] == "1"
    found = reading(tmp_path, way(0, "a", end="end"), way(1, "a", end="end"))
    assert found.observations == ()
    assert set(found.clear) == {*IDS, "trace.quiet"}


def test_a_failure_explains_the_others(tmp_path: Path) -> None:
    """Who waits for a rank that failed is not judged."""
    found = reading(tmp_path, way(0, "a", ">barrier"), way(1, "a", end="ValueError: bad"))
    assert values(found, "trace.rank-failed")["error"] == "ValueError: bad"
    assert "trace.rank-behind" not in found.clear, "what was not compared is not said to be absent"


def test_different_world_sizes_are_found(tmp_path: Path) -> None:
    """Two jobs of one rank each are not one job of two."""
    found = reading(tmp_path, way(0, "a", world=1, end="end"), way(1, "a", world=2, end="end"))
    assert values(found, "trace.world-differs")["sizes"] == "1: 0; 2: 1"


def test_steps_tell_ranks_apart_that_stand_alike(tmp_path: Path) -> None:
    """What the quiet lines count decides where the last checkpoint is the same."""
    texts = [
        way(rank, "a") + line(3, rank, "quiet", "no sign of life", 2, f" seconds=120 steps={steps}") + "\n"
        for rank, steps in ((0, 41), (1, 40))
    ]
    found = reading(tmp_path, *texts)
    said = {o.id: o.values for o in found.observations}
    assert said["trace.rank-behind-in-steps"] == {"ranks": "1", "steps": "40", "others": "0", "most": "41"}


def test_only_the_newest_run_counts(tmp_path: Path) -> None:
    """A file that is appended to, and files of a larger earlier run, do not speak for this one."""
    old = way(0, "a", ">barrier", run="old", pid=1).replace("T09:", "T08:")
    found = reading(
        tmp_path, old + way(0, "a", end="end"), way(1, "a", end="end"), way(2, "a", run="old").replace("T09", "T08")
    )
    assert found.observations == ()
    assert found.facts["older_traces"] == 2


def test_runs_with_the_same_pid_are_told_apart(tmp_path: Path) -> None:
    """In containers every run may have one pid: numbers that begin anew are a new process."""
    old = [way(rank, "a", "b", ">barrier", run="old", pid=7).replace("T09:", "T08:") for rank in range(2)]
    found = reading(tmp_path, old[0] + way(0, "a", "b", pid=7), old[1] + way(1, "a", pid=7))
    assert values(found, "trace.rank-behind")["ranks"] == "1"
    assert found.facts["older_traces"] == 2


def test_numbers_in_names_that_differ_by_rank_make_no_other_way(tmp_path: Path) -> None:
    """`loaded 75123 samples` is one place on all ranks, and `layer 1` and `layer 2` are two."""
    found = reading(tmp_path, way(0, "loaded 1 samples", "layer 1", "layer 2"), way(1, "loaded 2 samples", "layer 1"))
    said = values(found, "trace.rank-behind")
    assert (said["ranks"], said["last"], said["front"]) == ("1", "layer 1", "layer 2")


def test_thousands_of_ranks_are_compared_quickly(tmp_path: Path) -> None:
    """4096 ranks in one log, one of them behind, and each with a name of its own: a few seconds at most."""
    rows = "".join(way(rank, "a", "b" if rank != 77 else f"own {rank}", world=4096) for rank in range(4096))
    began = time.process_time()
    found = written(tmp_path, rows)
    assert found.facts["outliers"] == [77]
    assert time.process_time() - began < 10.0


def test_the_same_line_in_a_file_and_in_a_log_counts_once(tmp_path: Path) -> None:
    """Torchrun's output with its prefixes repeats the trace files; the files are quoted."""
    texts = way(0, "a", "b"), way(1, "a")
    prefixed = "".join(f"[default{r}]:{row}\n" for r, text in enumerate(texts) for row in text.splitlines())
    (tmp_path / "job.log").write_text(prefixed, encoding="utf-8")
    found = reading(tmp_path, *texts)
    assert values(found, "trace.rank-behind")["ranks"] == "1"
    assert {Path(q.path or "").suffix for q in found.observations[0].quotes} == {".log"}
    assert all("trace-rank" in (q.path or "") for q in found.observations[0].quotes)
    alone = read_traces([tmp_path / "job.log"])
    assert alone.observations[0].values == found.observations[0].values


@pytest.mark.parametrize(
    ("text", "rank", "number", "name"),
    [
        ("[Rank 3] CHECKPOINT 7: before FSDP wrap", 3, 7, "before FSDP wrap"),
        ("rank=3 checkpoint 7", 3, 7, ""),
        ("[rank1]: [Checkpoint 12] loaded", 1, 12, "loaded"),
        ("[10:23:45.123][+2.456s][R0/2][LR0][PID:12345] CHECKPOINT 5: Model created", 0, 5, "Model created"),
        ("2026-01-31 09:05:01,123 - INFO - [Rank 2] checkpoint #4 - dataset", 2, 4, "dataset"),
        ("[Checkpoint 12] from the file's name", 9, 12, "from the file's name"),
        ("(rank 5) milestone 3) after ddp", 5, 3, "after ddp"),
        ("[Rank 1] step 120", 1, 120, ""),
    ],
)
def test_checkpoints_written_by_hand_are_understood(text: str, rank: int, number: int, name: str) -> None:
    """Rank, number and name of the usual ways to write them."""
    mark = parse(text, "x.log", 1, 9)
    assert mark is not None
    assert (mark.rank, mark.number, mark.name) == (rank, number, name)


@pytest.mark.parametrize(
    "text",
    [
        "Saving model checkpoint to output/checkpoint-500",
        "[rank0]: Loading checkpoint shards: 100%",
        "[Rank 0] Checkpoint 500 saved to /data",
        "We resume from checkpoint 500",
        "INFO loaded checkpoint 3 of run 7",
        "{'loss': 0.5, 'epoch': 1.0, 'step': 100}",
        "[rank0]: RuntimeError: before the barrier",
        "step 100 loss 0.3",
        "[2026-01-31] Stage 3 initialize beginning",
    ],
)
def test_other_lines_are_no_checkpoints(text: str) -> None:
    """Files of weights, progress and errors are not places in the program."""
    assert parse(text, "x.log", 1, None) is None


def test_logs_written_by_hand_are_compared(tmp_path: Path) -> None:
    """Numbered and plain lines of two ranks in one log; what begins last is what the ranks are in."""
    rows = "[R{0}/2] CHECKPOINT 8: Accelerator configured\n[R{0}/2] About to call WandbLogger constructor...\n"
    assert values(written(tmp_path, rows.format(0) + rows.format(1)), "trace.all-in-logger")["n"] == "2"
    head = "[Rank {0}] Data moved to device, starting forward pass\n"
    text = head.format(0) + head.format(1)
    assert values(written(tmp_path, text), "trace.all-in-forward")["n"] == "2"
    said = values(written(tmp_path, text + "[Rank 0] Forward pass completed\n"), "trace.first-forward-not-left")
    assert said["ranks"] == "1"
    text = "[Rank 0] checkpoint 12: Training finished\n[Rank 1] checkpoint 12: Training finished\n"
    assert written(tmp_path, text).observations == ()


def test_the_rank_of_a_file_is_taken_from_its_name(tmp_path: Path) -> None:
    """One log for each rank, torchrun's folders included."""
    for rank, number in ((0, 7), (1, 6)):
        path = tmp_path / "run" / "attempt_0" / str(rank)
        path.mkdir(parents=True)
        rows = "".join(f"[Checkpoint {n}] here\n" for n in range(1, number + 1))
        (path / "stderr.log").write_text(rows, encoding="utf-8")
    found = read_traces([tmp_path])
    assert values(found, "trace.rank-behind")["ranks"] == "1"
    assert len(find_traces([tmp_path])) == 2


def test_files_that_cannot_be_read_or_hold_nothing_become_notes(tmp_path: Path) -> None:
    """Binary, empty, missing and foreign files are skipped with a code; nothing is raised."""
    (tmp_path / "trace-rank-0.log").write_bytes(b"")
    (tmp_path / "b.log").write_bytes(bytes(range(256)) * 40)
    (tmp_path / "c.log").write_text("nothing here\n")
    paths = [tmp_path / "trace-rank-0.log", tmp_path / "b.log", tmp_path / "c.log", tmp_path / "gone.log"]
    found = read_traces(paths)
    assert [item.code for item in found.skipped] == ["empty", "binary", "no-traces", "missing"]
    assert found.facts == {}
    assert find_traces([tmp_path]) == [tmp_path / "trace-rank-0.log"]


def test_hostile_lines_are_cleaned(tmp_path: Path) -> None:
    """Escapes, overrides and secrets of names and errors do not come through; broken JSON is borne."""
    name = "\\u001b[31mred\\u202e hf_abcdefghijkl"
    text = way(0, "x") + line(9, 0, "mark", name) + "\n" + line(10, 0, "mark", 'un"closed', 2, ' data={"a": ') + "\n"
    found = reading(tmp_path, text, way(1, "x"))
    shown = repr(found.observations) + repr(found.facts)
    assert "\\x1b" not in shown
    assert "\\u202e" not in shown
    assert "hf_abcdefghijkl" not in shown


@settings(max_examples=150)
@given(st.text(max_size=300), st.integers(0, 3))
def test_no_line_raises(text: str, shape: int) -> None:
    """Whatever stands in a line, it is a checkpoint or not."""
    shapes = ("{}", "distkb-trace v1 #1 {}", 'distkb-trace v1 #1 kind=mark name="{}', "[Rank 1] checkpoint 3 {}")
    parse(shapes[shape].replace("{}", text), "x.log", 1, None)


@settings(max_examples=60)
@given(
    st.lists(st.lists(st.sampled_from(["a", "b", ">barrier", "<barrier", ">first forward"]), max_size=5), max_size=4)
)
def test_every_combination_has_an_answer(tmp_path_factory: pytest.TempPathFactory, ways: list[list[str]]) -> None:
    """Whatever places the ranks came to: ids are known, values are texts, outliers are ranks that were given."""
    folder = tmp_path_factory.mktemp("ways")
    found = reading(folder, *(way(rank, *places, world=max(1, len(ways))) for rank, places in enumerate(ways)))
    assert {o.id for o in found.observations} <= set(IDS)
    assert not {o.id for o in found.observations} & set(found.clear)
    for observation in found.observations:
        said_in_full(observation)
    assert set(found.facts.get("outliers", ())) <= set(range(len(ways)))
    if len({tuple(places) for places in ways}) > 1:
        assert found.observations, "ranks that stand at different places are never in order"


def test_long_lines_do_not_take_long() -> None:
    """Lines made to send a pattern back and forth are read at once."""
    began = time.process_time()
    for text in ("[" * 4000, "a-" * 2000 + "checkpoint 3", "rank " * 900 + "checkpoint 1", 'name="' + "\\" * 4000):
        parse(text, "x.log", 1, None)
        parse("distkb-trace v1 #1 kind=mark " + text, "x.log", 1, None)
    assert time.process_time() - began < 1.0


def test_findings_are_known_and_filled() -> None:
    """Each id has a record, and no sentence needs a value that is not given."""
    known = {finding.id for finding in built_in.catalogue().findings}
    assert {*IDS, "trace.quiet"} <= known


@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_table_shows_the_odd_rank_first_in_eighty_columns(tmp_path: Path, lang: str) -> None:
    """Ranks that stand alike share a row; long names are cut."""
    name = "a very long checkpoint name that somebody wrote into the script " * 2
    found = reading(tmp_path, way(0, name, world=4), way(1, name, "b", world=4), way(2, name, "b", world=4))
    rows = traces.write(found.facts, Say(lang), columns=80).splitlines()  # type: ignore[arg-type]
    assert all(width(row) <= 80 for row in rows)
    body = [row for row in rows if row.strip()][2:]
    assert body[0].startswith("  ▸ 3 ")
    assert body[-1].split()[:2] == ["1,", "2"]
