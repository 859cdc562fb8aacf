"""Help, languages, wrong usage and exit codes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from cli_calls import invoke

from distkb import __version__
from distkb.report.layout import width

COMMANDS = (
    (),
    ("search",),
    ("show",),
    ("list",),
    ("diagnose",),
    ("eval",),
    ("eval", "diagnosis"),
    ("eval", "search"),
    ("kb",),
    ("kb", "check"),
    ("kb", "new"),
    ("kb", "schema"),
)
HANGUL = re.compile(r"[가-힣]")


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_exists_in_both_languages(command: tuple[str, ...]) -> None:
    """Every command explains itself in English and in Korean, within 80 columns."""
    english = invoke(*command, "--help")
    korean = invoke(*command, "--help", "--lang", "ko")
    assert (english.exit_code, korean.exit_code) == (0, 0), english.output + korean.output
    assert english.stdout.startswith("Usage: distkb")
    assert korean.stdout.startswith("사용법: distkb")
    assert not HANGUL.search(english.stdout.split("Examples")[0])
    for line in (english.stdout + korean.stdout).splitlines():
        assert width(line) <= 80 or line.lstrip().startswith("$ ")


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_no_arguments_say_how_to_begin(lang: str) -> None:
    """`distkb` alone shows, in the chosen language and one small window, what to type, and succeeds."""
    result = invoke("--lang", lang)
    assert result.exit_code == 0
    assert "distkb logs/" in result.stdout
    assert "distkb --help" in result.stdout
    assert bool(HANGUL.search(result.stdout)) == (lang == "ko")
    assert len(result.stdout.splitlines()) <= 15
    assert all(width(line) <= 80 for line in result.stdout.splitlines())


def test_version() -> None:
    """`--version` prints name and version."""
    result = invoke("--version")
    assert (result.exit_code, result.stdout) == (0, f"distkb {__version__}\n")


@pytest.mark.parametrize("args", [("--lang", "ko", "list"), ("list", "--lang", "ko"), ("list", "--lang=ko")])
def test_language_may_stand_before_or_after_the_command(args: tuple[str, ...]) -> None:
    """`--lang` works in either place."""
    result = invoke(*args)
    assert result.exit_code == 0
    assert "멈춤과 집합 통신" in result.stdout


@pytest.mark.parametrize(
    ("args", "english", "korean"),
    [
        (("serch", "x"), "did you mean `search`?", "`search`를 찾으십니까?"),
        (("nope-nope",), "there is no command or path `nope-nope`", "`nope-nope`라는 명령이나 경로는 없습니다"),
        (("kb", "chek"), "there is no command `chek`; did you mean `check`?", "`check`를 찾으십니까?"),
        (("kb",), "a command is missing", "명령이 빠졌습니다"),
        (("list", "--jsn"), "there is no option `--jsn`; did you mean `--json`?", "`--json`을 찾으십니까?"),
        (("list", "--json=1"), "takes no value", "값을 줄 수 없습니다"),
        (("list", "--kb"), "needs a value", "값이 필요합니다"),
        (("list", "--lang", "fr"), "--lang must be one of en, ko", "en, ko"),
        (("list", "a", "b"), "unexpected arguments: a b", "예상하지 못한 인자입니다: a b"),
        (("search",), "WORDS is missing", "빠졌습니다"),
        (("search", "-n", "x", "y"), "--limit must be a whole number", "정수여야 합니다"),
        (("search", "-n", "0", "y"), "--limit must be a whole number", "정수여야 합니다"),
        (("show", "D99999"), "there is no entry `D99999`", "`D99999`라는 항목은 없습니다"),
        (("diagnose",), "nothing to diagnose", "진단할 대상이 없습니다"),
        (("diagnose", "--fact", "hang"), "not of the form NAME=VALUE", "NAME=VALUE 형식이 아닙니다"),
        (("diagnose", "--fact", "sympton=hang"), "there is no fact `sympton`", "`sympton`이라는 사실 이름은 없습니다"),
        (
            ("diagnose", "--fact", "symptom=blue"),
            "`blue` is not a value of the fact `symptom`",
            "`symptom`의 값이 아닙니다",
        ),
        (("diagnose", ".", "--json", "--markdown"), "only one format", "한 형식으로만"),
        (("eval", "search", "/nonexistent"), "cannot be read", "읽을 수 없습니다"),
        (("eval", "diagnosis", "/nonexistent"), "cannot be read", "읽을 수 없습니다"),
    ],
)
def test_wrong_usage_is_one_line_in_either_language(args: tuple[str, ...], english: str, korean: str) -> None:
    """Wrong usage exits with 2, prints nothing on stdout and one clear line on stderr."""
    for lang, expected in (("en", english), ("ko", korean)):
        position = ("--lang", lang) if args[-1] != "fr" else ()
        result = invoke(*position, *args)
        if lang == "ko" and not position:
            continue
        assert result.exit_code == 2
        assert result.stdout == ""
        errors = [line for line in result.stderr.splitlines() if line.startswith("distkb: error: ")]
        assert len(errors) == 1, result.stderr
        assert expected in errors[0]


def test_untrusted_words_in_errors_are_cleaned() -> None:
    """What the user typed cannot drive the terminal through an error message."""
    result = invoke("show", "\x1b[31mD21\u202e\nx")
    assert result.exit_code == 2
    assert "\x1b" not in result.stderr
    assert "\u202e" not in result.stderr
    assert sum(line.startswith("distkb: error: ") for line in result.stderr.splitlines()) == 1
    assert all(line.startswith("distkb: ") for line in result.stderr.splitlines())


def test_a_path_in_the_place_of_a_command_is_diagnosed(tmp_path: Path) -> None:
    """`distkb logs/` is `distkb diagnose logs/`, options included."""
    log = tmp_path / "rank0.log"
    log.write_text("step 1 loss 0.5\n")
    direct, short = invoke("diagnose", str(log), "--json"), invoke(str(log), "--json")
    assert (short.exit_code, short.stdout) == (direct.exit_code, direct.stdout)


def test_a_defect_is_one_line_and_its_traceback_is_for_those_who_ask(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An unexpected exception never prints a traceback unless DISTKB_TRACEBACK is set."""

    def broken(*_: object) -> None:
        message = "boom"
        raise RuntimeError(message)

    monkeypatch.setattr("distkb.knowledge.open_compiled", broken)
    result = invoke("list")
    assert result.exit_code == 3
    assert result.stderr.startswith("distkb: error: ")
    assert "RuntimeError: boom" in result.stderr
    monkeypatch.setenv("DISTKB_TRACEBACK", "1")
    assert isinstance(invoke("list").exception, RuntimeError)


def test_ctrl_c_exits_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupt ends the program quietly."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("distkb.knowledge.open_compiled", interrupted)
    result = invoke("list")
    assert result.exit_code == 130
    assert "Traceback" not in result.stderr
