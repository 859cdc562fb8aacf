"""From the last lines of ranks to the statements that printed them, and to the condition between those."""

from __future__ import annotations

import tempfile
import textwrap
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_samples import lines, position

from distkb.evidence.code.observe import observe
from distkb.evidence.code.prints import Prints
from distkb.evidence.readers.scripts import read_scripts
from distkb.evidence.readers.scripts.project import Project
from distkb.evidence.readers.scripts.source import Script, load_script
from distkb.evidence.run.parting import part

SCRIPT = """
import logging
import json
from torch.utils.data import IterableDataset

log = logging.getLogger(__name__)


class Shards(IterableDataset):
    def __init__(self, rank):
        self.rank = rank

    def __iter__(self):
        for _ in range(40 - self.rank):
            yield _


def train(rank, model):
    for step, x in enumerate(Shards(rank)):
        loss = model(x)
        loss.backward()
        log.info("rank %d step %d loss %.3f", rank, step, loss)
    print(f"epoch finished after {step} steps")
    print(json.dumps({"kind": "summary", "steps": step}))
    print("saved {} to {}".format(model, rank))
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The script as a project of one file."""
    file = tmp_path_factory.mktemp("prints") / "train.py"
    file.write_text(textwrap.dedent(SCRIPT))
    found = read_scripts([file]).project
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("line", "source"),
    [
        ("2026-11-20 10:00:00 INFO rank 1 step 12 loss 0.332", "log.info("),
        ("epoch finished after 12 steps", "print(f"),
        ('{"kind": "summary", "steps": 12}', "print(json"),
        ("saved Net() to 3", 'print("saved'),
        ("steps after epoch finished", ""),
        ("something else", ""),
        ("", ""),
    ],
)
def test_a_line_leads_to_the_statement_that_printed_it(project: Project, line: str, source: str) -> None:
    """By its own words, in their order; a line that none of the statements prints leads nowhere."""
    spots = Prints(project).spots(line)
    script = project.scripts[0]
    assert bool(spots) == bool(source)
    if spots:
        assert script.lines[spots[-1].line - 1].strip().startswith(source)


def test_last_lines_inside_and_behind_a_loop_name_what_its_length_depends_on(project: Project) -> None:
    """Where no rank left a stack, what they printed last shows which of them left the loop."""
    inside, behind = lines("rank 0 step 12 loss 0.3", "epoch finished after 12 steps")
    (found,) = observe(None, project, [(0, inside), (1, behind)])
    assert found.id == "code.parted-by-part"
    assert found.certainty < 1
    assert found.quotes[0].text == "for step, x in enumerate(Shards(rank)):"


WRITES = """
import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard


def write(model, prompt):
    ids = prompt
    for _ in range(64):
        word = torch.multinomial(model(ids), 1)
        ids = torch.cat([ids, word])
        if word.item() == 0:
            break
    return ids


def main(model, prompts):
    rank = dist.get_rank()
    fully_shard(model)
    print(f"rank {rank} epoch done")
    for text in [write(model, prompt) for prompt in prompts[rank :: dist.get_world_size()]]:
        print(f"rank {rank} wrote {text}")
    dist.all_reduce(torch.ones(1))
"""


def test_a_loop_that_only_prints_what_a_call_made_parts_nobody_by_its_length(tmp_path: Path) -> None:
    """The rank that printed nothing of it is still in the call: what ends the loops in there is what parts them."""
    file = tmp_path / "train.py"
    file.write_text(WRITES)
    project = read_scripts([file]).project
    assert project is not None
    before, inside = lines("rank 0 epoch done", "rank 1 wrote tensor([3, 0])")
    (found,) = observe(None, project, [(0, before), (1, inside)])
    assert found.values["test"] == "word.item() == 0"
    assert found.id == "code.parted-by-chance"


@given(st.lists(st.text(max_size=60), max_size=4), st.text(max_size=200))
def test_any_text_is_looked_for_in_any_statement(words: list[str], line: str) -> None:
    """Whatever a program prints, and whatever a log holds, is no error."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "t.py")
        file.write_text("".join(f"print({word!r} % x, f{word!r})\n" for word in words if "{" not in word) or "x = 1\n")
        script = load_script(file)
    if isinstance(script, Script):
        Prints(Project([script])).spots(line)


BUDGET = """
import time
import torch.distributed as dist


class Budget:
    def __init__(self, limit, say):
        self.limit, self.say, self.begin = limit, say, time.monotonic()

    def step(self, control, step):
        if time.monotonic() - self.begin > self.limit:
            self.say(f"step {step}: the time is used up, that is all")
            control.stop = True


def main(trainer):
    trainer.train()
"""


def test_last_words_tell_what_sent_a_rank_away_where_the_places_do_not(tmp_path: Path) -> None:
    """Both ranks stand in one call of a library; the line of one of them stands below the test that parted them."""
    script = tmp_path / "train.py"
    script.write_text(BUDGET)
    budget = read_scripts([script]).project
    assert budget is not None
    places = [position(0, "backward", ("main", 17)), position(1, "own-call", ("main", 17))]
    said = list(enumerate(lines("loss 0.5", "step 51: the time is used up, that is all")))
    assert [one.id for one in observe(part(places, 2), budget, said)] == ["code.parted-by-clock"]
    assert observe(part(places, 2), budget, list(enumerate(lines("loss 0.5", "loss 0.4")))) == []
    everyone = list(enumerate(lines(*["step 51: the time is used up, that is all"] * 3)))
    assert observe(part([*places, position(2, "backward", ("main", 17))], 3), budget, everyone) == []


BEST = """
import torch
import torch.distributed as dist


def evaluate(model, loader):
    total = 0.0
    for batch in loader:
        total += model(batch).mean().item()
    return total / len(loader)


class Keeper:
    def __init__(self):
        self.best = float("inf")

    def run(self, rank, loader, model):
        for epoch in range(9):
            value = evaluate(model, loader)
            print(f"rank {rank} epoch {epoch}: {value:.3f}")
            if value < self.best:
                self.best = value
                self.save(model)
            if value > 100:
                print("that is much")

    def save(self, model):
        dist.barrier()
        torch.save(model, "best.pt")
"""


def test_a_test_behind_the_last_line_is_looked_at_where_a_collective_hangs_on_it(tmp_path: Path) -> None:
    """All ranks printed their value last: of the tests that follow, the one with a collective in it parts them."""
    script = tmp_path / "train.py"
    script.write_text(BEST)
    keeper = read_scripts([script]).project
    assert keeper is not None
    stands = part([position(0, "barrier", ("run", 23), ("save", 28))], 2)
    said = list(enumerate(lines("rank 0 epoch 3: 0.512", "rank 1 epoch 3: 0.702")))
    (found,) = observe(stands, keeper, said)
    assert found.id == "code.measure-gates-collective"
    assert found.quotes[0].text == "if value < self.best:"
    harmless = tmp_path / "harmless.py"
    harmless.write_text(BEST.replace("                self.save(model)\n", ""))
    other = read_scripts([harmless]).project
    assert other is not None
    assert "code.measure-gates-collective" not in {one.id for one in observe(None, other, said)}
