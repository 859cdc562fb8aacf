"""Incidents, drawings, families and the index by symptom: whole in both languages, readable, light and safe."""

from __future__ import annotations

import html
import re
from typing import Any

import msgspec
import pytest
from pages import Read
from shelf import library

from distkb.catalogue.incident import Incident, Moment, Variant
from distkb.catalogue.model import Diagram, Doing, Lane
from distkb.catalogue.records import Text
from distkb.docsite import diagrams
from distkb.docsite.build import rendered
from distkb.docsite.text import Writer
from distkb.docsite.views import Library
from distkb.locale import LANGUAGES, Say
from distkb.report.meaning import Meanings

pytest_plugins = ("built_site",)

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)> `<b>`"


@pytest.mark.slow
def test_every_incident_is_told(page_files: dict[str, bytes]) -> None:
    """An incident's page has every moment and every hypothesis of it in words, and the home page links to it."""
    assert [found.incident.id for found in library().incidents] == ["I1", "I2"]
    for lang in LANGUAGES:
        home = page_files[f"{lang}/index.html"].decode()
        for found in library().incidents:
            page = page_files[f"{lang}/incidents/{found.incident.id}.html"].decode()
            words = re.sub(r"<[^>]+>", "", html.unescape(page))
            parts: tuple[Incident | Variant, ...] = (found.incident, *found.incident.variants)
            for moment in (moment for part in parts for moment in part.timeline):
                assert Say(lang).text(moment.what).replace("`", "") in words
            for hypothesis in (one for part in parts for one in part.hypotheses):
                assert f">{hypothesis.cause}</a>" in page
            assert f"incidents/{found.incident.id}.html" in home


def test_drawings_speak(page_files: dict[str, bytes]) -> None:
    """Every drawing has a title and a description that it names, and colours only by class."""
    drawn = 0
    for path, content in page_files.items():
        for drawing in re.findall(r"<svg class=\"drawing\".*?</svg>", content.decode(), re.DOTALL):
            drawn += 1
            named = re.search(r'aria-labelledby="(\S+) (\S+)"', drawing)
            assert named is not None, path
            assert f'<title id="{named[1]}">' in drawing, path
            assert len(re.findall(rf'<desc id="{named[2]}">[^<]{{20,}}</desc>', drawing)) == 1, path
            assert not re.search(r"(?:fill|stroke|style)=", drawing), path
    assert drawn >= 2 * (12 + 4 + 1)


def test_the_rank_that_differs_is_marked_by_shape_and_word() -> None:
    """Its events are diamonds under a word that says so, those of the others circles, those of all ranks bars."""
    moments = [Moment(t=1.0, rank=rank, what=Text(en="x", ko="x")) for rank in (0, 1, None)]
    drawing = diagrams.timeline("t", moments, 2, 1, "title", Say("en"))
    assert drawing.count("<circle") == drawing.count('class="event differs"') == drawing.count("<rect") == 1
    assert re.search(r'<path d="M276 \d+l16 16l-16 16l-16 -16z" class="event differs"/>', drawing)
    assert drawing.count(">differs</text>") == 1
    assert "The rank that differs is rank 1." in drawing


def test_many_entries_are_drawn() -> None:
    """At least forty entries show how ranks part: somebody waits, misses or is gone, or they do different things."""
    drawn = [entry for entry in library().entries if entry.diagram is not None and entry.diagram.kind == "waits"]
    assert len(drawn) >= 40
    for entry in drawn:
        assert entry.diagram is not None
        states = {doing.state for lane in entry.diagram.lanes for doing in lane.does}
        assert len(entry.diagram.lanes) >= 2
        done = {tuple(doing.what.en for doing in lane.does) for lane in entry.diagram.lanes}
        assert len(done) > 1 or states - {"runs"}, entry.id


@pytest.mark.parametrize("lang", LANGUAGES)
def test_words_stay_inside_their_boxes(lang: Any) -> None:
    """No line of a drawing is wider than the box that it stands in."""
    say = Say(lang)
    for entry in library().entries:
        for lane in entry.diagram.lanes if entry.diagram else ():
            for doing in lane.does:
                lines = diagrams.wrapped(say.text(doing.what), 19.5)
                assert all(diagrams._wide(line) <= 19.5 for line in lines), (entry.id, lines)


def test_long_words_keep_their_code() -> None:
    """A break inside code closes it on one line and opens it again on the next; nothing of the text is lost."""
    assert diagrams.wrapped("`a = first_call(x)` then wait", 14) == ["`a =`", "`first_call(x)`", "then wait"]
    assert diagrams.wrapped("", 10) == []
    assert diagrams.wrapped("onewordthatistoolong", 5) == ["onewordthatistoolong"]


def test_every_entry_stands_in_the_index(page_files: dict[str, bytes]) -> None:
    """The index by symptom has every entry, each with the values that the buttons choose by."""
    page = page_files["en/symptoms.html"].decode()
    for entry in library().entries:
        assert f'href="e/{entry.id}.html"' in page, entry.id
    chosen = dict.fromkeys(re.findall(r'data-facet="(\w+)" data-value="([\w-]+)"', page))
    assert {facet for facet, _ in chosen} >= {"area", "symptom", "backend", "launcher"}
    for facet, value in chosen:
        assert re.search(rf'data-{facet}="(?:[^"]* )?{value}[" ]', page), (facet, value)


def test_a_message_that_names_its_causes_itself_is_listed(page_files: dict[str, bytes]) -> None:
    """Each line of a log that speaks for an entry has a page, whichever of the two says so."""
    pages = [html.unescape(content.decode()) for path, content in page_files.items() if path.startswith("en/m/")]
    known = [s for s in library().catalogue.signatures if s.example and "log" in s.where]
    told = [s for s in known if {"always", "usually"} & s.given.keys()]
    assert told
    assert [s.id for s in told if not any((s.example or "") in page for page in pages)] == []


def test_families_hold_their_entries(page_files: dict[str, bytes]) -> None:
    """Each family has a page with its entries, and one to print that holds every fix of them."""
    for entry in library().entries:
        assert f'href="../e/{entry.id}.html"' in page_files[f"ko/families/{entry.family}.html"].decode()
        printed = page_files[f"ko/families/{entry.family}-print.html"].decode()
        for fix in (fix for cause in entry.causes for fix in cause.fixes):
            assert f">{fix.id}<" in printed


@pytest.mark.slow
def test_hostile_incidents_and_drawings_are_text() -> None:
    """Markup in an incident or in a drawing reaches the page as text."""
    evil = Text(en=HOSTILE, ko=HOSTILE)
    moments = (Moment(t=1.0, rank=0, what=evil), Moment(rank=1, what=evil), Moment(what=evil))
    found = library().incidents[1]
    incident = msgspec.structs.replace(
        found.incident, title=evil, summary=evil, outcome=evil, timeline=moments, differs=1
    )
    drawing = Diagram(says=evil, lanes=(Lane(ranks=evil, does=(Doing(what=evil, state="waits"),)),) * 2)
    entry = msgspec.structs.replace(library().entries[0], diagram=drawing)
    catalogue = msgspec.structs.replace(library().catalogue, entries=(entry,), facts=())
    changed = Library(
        catalogue, (), Meanings(catalogue), incidents=(msgspec.structs.replace(found, incident=incident),)
    )
    for path, content in rendered(changed):
        if path.endswith((f"incidents/{incident.id}.html", f"e/{entry.id}.html")):
            page = Read(path, content.decode())
            assert not any(name.startswith("on") for name in page.attributes), path
            assert b"<img" not in content, path
            assert b"alert(1)</script>" not in content, path
            assert (page.crossed, page.open) == ([], []), path


@pytest.mark.parametrize(
    ("text", "linked"),
    [("그 영향은 D10에 있습니다.", "D10"), ("see D10 for it", "D10"), ("D10.a로 갑니다", "D10"), ("XD10 D1000x", None)],
)
def test_an_id_is_a_link_with_a_particle_behind_it_too(text: str, linked: str | None) -> None:
    """In Korean a particle follows at once; other words that hold an id stay words."""
    shown = Writer({"D10"}, lambda entry: f"{entry}.html").inline(text)
    assert ("<a " in shown) is (linked is not None)
