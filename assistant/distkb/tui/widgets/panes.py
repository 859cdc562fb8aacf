"""The parts of a session: beside or below one another, and on a low terminal the focused one takes the room."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.containers import Horizontal

if TYPE_CHECKING:
    from textual.events import DescendantFocus

    from distkb.tui.app import DistkbApp

WIDE = 110
"""Columns from which the causes stand beside the question."""
TIGHT = 22
"""Lines of a terminal below which the question may take the room of what is known, so that all its keys show."""
_PARTS = ("session-move", "session-trail", "session-causes")


class Panes(Horizontal):
    """Holds the question, what is known and the causes; the style sheet places them by the classes set here."""

    app: DistkbApp

    def share(self) -> None:
        """Place the parts as the size of the terminal allows, a wide one shared as it was left."""
        wide = self.app.size.width >= WIDE
        self.set_class(wide, "wide")
        self.set_class(self.app.size.height < TIGHT, "tight")
        self.query_one("#session-right").styles.width = f"{self.app.causes_width}%" if wide else None

    def on_resize(self) -> None:
        """Use the new size."""
        self.share()

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        """Give the room to the part that is used."""
        inside = {node.id for node in event.widget.ancestors_with_self}
        for part in _PARTS:
            self.set_class(part in inside, f"at-{part.removeprefix('session-')}")
