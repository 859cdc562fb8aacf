"""search, show and list: text, JSON, and what they do with odd input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_calls import invoke

from distkb.report.layout import width


def test_search_ranks_and_show_reads() -> None:
    """Words find entries, best first, and the id that search prints is one that show reads."""
    found = invoke("search", "hang", "barrier")
    assert found.exit_code == 0
    first = found.stdout.split()[0]
    shown = invoke("show", first)
    assert shown.exit_code == 0
    assert shown.stdout.startswith(first)


def test_search_json_is_the_contract() -> None:
    """`search --json` carries the query and the results with id, score and both titles."""
    document = json.loads(invoke("search", "hang", "barrier", "-n", "3", "--json").stdout)
    assert document["query"] == "hang barrier"
    assert 1 <= len(document["results"]) <= 3
    for result in document["results"]:
        assert set(result) == {"id", "score", "title"}
        assert set(result["title"]) == {"en", "ko"}
    scores = [result["score"] for result in document["results"]]
    assert scores == sorted(scores, reverse=True)


def test_search_without_results_says_so_on_stderr() -> None:
    """Nothing found is no failure: stdout stays empty, a note says why."""
    result = invoke("search", "qqzzxxqq", "--lang", "ko")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "`qqzzxxqq`와 맞는 항목이 없습니다" in result.stderr


@pytest.mark.parametrize("query", ["\x1b[31m", "가" * 5000, "\u202e", "' OR 1=1 --", "\U0001f4a5", "NCCL_" * 900])
def test_search_takes_any_text(query: str) -> None:
    """No query breaks the search, and none reaches the terminal unclean."""
    result = invoke("search", "--json", query)
    assert result.exit_code == 0
    assert "\x1b" not in result.stdout
    json.loads(result.stdout)


def test_show_finds_an_entry_by_id_cause_and_slug() -> None:
    """Case does not matter, a cause's id means its entry, and the slug works too."""
    row = json.loads(invoke("list", "--json").stdout)[0]
    pages = {invoke("show", name).stdout for name in (row["id"], row["id"].lower(), row["id"] + ".a", row["slug"])}
    assert len(pages) == 1


def test_show_json_is_the_entry() -> None:
    """`show --json` prints the whole entry."""
    entry = json.loads(invoke("show", "D21", "--json").stdout)
    assert entry["id"] == "D21"
    assert entry["causes"][0]["fixes"]


@pytest.mark.slow
@pytest.mark.parametrize("lang", ["en", "ko"])
def test_every_entry_fits_80_columns(lang: str) -> None:
    """Every entry of the catalogue is readable on 80 columns in both languages; only what must not break is longer."""
    for row in json.loads(invoke("list", "--json").stdout):
        page = invoke("show", row["id"], "--lang", lang).stdout
        for line in page.splitlines():
            words = line.split()
            unbreakable = len(words) <= 2 or line.startswith("    ") or line.lstrip().startswith("$ ")
            assert width(line) <= 80 or unbreakable, line


def test_list_json_is_the_contract() -> None:
    """`list --json` is a list of id, slug, family and both titles, in order of id."""
    rows = json.loads(invoke("list", "--json").stdout)
    assert all(set(row) == {"id", "slug", "family", "title"} for row in rows)
    numbers = [int(row["id"][1:]) for row in rows if row["id"].startswith("D")]
    assert numbers == sorted(numbers)


def test_list_shows_every_title_in_the_chosen_language() -> None:
    """The table holds every entry, in both languages."""
    rows = json.loads(invoke("list", "--json").stdout)
    for lang in ("en", "ko"):
        page = " ".join(invoke("list", "--lang", lang).stdout.split())
        assert all(" ".join(row["title"][lang].split()) in page for row in rows)


@pytest.mark.slow
def test_a_broken_overlay_is_noted_and_the_rest_works(tmp_path: Path) -> None:
    """An overlay that cannot be read is one clear line; the built-in entries still answer."""
    broken = tmp_path / "entries" / "hangs" / "ACME1-ours" / "entry.yaml"
    broken.parent.mkdir(parents=True)
    broken.write_text("id: [unclosed\n")
    result = invoke("list", "--kb", str(tmp_path))
    assert result.exit_code == 0
    assert "D21" in result.stdout
    assert str(broken) in result.stderr


@pytest.mark.slow
def test_a_missing_overlay_is_noted(tmp_path: Path) -> None:
    """A folder that does not exist is named, before or after the command, and the rest works."""
    result = invoke("--kb", str(tmp_path / "nowhere"), "list")
    assert result.exit_code == 0
    assert str(tmp_path / "nowhere") in result.stderr


def test_kb_new_makes_an_entry_that_check_then_wants_written(tmp_path: Path) -> None:
    """`kb new` prints the folder it made, and `kb check` lists its open places with file and line."""
    made = invoke("kb", "new", "ACME1", "--kb", str(tmp_path), "--slug", "ours", "--family", "hangs")
    assert made.exit_code == 0, made.stderr
    entry = Path(made.stdout.strip()) / "entry.yaml"
    assert entry.is_file()
    checked = invoke("kb", "check", "--kb", str(tmp_path))
    assert checked.exit_code == 1
    assert f"{entry}:" in checked.stdout


@pytest.mark.parametrize(
    ("args", "english", "korean"),
    [
        (("../../x",), "is not an entry id", "항목 id가 아닙니다"),
        (("ACME1", "--slug", "Our Storage"), "is not a slug", "슬러그가 아닙니다"),
    ],
)
def test_kb_new_refuses_what_it_cannot_make(args: tuple[str, ...], english: str, korean: str, tmp_path: Path) -> None:
    """What is no id or no slug is wrong usage, said in the chosen language, and creates nothing."""
    for lang, expected in (("en", english), ("ko", korean)):
        result = invoke("kb", "new", *args, "--kb", str(tmp_path), "--lang", lang)
        assert result.exit_code == 2
        assert expected in result.stderr
    assert not list(tmp_path.iterdir())


def test_kb_schema_prints_a_schema_for_each_kind() -> None:
    """The schemas are JSON, and entry is the one without a name."""
    default, entry = invoke("kb", "schema").stdout, invoke("kb", "schema", "entry").stdout
    assert default == entry
    for kind in ("entry", "observations", "glossary"):
        assert json.loads(invoke("kb", "schema", kind).stdout)["$schema"]


def test_eval_search_prints_figures_and_cases(tmp_path: Path) -> None:
    """Graded queries give figures by language and kind, and with --json the ranking of each case."""
    cases = tmp_path / "queries.jsonl"
    cases.write_text('{"id": "q1", "lang": "en", "query": "D21", "relevant": {"D21": 3}, "kind": "id"}\n')
    assert "all.hit_at_1" in invoke("eval", "search", str(cases)).stdout
    document = json.loads(invoke("eval", "search", str(cases), "--json").stdout)
    assert document["figures"]["all"]["hit_at_1"] == 1.0
    assert document["cases"][0]["ranked"][0] == "D21"


@pytest.mark.slow
def test_eval_diagnosis_prints_figures_and_cases(tmp_path: Path) -> None:
    """Labelled reports give figures with and without facts, and cases that no entry answers are counted apart."""
    cases = tmp_path / "reports.jsonl"
    cases.write_text(
        '{"id": "a", "lang": "en", "report": "hangs at dist.barrier under if rank == 0", "accept": ["D21"],'
        ' "facts": {"symptom": "hang", "nodes": "unknown"}}\n'
        '{"id": "b", "report": "x", "accept": ["D9999"]}\n'
    )
    document = json.loads(invoke("eval", "diagnosis", str(cases), "--json").stdout)
    assert {"top1", "top3", "mrr", "brier"} <= set(document["figures"]["report_only"]["all"])
    assert "with_facts" in document["figures"]
    assert [case["id"] for case in document["cases"]] == ["a"]
    without = json.loads(invoke("eval", "diagnosis", str(cases), "--json", "--no-facts").stdout)
    assert "with_facts" not in without["figures"]


@pytest.mark.parametrize("kind", ["search", "diagnosis"])
def test_a_broken_case_file_is_named_with_its_line(kind: str, tmp_path: Path) -> None:
    """A line that is no case ends the evaluation with its number."""
    cases = tmp_path / "cases.jsonl"
    cases.write_text("\n{not json\n")
    result = invoke("eval", kind, str(cases))
    assert result.exit_code == 2
    assert "2" in result.stderr.split("cases.jsonl", 1)[1]


@pytest.mark.slow
def test_kb_check_of_one_entry_tells_its_problems_only(tmp_path: Path) -> None:
    """Other entries are not judged; an id that nobody has is wrong usage."""
    for name in ("ACME1", "ACME2"):
        assert invoke("kb", "new", name, "--kb", str(tmp_path), "--slug", "ours").exit_code == 0
    checked = invoke("kb", "check", "acme1", "--kb", str(tmp_path))
    assert checked.exit_code == 1
    assert "ACME1-ours/entry.yaml:" in checked.stdout
    assert "ACME2" not in checked.stdout
    assert invoke("kb", "check", "D21").stdout == "one entry, no problems\n"
    assert invoke("kb", "check", "ACME9", "--kb", str(tmp_path)).exit_code == 2
