"""`distkb show` of a variable, a flag or an argument."""

from __future__ import annotations

import json

import built_in
import pytest
from cli_calls import invoke


def test_show_reads_a_setting_in_both_languages() -> None:
    """A variable that nothing reads is explained, with what to use instead."""
    shown = invoke("show", "NCCL_TIMEOUT")
    assert shown.exit_code == 0
    assert shown.stdout.startswith("NCCL_TIMEOUT\n")
    assert "read by nothing" in shown.stdout
    korean = invoke("show", "nccl_timeout", "--lang", "ko").stdout
    assert "읽는 곳 없음" in korean
    assert korean.startswith("NCCL_TIMEOUT\n")


def test_show_setting_json() -> None:
    """`--json` holds the records with both languages; a listed name has versions only."""
    document = json.loads(invoke("show", "TORCH_NCCL_BLOCKING_WAIT", "--json").stdout)
    assert document["schema"] == "distkb.setting/1"
    [setting] = document["settings"]
    assert setting["read_by"][0]["component"] == "torch"
    assert set(setting["means"]) == {"en", "ko"}
    listed = json.loads(invoke("show", "NCCL_SYM_TMA_ENABLE", "--json").stdout)
    assert listed["settings"] == []
    assert listed["listed"]["since"] == "2.30.3"


def test_show_takes_flags_with_and_without_dashes() -> None:
    """A flag is found as torchrun writes it and as people say it."""
    with_dashes = invoke("show", "--", "--rdzv-conf").stdout
    assert with_dashes == invoke("show", "rdzv_conf").stdout
    assert "torchrun" in with_dashes


def test_every_flag_is_shown_by_the_name_that_is_printed() -> None:
    """A flag's name, dashes and all, is taken for the name to show, and an option of the command stays one."""
    catalogue = built_in.catalogue()
    flags = {setting.name for setting in catalogue.settings if setting.name.startswith("-")}
    assert "--rdzv-endpoint" in flags
    for flag in sorted(flags):
        assert flag in invoke("show", flag, "--lang", "en").stdout, flag
    assert json.loads(invoke("show", "--rdzv-endpoint", "--json").stdout)["schema"] == "distkb.setting/1"


@pytest.mark.parametrize("wrong", [("D21", "--xyzzy"), ("--jsn", "D21")])
def test_a_mistyped_option_is_no_name(wrong: tuple[str, str]) -> None:
    """Beside a name, or near an option of the command, what looks like an option is a mistake in the call."""
    result = invoke("show", *wrong, "--lang", "en")
    assert result.exit_code == 2
    assert "there is no option" in result.stderr


def test_several_settings_of_one_name_are_all_shown() -> None:
    """The same name in two places has two pages below one another."""
    document = json.loads(invoke("show", "rdzv_backend", "--json").stdout)
    shown = invoke("show", "rdzv_backend").stdout
    assert len(document["settings"]) >= 2
    assert all(setting["name"] in shown for setting in document["settings"])


@pytest.mark.parametrize(
    ("name", "en", "ko"),
    [
        ("NCCL_TIMEOT", "did you mean `NCCL_TIMEOUT`?", "`NCCL_TIMEOUT`"),
        ("QQQQ_ZZZZ", "there is no entry or setting `QQQQ_ZZZZ`", "항목이나 설정이 없습니다"),
        ("no-such-thing", "there is no entry `no-such-thing`", "항목은 없습니다"),
    ],
)
def test_show_of_nothing_is_one_line(name: str, en: str, ko: str) -> None:
    """What does not exist is one line on stderr, exit 2, with the nearest name where there is one."""
    for lang, text in (("en", en), ("ko", ko)):
        result = invoke("show", name, "--lang", lang)
        assert (result.exit_code, result.stdout) == (2, "")
        assert text in result.stderr
        assert result.stderr.count("\n") == 1
