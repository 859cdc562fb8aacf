"""The diagnosis as text, JSON and Markdown, in both languages, against golden files."""

from __future__ import annotations

import json as stdlib_json
import re
import unicodedata

import msgspec
import pytest
import report_samples as samples
from report_samples import CATALOGUE, HOSTILE, TIMEOUT, assert_golden, diagnosis

from distkb.evidence.observation import Evidence, Quote
from distkb.locale import Language, Say
from distkb.report import json, markdown, text
from distkb.report.layout import width
from distkb.report.meaning import Meanings

VERDICTS = {"named": 0.93, "leading": 0.55, "undecided": 0.36, "unknown": 0.05}
MEANINGS = Meanings(CATALOGUE)


@pytest.mark.parametrize("lang", ["en", "ko"])
@pytest.mark.parametrize("verdict", VERDICTS)
def test_text_is_as_recorded(verdict: str, lang: Language) -> None:
    """Every verdict has its own page, the same in content in both languages."""
    page = text.write(diagnosis(verdict, VERDICTS[verdict]), MEANINGS, Say(lang))
    assert_golden(f"{verdict}.{lang}.txt", page)


@pytest.mark.parametrize("lang", ["en", "ko"])
@pytest.mark.parametrize("verdict", VERDICTS)
def test_markdown_is_as_recorded(verdict: str, lang: Language) -> None:
    """The Markdown holds the verdict, the evidence and the fix."""
    assert_golden(f"{verdict}.{lang}.md", markdown.write(diagnosis(verdict, VERDICTS[verdict]), MEANINGS, Say(lang)))


@pytest.mark.parametrize("verdict", VERDICTS)
def test_json_is_as_recorded(verdict: str) -> None:
    """The JSON carries both languages, so it is the same whatever language is spoken."""
    assert_golden(f"{verdict}.json", json.write(diagnosis(verdict, VERDICTS[verdict]), MEANINGS))


@pytest.mark.parametrize("lang", ["en", "ko"])
@pytest.mark.parametrize("columns", [40, 80, 100])
def test_lines_fit_the_page(columns: int, lang: Language) -> None:
    """No line is wider than asked for, Hangul counted as two; commands and code stay whole."""
    for verdict, probability in VERDICTS.items():
        page = text.write(diagnosis(verdict, probability), MEANINGS, Say(lang), columns=columns)
        for line in page.splitlines():
            assert width(line) <= columns or line.lstrip().startswith("$ ")


def test_the_first_lines_name_the_cause_and_the_fix() -> None:
    """A reader of the first lines knows what it is, what happened and what to do."""
    top = text.write(diagnosis("named"), MEANINGS, Say("en")).splitlines()[:7]
    assert "D21" in top[0]
    assert "93%" in top[0]
    assert any("Call the barrier on every rank" in line for line in top)


def test_confidence_is_worded_by_the_verdict() -> None:
    """Only a named cause is stated as the cause, and an undecided case recommends no fix."""
    pages = {v: text.write(diagnosis(v, p), MEANINGS, Say("en")) for v, p in VERDICTS.items()}
    assert [v for v, page in pages.items() if page.startswith("The cause is")] == ["named"]
    assert "Fix D21" not in pages["undecided"]
    assert "Fix D21" not in pages["unknown"]
    assert all("py-spy dump" in pages[v] for v in ("leading", "undecided", "unknown"))


def test_certainty_is_never_printed() -> None:
    """However sure the figure, no probability reads as 0% or 100%."""
    page = text.write(diagnosis("named", 0.9999), MEANINGS, Say("en"))
    assert ">99%" in page
    assert "<1%" in page
    assert not re.search(r"\b(0|100)%", page)


def test_healthy_logs_and_no_logs_read_differently() -> None:
    """`Nothing wrong` is only said of logs that were read."""
    nothing = msgspec.structs.replace(diagnosis("no-evidence"), causes=(), evidence=Evidence())
    healthy = msgspec.structs.replace(nothing, evidence=Evidence(bytes_read=10))
    assert text.write(healthy, MEANINGS, Say("en")).startswith("Nothing wrong found")
    assert text.write(nothing, MEANINGS, Say("en")).startswith("No evidence")


def test_a_run_without_an_error_gets_what_it_could_be_with_its_first_repair() -> None:
    """Where nothing says that anything failed, the causes that fit are told as a supposition, each with a repair."""
    nothing = diagnosis("no-evidence")
    for page in (text.write(nothing, MEANINGS, Say("en")), markdown.write(nothing, MEANINGS, Say("en"))):
        assert "could be" in page
        assert "If so:" in page


@pytest.mark.parametrize(("coverage", "said"), [(0.0, "If its run ends in an error"), (0.5, "If it is slow")])
def test_of_a_run_without_output_no_end_is_ruled_out(coverage: float, said: str) -> None:
    """Where only code was read its run may end in any way; beside output that ends well it is slow or wrong at most."""
    nothing = diagnosis("no-evidence")
    evidence = msgspec.structs.replace(nothing.evidence, log_coverage=coverage, bytes_read=10)
    page = text.write(msgspec.structs.replace(nothing, evidence=evidence), MEANINGS, Say("en"))
    assert said in " ".join(page.split())


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_log_text_is_never_interpreted(lang: Language) -> None:
    """No writer lets an escape sequence, a control character or a reordering mark of a log through."""
    quote = Quote(text=HOSTILE, path=f"logs/{HOSTILE}.log", line=1, rank=0)
    hostile = diagnosis("named", observation=msgspec.structs.replace(TIMEOUT, quotes=(quote,)))
    evidence = msgspec.structs.replace(hostile.evidence, notes=(quote, quote))
    hostile = msgspec.structs.replace(hostile, evidence=evidence)
    say = Say(lang)
    for page in (
        text.write(hostile, MEANINGS, say),
        markdown.write(hostile, MEANINGS, say),
        json.write(hostile, MEANINGS),
    ):
        forbidden = {c for c in page if unicodedata.category(c) in {"Cc", "Cf"} and c != "\n"}
        assert not forbidden
        assert "[red]markup[/red]" in page


def test_log_text_cannot_leave_its_code_span_in_markdown() -> None:
    """Backticks and HTML in a quote stay inside inline code."""
    quote = Quote(text="a `b` ``c`` <script>", path="x.log", line=3)
    page = markdown.write(
        diagnosis("named", observation=msgspec.structs.replace(TIMEOUT, quotes=(quote,))), MEANINGS, Say("en")
    )
    assert "```a `b` ``c`` <script>```" in page


def test_json_has_the_shape_of_the_contract() -> None:
    """The document has the keys that other programs rely on, and skipped inputs are listed."""
    document = stdlib_json.loads(json.write(diagnosis("leading", 0.5), MEANINGS))
    assert list(document) == [
        "schema", "causes", "other", "decided", "next", "fix", "skipped", "verdict", "headline", "ranks", "runs",
        "endings", "remedy",
    ]  # fmt: skip
    assert document["schema"] == "distkb.diagnosis/1"
    cause = document["causes"][0]
    assert {"entry", "cause", "probability", "title", "evidence"} == set(cause)
    assert {"observation", "weight", "path", "line", "quote"} <= set(cause["evidence"][0])
    assert {"kind", "id", "text", "gain_bits"} == set(document["next"])
    assert {"id", "title", "steps"} <= set(document["fix"])
    assert document["skipped"] == [{"path": "logs/core.1", "reason": "binary"}]


def test_colour_adds_no_words() -> None:
    """The words and marks are the same with and without colour."""
    coloured = text.write(diagnosis("named"), MEANINGS, Say("en"), ink=lambda line, _: f"\x1b[1m{line}\x1b[0m")
    assert re.sub(r"\x1b\[\d+m", "", coloured) == text.write(diagnosis("named"), MEANINGS, Say("en"))


def test_a_workaround_and_changed_results_are_marked() -> None:
    """A fix that hides the cause, or changes what is computed, says so."""
    found = msgspec.structs.replace(diagnosis("named"), fix=samples.WORKAROUND)
    page = text.write(found, MEANINGS, Say("en"))
    assert "[workaround]" in page
    assert "only hides the cause" in page
    assert "declare it" in page


def test_no_document_holds_what_misleads() -> None:
    """Names of files and texts lose control characters and overrides in every JSON document; breaks of lines stay."""
    written = json.encode({"path": "a\u202eb\x1b[31m\x9b1mc\udc80", "fix\x07": ["one\n\ttwo", 1, None]})
    assert msgspec.json.decode(written) == {"path": "abc?", "fix": ["one\n\ttwo", 1, None]}


@pytest.mark.parametrize("lang", ["en", "ko"])
@pytest.mark.parametrize("verdict", ["named", "undecided"])
def test_causes_of_one_entry_that_are_not_told_apart_are_shown_with_their_fixes(verdict: str, lang: Language) -> None:
    """Who reads the first cause's fix sees that another cause of the same entry is nearly as likely, and its fix."""
    alone = diagnosis(verdict)
    first, *others = alone.causes
    title = samples.text("Another branch", "다른 분기")
    fix = msgspec.structs.replace(first.cause.fixes[0], id="D21.x.1", title=samples.text("Do so", "그렇게 합니다"))
    cause = msgspec.structs.replace(first.cause, id="D21.x", title=title, fixes=(fix,))
    near = msgspec.structs.replace(first, cause=cause, probability=first.probability / 2)
    far = msgspec.structs.replace(near, probability=first.probability / 5)
    for sibling, shown in ((near, True), (far, False)):
        answer = msgspec.structs.replace(alone, causes=(first, sibling, *others))
        assert (Say(lang).text(fix.title) in text.write(answer, MEANINGS, Say(lang))) is shown
        assert (Say(lang).text(fix.title) in markdown.write(answer, MEANINGS, Say(lang))) is shown
