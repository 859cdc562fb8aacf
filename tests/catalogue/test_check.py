"""Rules across records: each is broken once in the sound knowledge base."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from catalogue_samples import OBSERVATIONS, QUIET, change, problems, sound

from distkb.catalogue import patterns
from distkb.catalogue.check import check_directories
from distkb.catalogue.checks.code import unparsed
from distkb.catalogue.checks.idle import is_reported
from distkb.catalogue.load import load_located
from distkb.catalogue.places import builtin
from distkb.search.idle import idle_aliases

GLOSSARY = "glossary.yaml"
SIGNATURE_SEEN = "    seen_in:\n      - {component: torch, since: '2.10', how: run}\n"
ONE_QUIET = "  - id: logs.one-quiet\n"
EVIDENCE = "      usually: [logs.one-quiet]\n"


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        (QUIET, "slug: quiet-rank", "slug: Quiet_rank", "slug 'Quiet_rank' must be lower-case words joined by hyphens"),
        (QUIET, "slug: quiet-rank", "slug: other", "the directory is called 'D2-quiet-rank', not 'D2-other'"),
        (QUIET, "family: hangs", "family: ddp", "the entry is in the directory of 'hangs'"),
        (QUIET, "since: 0.1.0", "since: soon", "'since' must be a version of distkb, not 'soon'"),
        (QUIET, "- id: D2.a\n", "- id: D2.1\n", "cause id 'D2.1' must be 'D2.' and a letter"),
        (QUIET, "- id: D2.a.1", "- id: D2.a1", "fix id 'D2.a1' must be 'D2.a.' and a number"),
        (QUIET, "related: [D10]", "related: [D2]", "'related' names itself"),
        (QUIET, "related: [D10]", "related: [D10, D10]", "'related' names 'D10' twice"),
        (QUIET, "related: [D10]", "related: [D10, D99]", "warning: entry 'D99' does not exist yet"),
        (QUIET, "related: [D10]", "related: [D10, D99.a]", "warning: cause 'D99.a' does not exist yet"),
        (QUIET, "related: [D10]", "related: [D10.b]", "no entry or cause has the id 'D10.b': did you mean 'D10.a'?"),
        (QUIET, "- id: D10\n", "- id: D2.a\n", "D2.a cannot be confused with itself"),
        (QUIET, "https://docs.py", "http://docs.py", "a reference needs an https address"),
        (QUIET, "'2026-11-21'", "'21.11.2026'", "'accessed' must be a date, YYYY-MM-DD"),
        (QUIET, "'2026-11-21'", "'2026-02-30'", "'accessed' must be a date, YYYY-MM-DD"),
        (QUIET, "shows: [demo.rank-lost]", "shows: [demo.rank]", "no signature or finding is called 'demo.rank'"),
        (QUIET, "shows: [demo.rank-lost]", "shows: []", "'shows' is empty"),
        (QUIET, "seconds: 20", "seconds: 0", "'repro' needs a positive time"),
        (QUIET, "symptom=hang", "symptom=stop", "'symptom' has no value 'stop': its values are hang, crash"),
        (QUIET, "symptom=hang", "symptoms=hang", "no fact is called 'symptoms': did you mean 'symptom'?"),
        (QUIET, "logs.one-quiet", "logs.one-quite", "no signature or finding is called 'logs.one-quite'"),
        (QUIET, "logs.one-quiet", "demo.rank-lost", "'demo.rank-lost' is already evidence of D2.a"),
        (QUIET, "logs.one-quiet", "symptom=crash", "the likelihoods of 'symptom' add up to more than 1 here"),
        (QUIET, SIGNATURE_SEEN, "", "a log line needs 'seen_in'"),
        (QUIET, "    example: 'demo: rank 3 never arrived'\n", "", "a log line needs an 'example' as printed"),
        (QUIET, "example: 'demo: rank 3", "example: 'demo: rank x", "the pattern does not match its own example"),
        (QUIET, "(?P<rank>", "(?P<who>", "nothing reads the named group 'who'"),
        (QUIET, "'demo: rank (?P<rank>[0-9]+) never arrived'", "'rank.*gone'", "longest fixed text is 4 characters"),
        (QUIET, "    example:", "    where: []\n    example:", "'where' is empty: nothing would look for the pattern"),
        (QUIET, "    example:", "    where: [log, log]\n    example:", "'where' names a place twice"),
        (QUIET, "id: demo.rank-lost\n", "id: RankLost\n", "id 'RankLost' must be lower-case words joined by dots"),
        (QUIET, "en: One rank stays away", "en: 랭크 One rank stays away", "Hangul in the English text"),
        (QUIET, "ko: 첫 스텝에서 멈춥니다.", "ko: It freezes at the step.", "the Korean text has no Hangul"),
        (QUIET, "ko: 터미널에서 읽는 랭크는 거기서 멈춥니다.", "ko: 멈춘다.", "'…멈춘다' is not 합니다체"),
        (QUIET, "ko: 모든 랭크가 첫 스텝을 기록합니다.", "ko: 기록해요.", "'…기록해요' is not 합니다체"),
        (QUIET, "ko: 첫 스텝에서 멈춥니다.", "ko: 멈춰요.", "warning: '…멈춰요' is not 합니다체"),
        (QUIET, "ko: 한 랭크가 오지", "ko: NCCL 이 오지", "warning: a space before the particle: 'NCCL 이'"),
        (QUIET, "en: The rank waits", "en: TODO the rank waits", "'title' is not written yet: TODO the rank waits"),
        (QUIET, "ko: 그 랭크가 입력을 기다립니다", "ko: ' '", "'title' has no text in 'ko'"),
        (QUIET, "title: torch.distributed", "title: ''", "'title' is empty"),
        (QUIET, "[quiet rank, rank never arrives]", "[quiet, quiet]", "'quiet' is in the list twice"),
        (QUIET, "[quiet rank, rank never arrives]", "[quiet, 조용]", "Hangul among the English words: 조용"),
        (OBSERVATIONS, "share: 0.4", "share: 0.5", "the shares of 'symptom' add up to 1.100, not to 1"),
        (OBSERVATIONS, "value: crash", "value: hang", "value 'hang' is given twice"),
        (OBSERVATIONS, "value: crash", "value: unknown", "value 'unknown' stands for itself"),
        (OBSERVATIONS, "symptom=hang", "symptom=stop", "'symptom' has no value 'stop'"),
        (OBSERVATIONS, "seconds: 5", "seconds: 0", "'seconds' must be above 0"),
        (OBSERVATIONS, ONE_QUIET, ONE_QUIET + "    excludes: [symptom=halt]\n", "'symptom' has no value 'halt'"),
        (OBSERVATIONS, ONE_QUIET, ONE_QUIET + "    implies: [symptom]\n", "'symptom' is no fact with its value"),
        (OBSERVATIONS, ONE_QUIET, ONE_QUIET + "    concludes: [sympton=hang]\n", "no fact is called 'sympton'"),
        (
            OBSERVATIONS,
            ONE_QUIET,
            ONE_QUIET + "    refuted_by: [logs.one]\n",
            "no signature or finding is called 'logs.one'",
        ),
        (OBSERVATIONS, "id: ask.symptom", "id: Ask", "id 'Ask' must be lower-case words joined by dots or hyphens"),
        (GLOSSARY, "see: [D2]", "see: [D2, X3]", "no entry or cause has the id 'X3'"),
        (GLOSSARY, "id: rank", "id: Rank", "id 'Rank' must be lower-case words joined by hyphens"),
    ],
)
def test_a_broken_rule_is_reported(tmp_path: Path, file: str, old: str, new: str, message: str) -> None:
    """The rule that the change breaks is among the problems."""
    kb = sound(tmp_path)
    change(kb, old, new, file)
    found = problems(kb)
    assert any(item.startswith(message) or message in item for item in found), found


def test_a_cause_needs_a_fix_and_two_pieces_of_evidence(tmp_path: Path) -> None:
    """An entry that cannot be told or repaired is not one."""
    kb = sound(tmp_path)
    text = (kb / QUIET).read_text(encoding="utf-8")
    start, end = text.index("    fixes:"), text.index("    confused_with:")
    text = (
        (text[:start] + "    fixes: []\n" + text[end:])
        .replace(EVIDENCE, "")
        .replace("      often: [demo.rank-lost]\n", "")
    )
    (kb / QUIET).write_text(text, encoding="utf-8")
    assert problems(kb) == [
        "warning: no cause lists 'demo.rank-lost' as evidence",
        "cause D2.a needs at least two pieces of evidence",
        "cause D2.a has no fix",
    ]


def test_fields_of_an_entry_have_one_order(tmp_path: Path) -> None:
    """The first field out of order is reported at its name."""
    kb = sound(tmp_path)
    change(kb, "slug: quiet-rank\nfamily: hangs\n", "family: hangs\nslug: quiet-rank\n")
    (problem,) = check_directories([kb])
    assert (problem.line, problem.column) == (3, 1)
    assert problem.message.startswith("field 'slug' comes before 'family': the order is id, slug, family")


def test_a_program_and_its_record_go_together(tmp_path: Path) -> None:
    """`repro.py` without `repro:` and `repro:` without `repro.py` are both problems."""
    kb = sound(tmp_path)
    script = kb / "entries/hangs/D2-quiet-rank/repro.py"
    script.unlink()
    assert problems(kb) == ["there is no repro.py beside the entry"]
    (kb / "entries/ddp/D10-loud-rank/repro.py").touch()
    script.write_text("x = 1\n# TODO: write this\n", encoding="utf-8")
    found = check_directories([kb])
    assert [(item.line, item.message) for item in found] == [
        (1, "entry D10 has no 'repro' that says how to run this"),
        (2, "the program is not written yet"),
    ]


def test_files_that_nothing_reads_are_problems(tmp_path: Path) -> None:
    """A misplaced file would be ignored for ever."""
    kb = sound(tmp_path)
    for name in ("observations/more.yml", "glosary.yaml", "entries/hang/D3-x/entry.yaml", "entries/ddp/D4-x/notes"):
        (kb / name).parent.mkdir(parents=True, exist_ok=True)
        (kb / name).write_text("terms: []\n", encoding="utf-8")
    messages = problems(kb)
    assert messages.count("is not read: expected glossary.yaml, traits.yaml, observations/*.yaml, settings/*.yaml") == 2
    assert "holds no entry.yaml" in messages
    assert any(message.startswith("'hang' is no family") for message in messages)


def test_signatures_with_the_same_pattern_are_reported(tmp_path: Path) -> None:
    """Two names for one line would count it twice."""
    kb = sound(tmp_path)
    change(kb, "pattern: 'demo: rank (?P<rank>[0-9]+) never arrived'", "pattern: '(?i)link [a-z0-9]+ is down'")
    change(kb, "example: 'demo: rank 3 never arrived'", "example: Link eth0 is down")
    assert problems(kb) == ["the pattern is also that of 'demo.link-down': use one of the two"]


def test_a_built_in_entry_uses_the_public_series_of_ids(tmp_path: Path) -> None:
    """Other letters are for overlays."""
    kb = sound(tmp_path)
    change(kb, "id: D2\n", "id: ACME2\n")
    assert "id 'ACME2' must be D, MN, M or U and a number" in problems(kb)


AFTER = """  - id: after
    question: {en: "When does it die?", ko: "언제 죽습니까?"}
    why: {en: Early and late mean different things., ko: 이르고 늦음에 따라 뜻이 다릅니다.}
    when: [symptom=crash]
    values:
      - {value: early, label: {en: At once, ko: 바로}, share: 1.0}
findings:
"""


def test_an_answer_that_the_cause_rules_out_is_idle(tmp_path: Path) -> None:
    """A question that is asked only after an answer which the cause never has brings no evidence for it."""
    kb = sound(tmp_path)
    change(kb, "findings:\n", AFTER, OBSERVATIONS)
    change(kb, "often: [demo.rank-lost]", "often: [demo.rank-lost, after=early]\n      never: [symptom=crash]", QUIET)
    assert "'after' is asked only after symptom=crash, which this cause rules out" in problems(kb)


@pytest.mark.parametrize(
    ("finding", "reported"),
    [("logs.last-step-same", True), ("live.nonfinite-buffer", True), ("logs.nobody-says-this", False)],
)
def test_a_finding_is_reported_by_a_reader_or_a_probe(finding: str, reported: bool) -> None:
    """An id counts where the program writes it, whole, behind the name of its source, or with a part filled in."""
    assert is_reported(finding) is reported


def test_an_alias_that_reads_like_another_is_idle(tmp_path: Path) -> None:
    """The search sees the same words twice, or none at all."""
    kb = sound(tmp_path)
    change(kb, "[quiet rank, rank never arrives]", "[quiet rank, quiet ranks, the]", QUIET)
    found = [problem.message for problem in idle_aliases(load_located([kb]))]
    assert found == [
        "to the search 'quiet ranks' is 'quiet rank' again",
        "no search can find 'the': it has no word that counts",
    ]


@pytest.mark.parametrize(
    ("code", "language", "why"),
    [
        ("if rank == 0:\n    save()\n", "python", None),
        ("    indented = 1\n", "python", None),
        ("for batch in loader:\n", "python", "expected an indented block"),
        ('"zero_optimization": {"stage": 2}', "python", "illegal target for annotation"),
        ('{"stage": 2}', "json", None),
        ('"stage": 2', "json", "Extra data"),
        ("a: [1", "yaml", "while parsing"),
        ("for i in *; do", "bash", None),
    ],
)
def test_code_that_does_not_parse_is_told(code: str, language: str, why: str | None) -> None:
    """Code is judged by the parser of its own language."""
    told = unparsed(code, language)
    assert told == why or (told is not None and why is not None and why in told)


def test_the_code_of_the_guides_parses() -> None:
    """Every block of a guide that names its language is in it."""
    for path in sorted((builtin() / "guides").glob("*.md")):
        text = path.read_text(encoding="utf-8")
        for language, code in re.findall(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            assert unparsed(code, language) is None, (path.name, code)


def test_a_pattern_is_judged_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second check asks no scanner, and says the same; a pattern that changed is judged again."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    kb = sound(tmp_path)
    change(kb, "demo: rank", "a[xy]")
    asked: list[str] = []
    real = patterns.scanner_fault

    def counted(pattern: str, *, in_logs: bool = False) -> str | None:
        asked.append(pattern)
        return real(pattern, in_logs=in_logs)

    monkeypatch.setattr("distkb.catalogue.checks.signatures.scanner_fault", counted)
    first = check_directories([kb])
    known = len(asked)
    assert first
    assert check_directories([kb]) == first
    assert len(asked) == known > 0
    change(kb, "a[xy]", "demo: rank")
    assert check_directories([kb]) == []
    assert len(asked) == known + 1
