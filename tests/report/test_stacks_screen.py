"""The screen of `distkb probe stacks` fits 80 columns in both languages, and every sentence is filled."""

from __future__ import annotations

import re

import built_in
import pytest

from distkb.evidence.readers.stacks.judge import judge
from distkb.evidence.readers.stacks.model import Dump, Frame, Thread
from distkb.locale import LANGUAGES, Language, Say
from distkb.probing.document import RawDocument
from distkb.probing.judge import answer
from distkb.report import probe as writer
from distkb.report import stacks
from distkb.report.layout import width

FINDINGS = built_in.catalogue().findings
SITE = "/venv/lib/python3.11/site-packages/torch/"
DEEP = "/home/someone/a/very/long/way/to/the/project/that/trains/models/src/package/utils.py"
PLACES: dict[str, tuple[tuple[str, str], ...]] = {
    "collective": (("all_reduce", SITE + "distributed/distributed_c10d.py"), ("train", "/job/train.py")),
    "barrier": (("barrier", SITE + "distributed/distributed_c10d.py"), ("train", "/job/train.py")),
    "init": (("init_process_group", SITE + "distributed/distributed_c10d.py"), ("main", "/job/train.py")),
    "save": (("save_checkpoint_of_the_whole_model_and_the_optimizer", DEEP), ("train", "/job/train.py")),
    "loader": (("_next_data", SITE + "utils/data/dataloader.py"), ("train", "/job/train.py")),
    "io": (("recv_into", "/usr/lib/python3.11/socket.py"), ("fetch", "/job/data.py")),
    "compile": (("wait", SITE + "utils/file_baton.py"), ("build", "/job/ops.py")),
    "debugger": (("interaction", "/usr/lib/python3.11/pdb.py"), ("train", "/job/train.py")),
    "finished": (("_shutdown", "/usr/lib/python3.11/threading.py"),),
    "nothing": (),
}


def dump(rank: int | None, place: str, state: str = "S", line: int = 142) -> Dump:
    """Return a dump of a rank in a place."""
    frames = tuple(Frame(function, path, line, "x = f(x) \x1b[31m") for function, path in PLACES[place])
    snapshot = (Thread(name="MainThread", main=True, frames=frames),)
    return Dump(path="d", rank=rank, pid=4242, host=f"n{rank}", world_size=16, state=state, snapshots=(snapshot,) * 2)


def screens(dumps: list[Dump], lang: Language) -> str:
    """Return the whole screen for some dumps."""
    judged = judge(dumps)
    raw = RawDocument(schema="distkb.probe-raw/1", probe="stacks", status="ok")
    found = answer(raw, FINDINGS, more=judged.observations)
    say = Say(lang)
    return writer.write(found, say, body=stacks.write(judged.facts, say))


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("main", ["collective", "barrier", "init", "loader", "compile"])
def test_every_pair_of_places_is_said_in_full(main: str, lang: Language) -> None:
    """No placeholder is left, no escape comes through, no line but a path's is longer than the screen."""
    for odd in PLACES:
        for known in (True, False):
            dumps = [
                dump(rank if known else None, odd if rank == 3 else main, "T" if rank == 3 else "S")
                for rank in range(5)
            ]
            text = screens(dumps, lang)
            assert "\x1b" not in text
            assert not re.search(r"\{[\w/]+\}", text), text
            assert all(width(line) <= 80 for line in text.splitlines() if "/home/" not in line), text


def test_the_sentence_at_the_top_says_where_all_are() -> None:
    """Those that wait come first, the odd one is named with its line."""
    dumps = [dump(rank, "save" if rank == 3 else "collective") for rank in range(8)]
    text = stacks.write(judge(dumps).facts, Say("en"))
    assert text.startswith("7 ranks are in all_reduce at train.py:142; rank 3 is in\nsave_checkpoint")
    assert text.index("✗ rank 3: saving") < text.index("· rank 0-2, 4-7: in a collective")
