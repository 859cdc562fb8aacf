"""Saved sessions as the screens use them; nothing is imported before somebody needs one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from distkb.diagnosis.session import Event, Session
    from distkb.locale import Say
    from distkb.sessions.store import Saved as SavedSession

__all__ = ["LATEST", "SavedSession", "UnsavedError", "append", "begin", "delete", "load", "recent"]

LATEST = "latest"
"""Stands for the session that was worked on last."""


class UnsavedError(Exception):
    """A session could not be loaded or saved."""

    def __init__(self, code: str, session: str, detail: str) -> None:
        super().__init__(code)
        self.code = code
        self.session = session
        self.detail = detail

    def sentence(self, say: Say) -> str:
        """Return what went wrong, for the person."""
        if self.code == "missing" and self.session == LATEST:
            return say("tui.no-session-at-all")
        if self.code in ("missing", "bad-name"):
            return say("tui.no-session", id=self.session)
        if self.code == "unwritable":
            return say("tui.not-saved", reason=self.detail)
        return say("tui.session-unreadable", id=self.session, reason=self.detail or self.code)


def recent(limit: int) -> Sequence[SavedSession]:
    """Return the sessions that were worked on last, the latest first; none where they cannot be listed."""
    from distkb.sessions import store

    try:
        return store.list_sessions()[:limit]
    except OSError:
        return []


def load(identity: str) -> Session:
    """Return a saved session, or the latest; raises UnsavedError."""
    from distkb.sessions import store

    try:
        return store.latest() if identity == LATEST else store.load(identity)
    except store.SessionError as problem:
        raise UnsavedError(problem.code, problem.session, problem.detail) from problem


def begin(title: str) -> tuple[Session, UnsavedError | None]:
    """Begin a session; where it cannot be saved it begins all the same, with what went wrong."""
    from distkb.diagnosis.session import Session
    from distkb.sessions import store

    try:
        return store.new(title), None
    except store.SessionError as problem:
        unsaved = UnsavedError(problem.code, problem.session, problem.detail)
        return Session(id=problem.session, title=title), unsaved


def append(before: Session, event: Event) -> None:
    """Save one event more; raises UnsavedError."""
    from distkb.sessions import store

    try:
        store.append(before, event)
    except store.SessionError as problem:
        raise UnsavedError(problem.code, problem.session, problem.detail) from problem


def delete(identity: str) -> None:
    """Remove a session; raises UnsavedError."""
    from distkb.sessions import store

    try:
        store.delete(identity)
    except store.SessionError as problem:
        raise UnsavedError(problem.code, problem.session, problem.detail) from problem
