"""Settings and timers on 80 columns, in both languages."""

from __future__ import annotations

import re

import pytest

from distkb.catalogue.model import Catalogue
from distkb.evidence.observation import Observation, Quote
from distkb.locale import LANGUAGES, Language, Say
from distkb.report import setting as setting_view
from distkb.report import timers as timer_view
from distkb.report.layout import width
from distkb.settings.timeouts import TimerReading, explain

VERSIONS = {
    "torch": "2.13.0",
    "nccl": "2.28.9",
    "accelerate": "1.15.0",
    "transformers": "5.23.0",
    "deepspeed": "0.19.8",
}
LOG = Observation(
    id="torch.nccl.watchdog-timeout",
    source="log",
    values={"timeout_ms": "600000"},
    quotes=(Quote(text="Watchdog caught collective operation timeout: WorkNCCL(Timeout(ms)=600000)\x1b[31m"),),
)


def readings(catalogue: Catalogue, environment: dict[str, str], *observed: Observation) -> tuple[TimerReading, ...]:
    """Explain the timers of a job with everything installed."""
    return explain(
        catalogue.timers,
        catalogue.settings,
        environment,
        VERSIONS,
        backend="nccl",
        launcher="torchrun",
        frameworks=("accelerate", "transformers", "deepspeed"),
        observations=observed,
        arguments={"python.init_process_group.timeout": "7200"},
    )


def around(catalogue: Catalogue) -> setting_view.Surroundings:
    """What the pages refer to."""
    return setting_view.Surroundings(
        timers=catalogue.timers,
        entries={entry.id: entry.title for entry in catalogue.entries},
        names={setting.id: setting.name for setting in catalogue.settings},
    )


def narrow(page: str) -> list[str]:
    """Lines that are wider than 80 columns though they could be broken."""
    wide = [line for line in page.splitlines() if width(line) > 80]
    return [line for line in wide if len(line.split()) > 1 and "https://" not in line]


@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_setting_can_be_shown(catalogue: Catalogue, lang: Language) -> None:
    """Every record has a page in both languages that fits 80 columns and leaves no placeholder open."""
    for setting in catalogue.settings:
        page = setting_view.write([setting], around(catalogue), Say(lang))
        assert page.startswith(setting.name)
        assert narrow(page) == []
        assert not re.search(r"\{[a-z]+\}", page.replace(setting.means.en, "").replace(setting.means.ko, "")), page


def test_a_page_says_who_reads_it_and_what_to_use(catalogue: Catalogue) -> None:
    """The page of NCCL_TIMEOUT: read by nothing, what to use instead, and where to read on."""
    [setting] = [setting for setting in catalogue.settings if setting.id == "NCCL_TIMEOUT"]
    page = setting_view.write([setting], around(catalogue), Say("en"))
    assert "read by nothing" in page
    assert "init_process_group" in page
    assert "D35" in page
    korean = setting_view.write([setting], around(catalogue), Say("ko"))
    assert "읽는 곳 없음" in korean


def test_defaults_are_shown_by_version(catalogue: Catalogue) -> None:
    """A default that changed is shown with both ranges, and the timers that the setting moves are named."""
    [setting] = [setting for setting in catalogue.settings if setting.id == "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC"]
    page = " ".join(setting_view.write([setting], around(catalogue), Say("en")).split())
    assert "600 (torch 2.3 to 2.4)" in page
    assert "480 (torch since 2.5)" in page
    assert "The watchdog thread without progress: 8 min" in page


@pytest.mark.parametrize("lang", LANGUAGES)
def test_timers_fit_and_say_what_fired(catalogue: Catalogue, lang: Language) -> None:
    """The list fits 80 columns, quotes the log without its escapes, and names what did not reach the group."""
    page = timer_view.write(readings(catalogue, {"NCCL_TIMEOUT": "3600"}, LOG), Say(lang))
    assert narrow(page) == []
    assert "\x1b" not in page
    assert "Timeout(ms)=600000" in page
    assert "init_process_group(timeout=...)" in page
    assert page.count("NCCL_TIMEOUT ") + page.count("NCCL_TIMEOUT이") + page.count("NCCL_TIMEOUT가") == 1


def test_no_timers_is_said(catalogue: Catalogue) -> None:
    """An empty list is a sentence, not an empty screen."""
    assert timer_view.write((), Say("en")).count("\n") == 2
    assert len(readings(catalogue, {})) > 15


@pytest.mark.parametrize(
    ("seconds", "en", "ko"),
    [
        (None, "?", "?"),
        (0, "no limit", "제한 없음"),
        (0.1, "0.1 s", "0.1초"),
        (30, "30 s", "30초"),
        (59.5, "59.5 s", "59.5초"),
        (90, "90 s", "90초"),
        (480, "8 min", "8분"),
        (3600, "60 min", "60분"),
        (7200, "2 h", "2시간"),
        (9000, "150 min", "150분"),
        (216000, "60 h", "60시간"),
        (864000, "10 d", "10일"),
        (1234567.5, "1234568 s", "1234568초"),
    ],
)
def test_durations_are_readable(seconds: float | None, en: str, ko: str) -> None:
    """The largest unit that loses nothing."""
    assert (timer_view.amount(seconds, Say("en")), timer_view.amount(seconds, Say("ko"))) == (en, ko)
