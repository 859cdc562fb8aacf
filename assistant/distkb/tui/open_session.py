"""The session that is open, and what everyone is told when it changes."""

from __future__ import annotations

from collections import deque
from threading import Lock
from typing import TYPE_CHECKING

from textual.message import Message

from distkb.tui import saved

if TYPE_CHECKING:
    from distkb.catalogue.model import Cause
    from distkb.diagnosis.session import Event, Session
    from distkb.diagnosis.view import SessionView
    from distkb.locale import Say
    from distkb.tui.knowledge import ScreenKnowledge


class SessionChanged(Message):
    """The session has one event more; sent to every open screen."""

    def __init__(self, view: SessionView) -> None:
        super().__init__()
        self.view = view


class OpenSession:
    """Holds the open session and its latest view.

    Saving waits for the disk, and a view takes longer than a frame: both happen in another thread, in `look`. Nothing
    is shown that is not saved.
    """

    def __init__(self, knowledge: ScreenKnowledge, session: Session) -> None:
        self.knowledge = knowledge
        self._one_at_a_time = Lock()
        self._unsaved: deque[tuple[Session, Event]] = deque()
        self._seen: Session | None = None
        self.session = session
        self.view: SessionView | None = None

    @property
    def busy(self) -> bool:
        """Whether the view is older than the session."""
        return self._seen is not self.session

    def add(self, event: Event) -> None:
        """Add an event; `look` saves it."""
        self._unsaved.append((self.session, event))
        self.session = self.session.apply(event)

    def save(self) -> None:
        """Save what is not saved yet; raises UnsavedError, and tries again the next time."""
        with self._one_at_a_time:
            while self._unsaved:
                saved.append(*self._unsaved[0])
                self._unsaved.popleft()

    def look(self, session: Session) -> SessionView | None:
        """Return the view of a session; None where it is no longer the one that is open. For any thread."""
        from distkb.diagnosis.view import view

        with self._one_at_a_time:
            return view(session, self.knowledge.guide) if session is self.session else None

    def remedy(self, cause: Cause, say: Say) -> str:
        """Return the edit that a finding in the user's own files asks for; empty where that is of no such cause."""
        answer = self.view.diagnosis if self.view is not None else None
        if answer is None or answer.remedy is None or answer.causes[0].cause.id != cause.id:
            return ""
        return self.knowledge.meanings.remedy(answer.remedy, say)

    def show(self, session: Session, view: SessionView) -> bool:
        """Take a view that was computed; whether it is of the session as it is now."""
        if session is not self.session:
            return False
        self.view, self._seen = view, session
        return True
