"""Lines, files and positions of small runs, which the tests of the model of the run share."""

from __future__ import annotations

import functools
import io
from pathlib import Path
from typing import TYPE_CHECKING

import built_in
from hypothesis import strategies as st

from distkb.evidence.inventory import LogFile
from distkb.evidence.observation import Quote
from distkb.evidence.readers.stacks.model import Frame
from distkb.evidence.readers.stacks.place import StackPosition
from distkb.evidence.run.derive import Derived, derive
from distkb.evidence.run.ends import before_endings
from distkb.evidence.run.lines import Line
from distkb.evidence.run.positions import CALLS, WAITS, Position, Stage
from distkb.evidence.run.processes import Process, Run, assemble
from distkb.evidence.run.sayings import Talk, talks
from distkb.evidence.scanner.scan import FileScan, Scanner
from distkb.evidence.text.lines import head

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from distkb.catalogue.model import Signature
    from distkb.evidence.observation import Observation

WORDS = st.lists(
    st.sampled_from(["loss", "step 3", "epoch", "done", "0.25", "saved", "rank 1", "[2/4]", "1e-3", "무게", "§", "#"]),
    max_size=6,
).map(" ".join)
"""Lines as programs print them, more or less."""
TEXTS = st.one_of(WORDS, st.text(max_size=80).filter(lambda text: "\n" not in text))


@functools.cache
def signatures() -> tuple[Signature, ...]:
    """The catalogue's signatures."""
    return tuple(built_in.catalogue().signatures)


@functools.cache
def _scanner() -> Scanner:
    return Scanner(signatures())


def scan(
    text: str, name: str = "console.log", rank: int | None = None, *, local: bool = False, attempt: int | None = None
) -> FileScan:
    """One file, read by the real scanner; a local rank is of the node that the file's folder names."""
    group = name.rpartition("/")[0]
    file = LogFile(path=Path(name), name=name, rank=rank, local=local, group=group, attempt=attempt)
    return _scanner().scan(file, io.BytesIO(text.encode()))


def assembled(*texts: str) -> Run:
    """The run that consoles of these texts show."""
    return assemble([scan(text, f"{index}.log") for index, text in enumerate(texts)])


def derived(*scans: FileScan, hanging: bool = False) -> Derived:
    """All that the model of the run concludes from some files."""
    return derive(before_endings(scans, signatures()), [], signatures(), hanging=hanging)


def observed(*scans: FileScan, hanging: bool = False) -> dict[str, Observation]:
    """What the model of the run observes in some files, by id."""
    return {one.id: one for one in derived(*scans, hanging=hanging).observations}


def lines(*texts: str, path: str = "a.log") -> list[Line]:
    """Lines of a file as the model of the run keeps them."""
    return [Line(text, path, number, head(text).stamp) for number, text in enumerate(texts, 1)]


def spoken(said: Mapping[int, Sequence[str]]) -> tuple[Talk, ...]:
    """What ranks said of their work."""
    processes = [Process(key=f"rank {rank}", rank=rank) for rank in said]
    return talks(processes, {f"rank {rank}": lines(*texts, path=f"{rank}.log") for rank, texts in said.items()})


def position(rank: int, stage: Stage, *places: tuple[str, int], waits: bool | None = None) -> Position:
    """One rank's place: functions and lines of one file, outermost first."""
    frames = tuple(Frame(function, "/home/user/train.py", line) for function, line in places)
    return Position(
        rank=rank,
        who=f"rank {rank}",
        how="traceback",
        stage=stage,
        place=StackPosition(
            kind="barrier" if stage == "barrier" else "collective" if stage in CALLS else "user", op=stage
        ),
        frames=frames,
        calls=frames,
        waits=stage in WAITS if waits is None else waits,
        quote=Quote(text=str(places), path=f"{rank}.log", line=1, rank=rank),
    )
