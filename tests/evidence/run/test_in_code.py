"""Script and run together: from the lines where two ranks stand to the condition that sent them there.

In each script `# A` and `# B` mark the lines where the two ranks stand, and `# why` the line that names the condition.
"""

from __future__ import annotations

import textwrap
from pathlib import Path

import msgspec
import pytest
from run_samples import position, signatures

from distkb.evidence.code.observe import observe
from distkb.evidence.code.spots import with_sources
from distkb.evidence.observation import Observation
from distkb.evidence.readers.scripts import read_scripts
from distkb.evidence.readers.stacks import read_stacks
from distkb.evidence.readers.stacks.model import Frame
from distkb.evidence.run.frames import frames
from distkb.evidence.run.parting import part
from distkb.evidence.run.positions import Position, Stage, positions
from distkb.evidence.run.processes import Run
from distkb.evidence.run.timeline import build

HEAD = """
import os, random, time
import torch, torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler, IterableDataset

class Meters:
    def __init__(self):
        self.meters = defaultdict(Meter)

    def __getitem__(self, name):
        return self.meters[name]

"""

CASES: dict[str, tuple[str, Stage, Stage, str]] = {
    "a test on the rank": (
        "code.parted-by-rank",
        "own-call",
        "own-call",
        """
        def main(step):
            rank = dist.get_rank()
            report = step > 2
            if rank == 0 and report:  # why
                dist.all_reduce(torch.ones(1))  # A
            dist.barrier()  # B
        """,
    ),
    "a test on the rank that gives it a side of a pair": (
        "code.parted-by-part-in-pair",
        "own-call",
        "barrier",
        """
        def main(batches, count, buffer):
            rank = dist.get_rank()
            if rank == 0:  # why
                for batch in batches:
                    dist.send(batch, dst=1)
            else:
                for _ in range(count):
                    dist.recv(buffer, src=0)  # A
            dist.barrier()  # B
        """,
    ),
    "a loop over what the batch holds": (
        "code.batch-counts-collectives",
        "own-call",
        "backward",
        """
        def main(dataset, model):
            loader = DataLoader(dataset)
            for step, (images, labels) in enumerate(loader):
                for label in labels.unique():  # why
                    dist.all_reduce(torch.ones(1))  # A
                model(images).sum().backward()  # B
        """,
    ),
    "a loop over what the batch holds that makes steps": (
        "code.batch-skips-step",
        "own-call",
        "backward",
        """
        def main(dataset, model):
            loader = DataLoader(dataset)
            for step, (images, labels) in enumerate(loader):
                for label in labels.unique():  # why
                    model(images[labels == label]).sum().backward()
                    dist.all_reduce(torch.ones(1))  # A
                model(images).sum().backward()  # B
        """,
    ),
    "a loop over names of which many more are read than put": (
        "code.batch-counts-collectives",
        "own-call",
        "barrier",
        """
        def main(dataset, model):
            seen = {}
            for images, labels in DataLoader(dataset):
                for kind in labels.unique().tolist():
                    seen[kind] = model(images).sum()
            print(seen[0], seen[1], seen[2], seen[3], seen[4], seen[5], seen[6], seen[7], seen[8], seen[9])
            for kind in sorted(seen):  # why
                dist.all_reduce(seen[kind])  # A
            dist.barrier()  # B
        """,
    ),
    "a loop over names that another method met in the batches": (
        "code.batch-counts-collectives",
        "own-call",
        "barrier",
        """
        class Sums:
            def __init__(self):
                self.sums = {}

            def update(self, values, kinds):
                for kind in kinds.unique().tolist():
                    self.sums[kind] = self.sums.get(kind, 0) + values[kinds == kind].sum()

        def main(dataset, model):
            seen = Sums()
            for images, labels in DataLoader(dataset):
                seen.update(model(images), labels)
            for kind in sorted(seen.sums):  # why
                dist.all_reduce(seen.sums[kind])  # A
            dist.barrier()  # B
        """,
    ),
    "a loop over meters that are made when they are asked for": (
        "code.batch-counts-collectives",
        "own-call",
        "barrier",
        """
        def main(dataset, model):
            meters = Meters()
            for images, labels in DataLoader(dataset):
                meters["loss"].update(model(images))
                for kind in labels.unique().tolist():
                    meters[f"recall {kind}"].update(model(images))
            for name in sorted(meters.meters):  # why
                dist.all_reduce(meters.meters[name].total)  # A
            dist.barrier()  # B
        """,
    ),
    "a loop over meters whose names are written down": (
        "",
        "own-call",
        "barrier",
        """
        def main(dataset, model):
            meters = Meters()
            for images, labels in DataLoader(dataset):
                meters["loss"].update(model(images))
            for name in sorted(meters.meters):
                dist.all_reduce(meters.meters[name].total)  # A
            dist.barrier()  # B
        """,
    ),
    "two objects of one class of which only the other knows the rank": (
        "",
        "backward",
        "barrier",
        """
        class Rows(Dataset):
            def __init__(self, rows):
                self.rows = rows

            def __len__(self):
                return len(self.rows)

        def main(train, dev, model):
            held = Rows(dev[dist.get_rank() :: dist.get_world_size()])
            loader = DataLoader(Rows(train))
            for batch in loader:
                model(batch).sum().backward()  # A
            dist.barrier()  # B
        """,
    ),
    "a block that one rank enters first": (
        "code.parted-by-rank",
        "barrier",
        "work",
        """
        def main(accelerator, path):
            with accelerator.main_process_first():  # A
                if not os.path.exists(path):
                    time.sleep(60)  # B
        """,
    ),
    "an attribute of an object that knows the rank": (
        "code.parted-by-rank",
        "own-call",
        "barrier",
        """
        class Layout:
            def __init__(self, scorers):
                self.me = dist.get_rank()
                self.scores = self.me in range(scorers)
        def main(scorers):
            layout = Layout(scorers)
            if layout.scores:  # why
                dist.all_reduce(torch.ones(1))  # A
            dist.barrier()  # B
        """,
    ),
    "a loop over what a rank's files hold": (
        "code.parted-by-part",
        "backward",
        "barrier",
        """
        class Corpus(IterableDataset):
            def __init__(self, files): self.files = files[dist.get_rank()::dist.get_world_size()]
            def __iter__(self):
                for name in self.files:
                    yield from open(name)
        def main(files, model):
            for batch in DataLoader(Corpus(files), batch_size=4):  # why
                model(batch).sum().backward()  # A
            dist.barrier()  # B
        """,
    ),
    "a break on the rank's own loss": (
        "code.parted-by-measure",
        "backward",
        "own-call",
        """
        def stop(history): return len(history) > 3 and history[-1] > history[-2]
        def main(loader, model):
            history = []
            for epoch in range(9):
                for batch in loader:
                    loss = model(batch)
                    loss.backward()  # A
                history.append(loss.item())
                val_loss = sum(history)
                if val_loss > 3:  # why
                    break
            dist.all_reduce(torch.ones(1))  # B
        """,
    ),
    "a clock": (
        "code.parted-by-clock",
        "backward",
        "barrier",
        """
        def main(loader, model):
            start = time.time()
            while time.time() - start < 60:  # why
                model(next(loader)).backward()  # A
            dist.barrier()  # B
        """,
    ),
    "a file that one rank sees": (
        "code.parted-by-file",
        "own-call",
        "barrier",
        """
        def main(path):
            if os.path.exists(path):  # why
                dist.broadcast(torch.ones(1), 0)  # A
            dist.barrier()  # B
        """,
    ),
    "files of its own that set how long a rank's loop is": (
        "code.length-by-file",
        "own-call",
        "barrier",
        """
        def main(folder):
            for shard in os.listdir(folder):  # why
                dist.all_reduce(torch.ones(1))  # A
            dist.barrier()  # B
        """,
    ),
    "a file for which one rank goes round": (
        "code.waits-for-file",
        "work",
        "forward",
        """
        def main(path, model, batch):
            while not os.path.exists(path):  # why
                time.sleep(1)  # A
            model(batch)  # B
        """,
    ),
    "an exception that is caught": (
        "code.parted-by-exception",
        "backward",
        "barrier",
        """
        def main(loader, model):
            for batch in loader:
                try:  # why
                    model(batch).backward()  # A
                except RuntimeError:
                    dist.barrier()  # B
        """,
    ),
    "the content of a batch before a collective": (
        "code.batch-skips-collective",
        "own-call",
        "barrier",
        """
        def main(loader, model):
            for batch in loader:
                if (batch["kind"] == 3).any():  # why
                    dist.all_reduce(model(batch))  # A
                dist.barrier()  # B
        """,
    ),
    "the content of a batch before the rest of a step": (
        "code.batch-skips-step",
        "backward",
        "barrier",
        """
        def main(loader, model):
            for batch in loader:
                if (batch["kind"] == 3).any():  # why
                    continue
                model(batch).backward()  # A
            dist.barrier()  # B
        """,
    ),
    "the content of a batch before a part of the model": (
        "code.batch-skips-module",
        "forward",
        "backward",
        """
        class Net(torch.nn.Module):
            def main(self, batch):
                x = self.body(batch["x"])
                if (batch["kind"] == 3).any():  # why
                    x = x + self.tower(batch["image"])  # A
                return self.head(x)  # B
            def forward(self, loader):
                for batch in loader:
                    self.main(batch)
        """,
    ),
    "two calls in an order of the rank's": (
        "code.other-order",
        "own-call",
        "own-call",
        """
        def main(loss, seen):
            rank = dist.get_rank()
            for name in sorted(["loss", "seen"], reverse=rank == 1):
                if name == "loss":  # why
                    dist.all_reduce(loss)  # A
                else:
                    dist.broadcast(seen, 0)  # B
        """,
    ),
    "a value that a collective made the same": (
        "",
        "backward",
        "barrier",
        """
        def main(loader, model):
            for batch in loader:
                loss = model(batch)
                loss.backward()  # A
                dist.all_reduce(loss)
                if loss > 3:
                    break
            dist.barrier()  # B
        """,
    ),
    "data that a sampler divides evenly": (
        "",
        "backward",
        "barrier",
        """
        def main(data, model):
            rank = dist.get_rank()
            for batch in DataLoader(data, sampler=DistributedSampler(data, rank=rank)):
                model(batch).backward()  # A
            dist.barrier()  # B
        """,
    ),
}


def observed(text: str, folder: Path, one: Stage, other: Stage, quoted: str = "") -> list[Observation]:
    """What is concluded of two ranks at the marked lines of a script."""
    script = folder / "train.py"
    script.write_text(HEAD + textwrap.dedent(text))
    project = read_scripts([script]).project
    lines = script.read_text().splitlines()
    found = [at(rank, mark, stage, lines, quoted) for rank, (mark, stage) in enumerate([("# A", one), ("# B", other)])]
    assert project is not None
    return observe(part(found, 2), project)


def at(rank: int, mark: str, stage: Stage, lines: list[str], quoted: str) -> Position:
    """A rank at the line that ends with a mark."""
    number = next(n for n, line in enumerate(lines, 1) if line.endswith(mark))
    frame = Frame("main", "/home/user/train.py", number, quoted or lines[number - 1].strip())
    base = position(rank, stage, ("main", number))
    return Position(
        **{name: getattr(base, name) for name in base.__struct_fields__ if name != "frames"}, frames=(frame,)
    )


def test_a_loop_around_the_wait_that_ends_by_the_ranks_own_data_parts_them(tmp_path: Path) -> None:
    """Each rank decodes until its own end: that tells more than how many prompts each of them has."""
    text = """
        def write(model, prompt):
            ids = torch.tensor([prompt])
            while ids.shape[1] < 9:
                nxt = model(ids).argmax()  # A
                ids = torch.cat([ids, nxt])
                if nxt.item() == 3:  # why
                    break
        def main(dataset, model):
            for prompts in DataLoader(dataset[dist.get_rank() :: dist.get_world_size()]):
                write(model, prompts[0])  # call
            dist.all_reduce(torch.ones(1))  # B
    """
    script = tmp_path / "train.py"
    script.write_text(HEAD + textwrap.dedent(text))
    lines = script.read_text().splitlines()
    inner, outer = at(0, "# A", "forward", lines, ""), at(0, "# call", "forward", lines, "")
    inside = msgspec.structs.replace(inner.frames[0], function="write")
    stands = [msgspec.structs.replace(inner, frames=(outer.frames[0], inside)), at(1, "# B", "own-call", lines, "")]
    project = read_scripts([script]).project
    assert project is not None
    (found,) = observe(part(stands, 2), project)
    assert found.id.startswith(("code.batch-", "code.parted-by-batch"))
    assert lines[int(found.values["line"]) - 1].endswith("# why")


@pytest.mark.parametrize("name", CASES)
def test_the_condition_that_lies_between_two_ranks_is_named_with_what_it_depends_on(name: str, tmp_path: Path) -> None:
    """One observation, which quotes the condition; none where the ranks agree on it."""
    wanted, one, other, text = CASES[name]
    found = observed(text, tmp_path, one, other)
    assert [o.id for o in found] == ([wanted] if wanted else [])
    script = (tmp_path / "train.py").read_text().splitlines()
    why = "# A" if "_first()" in text else "# why"  # where the line at which a rank stands is the condition itself
    marked = [number for number, line in enumerate(script, 1) if line.endswith(why)]
    assert [o.quotes[0].line for o in found] == marked


def test_a_loop_inside_a_call_that_another_rank_has_left_is_looked_at(tmp_path: Path) -> None:
    """One rank still goes round a loop below a statement that the other has behind it: the loop's end parts them."""
    text = """
    def main(loader, model):
        drawn = draw(model)
        dist.barrier()
    def draw(model):
        still = torch.ones(8)
        while still.any():
            still = model(torch.multinomial(still, 1))
    """
    script = tmp_path / "train.py"
    script.write_text(HEAD + textwrap.dedent(text))
    lines = ["", *script.read_text().splitlines()]
    calls = {
        name: next(n for n, line in enumerate(lines) if name in line) for name in ("draw(model)", "barrier", "= model(")
    }
    project = read_scripts([script]).project
    assert project is not None
    path = "/home/user/train.py"
    inside = (Frame("main", path, calls["draw(model)"]), Frame("draw", path, calls["= model("]))
    found = [
        msgspec.structs.replace(position(0, "forward", ("main", 1)), frames=inside),
        msgspec.structs.replace(position(1, "barrier", ("main", 1)), frames=(Frame("main", path, calls["barrier"]),)),
    ]
    assert [o.values["test"] for o in observe(part(found, 2), project)] == ["still.any()"]


def test_a_script_of_another_version_says_nothing(tmp_path: Path) -> None:
    """Where a quoted line is not what the script has there, no statement is looked for."""
    _, one, other, text = CASES["a clock"]
    assert not observed(text, tmp_path, one, other, quoted="dist.all_gather(parts, part)")


def test_a_stack_without_lines_of_code_gets_them_from_the_scripts(tmp_path: Path) -> None:
    """A dump names lines only; what stands there in the script says what the rank waits for."""
    script = tmp_path / "train.py"
    script.write_text("import fcntl\n\n\ndef save_all(file):\n    fcntl.flock(file, fcntl.LOCK_EX)\n")
    assert "frame.lock" not in seen_in_stack("idle", "save_all", 5, tmp_path, None)
    assert "frame.lock" in seen_in_stack("idle", "save_all", 5, tmp_path, script)


def seen_in_stack(state: str, function: str, line: int, folder: Path, script: Path | None) -> set[str]:
    """Return what is seen in the frames of a process of which py-spy dumped one function."""
    dump = folder / "rank1.txt"
    dump.write_text(
        f'Process 7: python train.py\nPython v3.11.7\n\nThread 7 ({state}): "MainThread"\n'
        f"    {function} (train.py:{line})\n    <module> (train.py:9)\n"
    )
    standing = read_stacks([dump]).standing
    if script is not None:
        project = read_scripts([script]).project
        assert project is not None
        standing = with_sources(project, standing)
    places = positions(Run(), build(Run(), [], {}), standing)
    return {one.id for one in frames(Run(), places, signatures())}


@pytest.mark.parametrize(
    ("state", "line", "found"),
    [
        ("idle", 5, {"frame.asleep-in-print"}),
        ("active+gil", 5, set()),
        ("idle", 6, set()),
        ("idle", 7, {"frame.asleep-at-own-lock"}),
    ],
    ids=["asleep in print", "computes", "waits for a collective", "asleep at a lock"],
)
def test_a_rank_that_sleeps_in_a_call_without_frames_is_told_by_its_line(
    state: str, line: int, found: set[str], tmp_path: Path
) -> None:
    """py-spy says whether a thread sleeps; without a frame below it, it does so in the call of that line."""
    script = tmp_path / "train.py"
    script.write_text(
        "import json\n\n\ndef debug(row):\n    print(json.dumps(row))\n    row.wait()\n    with LOCK:\n        pass\n"
    )
    seen = seen_in_stack(state, "debug", line, tmp_path, script)
    assert {name for name in seen if name.startswith("frame.asleep")} == found
