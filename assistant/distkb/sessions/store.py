"""Sessions in the state directory: one journal each, of which a crash loses at most the event being written.

A journal is a JSON Lines file: a header, then one line for every event, in order. An event is appended and synced
before it counts as saved; a line that a crash cut short is dropped when the session is loaded.
"""

from __future__ import annotations

import contextlib
import datetime
import os
import re
import secrets
import sys
from pathlib import Path
from typing import Final, Literal

import msgspec

import distkb
from distkb.catalogue import places
from distkb.diagnosis.session import Event, Session
from distkb.evidence.border import fit
from distkb.evidence.text.clean import mask, plain

SCHEMA: Final = "distkb.session/1"
TITLE_WIDTH: Final = 120

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_SUFFIX: Final = ".jsonl"

Code = Literal["missing", "bad-name", "unreadable", "broken", "other-version", "unwritable"]


class SessionError(Exception):
    """A session that cannot be loaded or saved; `code` is the key `session.error.<code>` of its sentence."""

    def __init__(self, code: Code, session: str, detail: str = "") -> None:
        super().__init__(f"{session}: {code} {detail}".strip())
        self.code: Code = code
        self.session = session
        self.detail = detail


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """The first line of a journal."""

    schema: str
    id: str
    started: str
    title: str
    version: str
    """Version of distkb that began it."""


class Saved(msgspec.Struct, frozen=True, kw_only=True):
    """A session as the list shows it."""

    id: str
    started: str
    title: str
    changed: float
    """When it was last written, in seconds since the epoch."""
    size: int
    """Bytes on disk."""


_HEADER = msgspec.json.Decoder(Header)
_EVENT = msgspec.json.Decoder(Event)


def state_directory() -> Path:
    """Return the directory of the sessions. It need not exist."""
    return places.state_directory() / "sessions"


def new(title: str = "", directory: Path | None = None) -> Session:
    """Begin a session and save it; `SessionError` where that is not possible."""
    now = datetime.datetime.now(datetime.timezone.utc).astimezone()
    name = f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"
    session = Session(id=name, started=now.isoformat(timespec="seconds"), title=_title(title))
    save(session, directory)
    return session


def _title(title: str) -> str:
    return mask(plain(title)).strip()[:TITLE_WIDTH]


def save(session: Session, directory: Path | None = None) -> Path:
    """Write a whole session in place of what was saved of it; the old file stays until the new one is complete."""
    path = _path(session.id, directory)
    header = Header(
        schema=SCHEMA, id=session.id, started=session.started, title=_title(session.title), version=distkb.__version__
    )
    lines = [msgspec.json.encode(header), *(_encoded(event) for event in session.events)]
    beside = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(3)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        _write(beside, b"".join(line + b"\n" for line in lines), os.O_EXCL)
        beside.replace(path)
        _sync_directory(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise SessionError("unwritable", session.id, error.strerror or "") from error
    return path


def append(session: Session, event: Event, directory: Path | None = None) -> Session:
    """Add an event to a saved session and return the session with it.

    `SessionError` where it cannot be written; the session as it was is then still saved.
    """
    path = _path(session.id, directory)
    after = session.apply(event)
    try:
        if _ends_with_a_line(path):
            _write(path, _encoded(event) + b"\n", os.O_APPEND)
            return after
    except FileNotFoundError:
        pass
    except OSError as error:
        raise SessionError("unwritable", session.id, error.strerror or "") from error
    save(after, directory)  # nothing there yet, or a crash left half a line
    return after


def load(name: str, directory: Path | None = None) -> Session:
    """Return a saved session; `SessionError` where there is none, or it is not one."""
    path = _path(name, directory)
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise SessionError("missing", name) from error
    except OSError as error:
        raise SessionError("unreadable", name, error.strerror or "") from error
    whole, _, _ = data.rpartition(b"\n")
    lines = whole.split(b"\n")
    header = _header(lines[0], name)
    try:
        events = tuple(_decoded(line) for line in lines[1:])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        code: Code = "broken" if header.version == distkb.__version__ else "other-version"
        raise SessionError(code, name, str(error)) from error
    return Session(id=header.id, started=plain(header.started), title=_title(header.title), events=events)


def latest(directory: Path | None = None) -> Session:
    """Return the session that was worked on last; `SessionError` where there is none."""
    saved = list_sessions(directory)
    if not saved:
        raise SessionError("missing", "latest")
    return load(saved[0].id, directory)


def list_sessions(directory: Path | None = None) -> list[Saved]:
    """Return all saved sessions, the one worked on last first; what is no session is left out."""
    found: list[Saved] = []
    for path in (directory or state_directory()).glob(f"*{_SUFFIX}"):
        try:
            with path.open("rb") as file:
                header = _header(file.readline(1 << 16).rstrip(b"\n"), path.stem)
            stat = path.stat()
        except (OSError, SessionError):
            continue
        title, started = _title(header.title), plain(header.started)
        found.append(Saved(id=header.id, started=started, title=title, changed=stat.st_mtime, size=stat.st_size))
    return sorted(found, key=lambda saved: (-saved.changed, saved.id))


def delete(name: str, directory: Path | None = None) -> None:
    """Remove a session; nothing where there is none."""
    try:
        _path(name, directory).unlink(missing_ok=True)
    except OSError as error:
        raise SessionError("unwritable", name, error.strerror or "") from error


def _path(name: str, directory: Path | None) -> Path:
    if not _NAME.fullmatch(name):
        raise SessionError("bad-name", plain(name)[:TITLE_WIDTH])
    return (directory or state_directory()) / f"{name}{_SUFFIX}"


def _header(line: bytes, name: str) -> Header:
    try:
        header = _HEADER.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SessionError("broken", name, str(error)) from error
    if header.schema != SCHEMA:
        raise SessionError("other-version", name, plain(header.schema)[:TITLE_WIDTH])
    if header.id != name:
        raise SessionError("broken", name, plain(header.id)[:TITLE_WIDTH])
    return header


def _encoded(event: Event) -> bytes:
    """Return an event as JSON without secrets; what no encoding knows, such as bytes in a file's name, is a mark."""
    return msgspec.json.encode(fit(msgspec.to_builtins(event)))


def _decoded(line: bytes) -> Event:
    """Return an event of a journal, which somebody else may have written, as it may be shown."""
    event: Event = msgspec.convert(fit(msgspec.to_builtins(_EVENT.decode(line))), Event)
    return event


def _ends_with_a_line(path: Path) -> bool:
    with path.open("rb") as file:
        if file.seek(0, os.SEEK_END) == 0:
            return False
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"


def _write(path: Path, data: bytes, how: int) -> None:
    """Write all of `data` and wait until it is on the disk. Only the owner may read it: logs hold private things."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | how, 0o600)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(handle, view) :]
        os.fsync(handle)
    finally:
        os.close(handle)


def _sync_directory(directory: Path) -> None:
    """Make the renaming last through a power failure, where the system can."""
    if sys.platform == "win32":
        return
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
