"""The parts of the live checks: checksums, the exchange through the store, the documents, the texts."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from distkb_probes import live
from distkb_probes.live import _exchange, _output, _ranks, _result, _run
from distkb_probes.live._exchange import Judge, Meeting, Met, Sheet
from distkb_probes.live._hash import CHUNK, Reader, Reading

LIVE = Path(live.__file__).parent
RECORDS = Path(__file__).parents[2] / "kb" / "observations" / "probe-live.yaml"
PLACEHOLDER = re.compile(r"\{(\w+)\}")


def read(*tensors: Any, norms: bool = False) -> list[Reading]:
    """Read tensors to the end."""
    reader = Reader(time.monotonic() + 60, norms=norms)
    readings = [reader.read(tensor) for tensor in tensors]
    reader.finish()
    return readings


def test_importing_live_imports_neither_torch_nor_distkb() -> None:
    """The import in a training script costs nothing until a check is called."""
    program = "import sys; from distkb_probes import live; print('torch' in sys.modules, 'distkb' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert result.stdout.split() == ["False", "False"]


def test_the_guide_has_an_example_of_six_lines() -> None:
    """The module's docstring shows how it is used."""
    assert live.__doc__
    example = [line for line in live.__doc__.splitlines() if line.startswith("    ") and line.strip()]
    assert "from distkb_probes import live" in example[0]


def test_ranks_are_written_shortly() -> None:
    """Neighbours are joined, the rest are listed."""
    assert _ranks.spans([3, 1, 2, 7, 0]) == "0-3,7"
    assert _ranks.spans([]) == ""
    assert _ranks.odd_ones({0: "a", 1: "b", 2: "b", 3: "c"}) == ([0, 3], [1, 2])


def test_every_single_bit_counts() -> None:
    """Flipping any bit of a tensor changes its checksum; also two sign bits at once, and a swap of two values."""
    import torch

    base = torch.arange(40, dtype=torch.float32)
    variants = [base]
    for byte in range(160):
        changed = base.clone()
        changed.view(torch.uint8)[byte] ^= 1 << (byte % 8)
        variants.append(changed)
    signs = base.clone()
    signs[[5, 9]] *= -1
    swapped = base.clone()
    swapped[[5, 9]] = base[[9, 5]]
    sums = [reading.checksum for reading in read(*variants, signs, swapped)]
    assert None not in sums
    assert len(set(sums)) == len(sums)


def test_equal_bytes_have_equal_checksums_however_they_lie() -> None:
    """Strides, offsets and several chunks make no difference; no generator is touched."""
    import torch

    state = torch.get_rng_state()
    whole = torch.arange(2 * CHUNK + 3, dtype=torch.int16)
    shifted = torch.cat([torch.zeros(1, dtype=torch.int16), whole])[1:]
    square = torch.arange(12.0).reshape(3, 4)
    turned = square.t().contiguous().t()
    sums = [reading.checksum for reading in read(whole, shifted, square, turned)]
    assert sums[0] == sums[1]
    assert sums[2] == sums[3]
    assert torch.equal(state, torch.get_rng_state())


@pytest.mark.parametrize("name", ["float64", "float32", "float16", "bfloat16", "complex64", "float8_e4m3fn", "bool"])
def test_every_dtype_can_be_read(name: str) -> None:
    """Checksums exist for all of them, and NaN is seen in the floating ones."""
    import torch

    dtype = getattr(torch, name)
    good = torch.ones(5).to(dtype)
    bad = torch.tensor([1.0, float("nan"), 2.0]).to(dtype)
    fine, broken, empty = read(good, bad, good[:0])
    assert fine.checksum is not None
    assert fine.finite is (None if name == "bool" else True)
    assert broken.finite is (None if name == "bool" else False)
    assert empty.checksum == 0


def test_norms_and_unreadable_tensors() -> None:
    """A norm is the Euclidean one; meta tensors are passed over."""
    import torch

    known, meta = read(torch.tensor([3.0, 4.0]), torch.ones(2, device="meta"), norms=True)
    assert known.norm == pytest.approx(5.0)
    assert meta.checksum is None


class Counting:
    """A store that counts its requests."""

    def __init__(self) -> None:
        import torch.distributed as dist

        self.store: Any = dist.HashStore()  # type: ignore[attr-defined]
        self.requests = 0

    def __getattr__(self, name: str) -> Any:
        self.requests += 1
        return getattr(self.store, name)


def meeting(
    world: int, *, absent: tuple[int, ...] = (), timeout: float = 20.0, name: str
) -> tuple[dict[int, Met], Any]:
    """Hold one meeting of threads; the verdict says who was there and sums the details of ranks 1 and 3."""
    judge = Judge(
        wants=lambda summaries: [rank for rank in (1, 3) if rank in summaries],
        verdict=lambda summaries, details: {"there": sorted(summaries), "sum": sum(len(d) for d in details.values())},
    )
    inner = Counting()
    requests: dict[int, int] = {}
    met: dict[int, Met] = {}

    def one(rank: int) -> None:
        mine = Counting()
        mine.store = inner.store
        here = Meeting(mine, name, rank, range(world), timeout)
        # incompressible enough to need several pieces
        detail = (
            [f"{index * 2654435761 % 2**32:08x}" for index in range(300_000)]
            if rank == 1 and name == "verdict"
            else ["x"]
        )
        met[rank] = here.hold(Sheet({"rank": rank}, detail), judge, f"call of {rank}")
        requests[rank] = mine.requests

    threads = [threading.Thread(target=one, args=(rank,)) for rank in range(world) if rank not in absent]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return met, (requests, inner.store)


def test_all_ranks_read_one_verdict_and_leave_nothing() -> None:
    """Summaries and long details arrive; every rank gets the same; the store is as empty as before."""
    met, (_, store) = meeting(4, name="verdict")
    assert {json.dumps(one.verdict) for one in met.values()} == {'{"there": [0, 1, 2, 3], "sum": 300001}'}
    assert not any(one.missing or one.late for one in met.values())
    assert store.num_keys() == 4  # where each rank was last seen


def test_the_missing_are_named_by_whoever_is_there() -> None:
    """Ranks 0 and 2 of five do not come; the other three agree on that within the time."""
    began = time.monotonic()
    met, _ = meeting(5, absent=(0, 2), timeout=3, name="missing")
    assert time.monotonic() - began < 60
    assert {one.missing for one in met.values()} == {(0, 2)}
    assert len({one.leader for one in met.values()}) == 1


def test_the_cost_grows_with_the_ranks_only_for_the_leader() -> None:
    """With 200 ranks a rank makes a few requests besides polling, the leader some for each rank."""
    met, (requests, _) = meeting(200, name="cost")
    assert len(met) == 200
    assert requests[0] < 200 * 6 + 300
    assert sorted(requests.values())[100] < 150


class Silent:
    """A store whose server does not answer."""

    def __init__(self) -> None:
        self.end = threading.Event()

    def set(self, *_: Any) -> None:
        """Block until the test is over."""
        self.end.wait(30)
        raise RuntimeError("closed")


def test_a_silent_store_does_not_hold_the_job() -> None:
    """The check comes back in time, and the next one does not queue behind it."""
    store = Silent()
    judge = Judge(wants=lambda _: [], verdict=lambda *_: {})
    here = Meeting(store, "silent", 0, [0, 1], 0.2)
    assert _run._hold(here, Sheet({}), judge, "here")[1] == "the store has not answered for 0 s"
    began = time.monotonic()
    assert "has not come back" in str(_run._hold(here, Sheet({}), judge, "here")[1])
    assert time.monotonic() - began < 20
    store.end.set()


def test_a_lost_store_is_a_finding() -> None:
    """An error of the store is reported with its text."""

    class Broken:
        def set(self, *_: Any) -> None:
            raise RuntimeError("Connection reset by peer")

    _run._stuck = None
    judge = Judge(wants=lambda _: [], verdict=lambda *_: {})
    _, problem = _run._hold(Meeting(Broken(), "broken", 0, [0, 1], 5), Sheet({}), judge, "here")
    assert problem == "RuntimeError: Connection reset by peer"


def test_a_failing_check_is_a_finding_not_an_exception(tmp_path: Path) -> None:
    """Wrong arguments and exotic models do not stop the job."""
    result = live.tensors({"a": 1}, what="nothing", report=False, save=tmp_path)
    assert [item.id for item in result.findings] == ["live.check-failed"]
    assert "params" in result.findings[0].values["error"]
    assert live.coverage("not a model", report=False).findings[0].id == "live.check-failed"  # type: ignore[arg-type]


def test_files_are_numbered_and_clean_ones_replaced(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Findings are kept, a clean result replaces the last clean one of its check, other files are not touched."""
    (tmp_path / "live-7.json").write_text("mine")
    clean = _result.Findings("memory")
    bad = _result.Findings("memory", (_result.Finding("live.x", {"name": "a b\x1b[0m"}),))
    for result in (clean, bad, clean, bad):
        _output.publish(result, first=True, report=True, save=tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"live-{number}.json" for number in (10, 7, 8, 9)]
    assert (tmp_path / "live-7.json").read_text() == "mine"
    assert 'distkb live: live.x name="a b' in capfd.readouterr().err


def test_a_folder_that_cannot_be_written_is_said_once_per_result(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Saving never raises."""
    (tmp_path / "file").write_text("")
    _output.publish(_result.Findings("memory"), first=True, report=True, save=tmp_path / "file")
    assert "not saved" in capfd.readouterr().err


def test_values_hold_no_control_characters_and_no_novels() -> None:
    """What comes from the job is one short line."""
    raw = _result.finding("live.x", ranks=[2, 1], values={"name": "a\x1b[31m\nb" + "c" * 999})
    assert raw["values"]["ranks"] == "1-2"
    assert len(raw["values"]["name"]) == 200
    assert raw["values"]["name"].startswith("a [31m b")


def test_the_catalogue_has_a_record_for_every_finding_and_none_more() -> None:
    """Every id in the code has its texts, and every text can be filled."""
    import yaml

    records = {record["id"]: record for record in yaml.safe_load(RECORDS.read_text())["findings"]}
    code = "\n".join(path.read_text() for path in LIVE.glob("*.py"))
    plain = {one for one in re.findall(r'"(live\.[a-z-]+)"', code) if not one.endswith("-")}
    kinds = {f"live.nonfinite-{kind}" for kind in ("parameter", "buffer", "gradient", "tensor")}
    kinds |= {f"live.{kind}-differ" for kind in ("parameters", "buffers", "gradients", "tensors")}
    kinds |= {f"live.tensor-{aspect}" for aspect in ("shape", "dtype", "device", "requires-grad")}
    assert set(records) == plain | kinds
    for record in records.values():
        assert record["severity"] in {"error", "warning", "note"}
        for text in (record["says"], record.get("fix", {"en": "", "ko": ""})):
            assert set(PLACEHOLDER.findall(text["en"])) >= set(PLACEHOLDER.findall(text["ko"])) - {"ranks"}


def test_unknown_models_of_exchange_state_are_not_kept_between_groups() -> None:
    """Two groups of ranks count their rounds separately."""
    one = Meeting(None, "check", 0, [0, 1], 1).who
    other = Meeting(None, "check", 0, [0, 1, 2], 1).who
    assert one != other
    assert _exchange.ROOT in one
