"""What the catalogue's programs left when they ran last, kept beside the tests: a few kilobytes each.

A recording counts for one text of its program and one version of torch, and for no other.
"""

from __future__ import annotations

import hashlib
import io
import tarfile
from importlib import metadata
from pathlib import Path

import msgspec
from recording import anonymous
from reproductions import DONE, KB, read_run

from distkb.catalogue.model import Entry
from distkb.repro.outcome import ProgramRun
from distkb.repro.program import NETWORK, Program, find_program

FOLDER = Path(__file__).with_name("recorded")
KEY = "key"


def key_of(program: Program, torch: str) -> str:
    """Return what changes when the program, the way it is launched, or torch does; not with torch's build."""
    digest = hashlib.sha256(torch.partition("+")[0].encode())
    digest.update(msgspec.msgpack.encode((program.spec.launch, program.spec.nproc, program.spec.nodes)))
    for name in (program.file, NETWORK):
        path = program.directory / name
        digest.update(path.read_bytes() if path.is_file() else b"\0")
    return digest.hexdigest()


def keep(program: Program, run: ProgramRun, python: Path, torch: str) -> Path:
    """Write the run's artifacts to the entry's archive, without this machine's names in them."""
    ended = msgspec.structs.replace(run, artifacts=Path("artifacts"))
    files = {KEY: key_of(program, torch).encode(), DONE: msgspec.json.encode(ended, enc_hook=str)}
    for path in sorted(run.artifacts.rglob("*")):
        if path.is_file():
            name = f"artifacts/{anonymous(path.relative_to(run.artifacts).as_posix(), python)}"
            data = path.read_bytes()
            try:
                files[name] = anonymous(data.decode("utf-8"), python).encode()
            except UnicodeDecodeError:
                files[name] = data
    target = FOLDER / f"{program.entry.id}.tar.xz"
    target.parent.mkdir(exist_ok=True)
    with tarfile.open(target, "w:xz") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return target


def restored(entry: Entry, folder: Path) -> ProgramRun | None:
    """Unpack the recording of an entry's program as it is now; None where there is none for it and this torch."""
    program = find_program(entry, [KB])
    path = FOLDER / f"{entry.id}.tar.xz"
    if program is None or not path.is_file():
        return None
    with tarfile.open(path) as archive:
        stored = archive.extractfile(KEY)
        if stored is None or stored.read().decode() != key_of(program, metadata.version("torch")):
            return None
        for member in archive:
            place = folder / member.name
            place.parent.mkdir(parents=True, exist_ok=True)
            data = archive.extractfile(member)
            assert data is not None
            place.write_bytes(data.read())
    return msgspec.structs.replace(read_run(folder), artifacts=folder / "artifacts")
