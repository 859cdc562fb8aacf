"""The trail: what is known, where it stands, and how far it moved the belief."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import msgspec
from textual.binding import BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from distkb.diagnosis.session import Answered, DontKnow, EvidenceAdded, FixTried, ProbeResult, StepDeclined
from distkb.report.citations import Citations
from distkb.report.layout import wrap
from distkb.report.story import message
from distkb.tui.keys import key
from distkb.tui.language import fit, say_of, shown
from distkb.tui.widgets.listing import refill, room

if TYPE_CHECKING:
    from distkb.diagnosis.view import SessionView, TrailItem
    from distkb.evidence.observation import Observation, Quote
    from distkb.locale import Say
    from distkb.tui.knowledge import ScreenKnowledge

TALL = 12
"""Rows from which what was seen is told in full; a list with fewer cuts each to one row."""
_PLACE = 40
"""Columns of a place, of which the end tells most, beside what was printed there."""
_FOLDERS = re.compile(r'^(\s*File ")[^"\n]{0,400}/')
"""Those of a file in a traceback: where a row is short, the file's own name and its line tell more."""
_QUOTES = 2
"""Quotes of one observation that have a row of their own."""


class Fold(msgspec.Struct, frozen=True):
    """A row that stands for what tells least of an event: Enter shows or hides it."""

    number: int


class Trail(OptionList):
    """Every event with what it taught. Enter on a line of evidence shows it where it stands."""

    BINDINGS: ClassVar[list[BindingType]] = [key("enter", "select", "look-closer")]

    class QuoteChosen(Message):
        """A quote was chosen."""

        def __init__(self, quote: Quote) -> None:
            super().__init__()
            self.quote = quote

    class FactChosen(Message):
        """Something that was read from words or lines was chosen: it may be read wrongly."""

        def __init__(self, fact: str) -> None:
            super().__init__()
            self.fact = fact

    class EventChosen(Message):
        """An event was chosen: an answer to change, for example."""

        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

    def __init__(self, knowledge: ScreenKnowledge, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        """Show nothing until `show`."""
        super().__init__(id=id)
        self._knowledge = knowledge
        self._view: SessionView | None = None
        self._targets: list[Quote | int | str | Fold | None] = []
        self._rows: list[Option] = []
        self._open: set[int] = set()
        """Events of which everything is shown."""
        self._citations: Citations | None = None

    def show(self, view: SessionView) -> None:
        """Show the trail of a view, the latest event first."""
        self._view = view
        self._citations = Citations(view.diagnosis.evidence)
        self.speak()

    def speak(self) -> None:
        """Write every row in the language of the app."""
        if self._view is None:
            return
        self._targets, self._rows = [], []
        for item in reversed(self._view.trail):
            if item.state == "counts":
                self._add_item(item)
        nothing = Option(Content(say_of(self)("tui.trail.nothing")), disabled=True)
        refill(self, self._rows or [nothing])

    def on_focus(self) -> None:
        """Begin at the latest event."""
        if self.highlighted is None:
            self.action_first()

    def on_resize(self) -> None:
        """Use the new width."""
        self.speak()

    def _add(self, content: Content, target: Quote | int | str | Fold | None) -> None:
        self._targets.append(target)
        self._rows.append(Option(content))

    def _add_item(self, item: TrailItem) -> None:
        head = self._head(item)
        self._add(Content.styled(fit(head, self._room(0)), "bold"), item.number)
        telling, rest = self._knowledge.meanings.parted(item.observations)
        for observation in telling:
            self._add_observation(observation)
        if rest:
            sign, key = ("▾", "tui.trail.less") if item.number in self._open else ("▸", "tui.trail.more")
            row = Content.styled(f"  {sign} {say_of(self).count(key, len(rest))}", "dim")
            self._add(row, Fold(item.number))
        for observation in rest if item.number in self._open else ():
            self._add_observation(observation)

    def _head(self, item: TrailItem) -> str:
        say, event = say_of(self), item.event
        text = ""
        match event:
            case Answered():
                labels = ", ".join(self._label(event.question, value) for value in event.values)
                text = say(
                    "tui.trail.answered",
                    question=self._question(event.question),
                    answer=labels or say("tui.trail.none"),
                )
            case DontKnow():
                text = say("tui.trail.unknown", question=self._question(event.question))
            case ProbeResult():
                text = say("tui.trail.probed", step=event.step.removeprefix("probe."))
            case StepDeclined():
                text = say("tui.trail.declined", step=self._step(event.step))
            case EvidenceAdded(paths=paths):
                label = say("tui.trail.words") if event.label == "description" else event.label
                label = ", ".join("/".join(Path(path).parts[-2:]) for path in paths) or label
                text = say("tui.trail.read", label=label)
            case FixTried():
                text = say(f"tui.trail.fix.{event.outcome}", fix=self._fix(event.fix))
        return shown(text).plain

    def _question(self, name: str) -> str:
        say = say_of(self)
        fact = next((fact for fact in self._knowledge.catalogue.facts if fact.id == name), None)
        return say("tui.trail.lines") if fact is None else say.text(fact.question)

    def _step(self, name: str) -> str:
        step = self._knowledge.steps.get(name)
        return name if step is None else say_of(self).text(step.text)

    def _fix(self, name: str) -> str:
        found = self._knowledge.guide.fixes.get(name)
        return name if found is None else f"{name} {say_of(self).text(found[2].title)}"

    def _label(self, question: str, value: str) -> str:
        say = say_of(self)
        for fact in self._knowledge.catalogue.facts:
            if fact.id == question:
                return next((say.text(v.label) for v in fact.values if v.value == value), value)
        return self._knowledge.meanings.sentence(value, say)

    def _add_observation(self, observation: Observation) -> None:
        if observation.source == "answer" or ("=" in observation.id and not observation.quotes):
            return  # the event's own row says it
        say, known = say_of(self), self._knowledge
        first: Quote | str | None = observation.quotes[0] if observation.quotes else None
        if "=" in observation.id:
            first = observation.id.partition("=")[0]
            meaning = say("tui.trail.derived", meaning=known.meanings.sentence(observation.id, say))
        else:
            meaning = known.meanings.seen(observation, say)
        if self.size.height >= TALL:
            lines = wrap(shown(meaning).plain, self._room(0), "  ", "  ")
        else:
            lines = [f"  {fit(meaning, self._room(2))}"]
        self._add(Content("\n").join(Content(line) for line in lines), first)
        for quote in observation.quotes[:_QUOTES]:
            line = fit(quoted(quote, self._citations, say), self._room(4))
            self._add(Content.assemble("    ", (line, "dim")), quote)

    def _room(self, used: int) -> int:
        return max(10, room(self) - used)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Tell what was chosen."""
        event.stop()
        target = self._targets[event.option_index] if event.option_index < len(self._targets) else None
        if isinstance(target, Fold):
            self._open ^= {target.number}
            self.speak()
        elif isinstance(target, int):
            self.post_message(self.EventChosen(target))
        elif isinstance(target, str):
            self.post_message(self.FactChosen(target))
        elif target is not None:
            self.post_message(self.QuoteChosen(target))


def quoted(quote: Quote, citations: Citations | None, say: Say) -> str:
    """Return where a line stands, so that files of one name are told apart, and the line from its telling part on."""
    place = "" if citations is None else citations.place(quote)
    place = place if len(place) <= _PLACE else f"…{place[1 - _PLACE :]}"
    rank = "" if quote.rank is None else say("probe.rank", rank=quote.rank)
    words = _FOLDERS.sub(r"\1", message(quote))
    return f"{' '.join(filter(None, (place, rank)))} | {words}".lstrip()
