"""What the lint says about one variable, for real versions of torch and NCCL."""

from __future__ import annotations

import string
from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from distkb.catalogue.model import Catalogue
from distkb.evidence.observation import Observation
from distkb.settings.lint import lint

Observe = Callable[..., list[Observation]]
OLD = {"torch": "2.1.2", "nccl": "2.18.1"}
MIDDLE = {"torch": "2.4.1+cu121", "nccl": "2.20.5"}
NEW = {"torch": "2.13.0+cu128", "nccl": "2.28.9"}
NEWEST = {"torch": "2.15.0a0+git0f1e2d3", "nccl": "2.30.7"}
NOTHING: dict[str, str] = {}

CASES = [
    # name, value, versions, what must be found
    ("NCCL_TIMEOUT", "3600", NEW, "unread"),
    ("NCCL_TIMEOUT", "3600", NOTHING, "unread"),
    ("TORCH_NCCL_FLIGHT_RECORDER_ENABLED", "1", NEW, "unread"),
    ("GLOO_TIMEOUT", "60", OLD, "unread"),
    # renamed in torch 2.2: right before, an alias after
    ("NCCL_BLOCKING_WAIT", "1", OLD, "no-watchdog"),
    ("NCCL_BLOCKING_WAIT", "0", OLD, None),
    ("NCCL_ASYNC_ERROR_HANDLING", "1", OLD, None),
    ("NCCL_ASYNC_ERROR_HANDLING", "1", MIDDLE, "renamed"),
    ("NCCL_ASYNC_ERROR_HANDLING", "1", NEWEST, "renamed"),
    ("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1", OLD, "not-yet-older-name"),
    ("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1", NEWEST, None),
    # the flight recorder's two names
    ("TORCH_FR_BUFFER_SIZE", "2000", OLD, "not-yet"),
    ("TORCH_FR_BUFFER_SIZE", "2000", MIDDLE, "not-yet-older-name"),
    ("TORCH_FR_BUFFER_SIZE", "2000", NEW, None),
    ("TORCH_NCCL_TRACE_BUFFER_SIZE", "2000", MIDDLE, None),
    ("TORCH_NCCL_TRACE_BUFFER_SIZE", "2000", NEW, "renamed"),
    ("TORCH_FR_BUFFER_SIZE", "0", NEW, "recorder-off"),
    # gone
    ("TORCH_NCCL_AVOID_RECORD_STREAMS", "1", NEW, "removed-later"),
    ("TORCH_NCCL_AVOID_RECORD_STREAMS", "1", NEWEST, "removed"),
    ("ENABLE_NCCL_HEALTH_CHECK", "1", MIDDLE, "removed"),
    ("NCCL_IB_CUDA_SUPPORT", "1", NEW, "removed"),
    # NCCL's own, by its version
    ("NCCL_RAS_ENABLE", "0", OLD, "not-yet"),
    ("NCCL_RAS_ENABLE", "0", NEWEST, None),
    ("NCCL_MULTI_RANK_GPU_ENABLE", "1", NEW, "not-yet"),
    ("NCCL_MULTI_RANK_GPU_ENABLE", "1", NEWEST, "shared-gpu"),
    ("NCCL_SYM_TMA_ENABLE", "1", NEW, "not-yet"),
    ("NCCL_SYM_TMA_ENABLE", "1", NEWEST, None),
    ("NCCL_WORK_FIFO_DEPTH", "65536", NEWEST, "removed"),
    ("NCCL_WORK_FIFO_DEPTH", "65536", OLD, None),
    # misspelled
    ("NCCL_SOCKET_IFNAMES", "eth0", NEW, "misspelled"),
    ("NCCL_DISABLE_IB", "1", NEW, "misspelled"),
    ("NCLL_DEBUG", "INFO", NEW, "misspelled"),
    ("RCCL_DEBUG", "INFO", NEW, None),
    ("NCCL_DEUBG", "INFO", NEW, "misspelled"),
    ("nccl_debug", "INFO", NEW, "misspelled"),
    ("TORCH_NCCL_IB_DISABLE", "1", NEW, "misspelled"),
    ("NCCL_HEARTBEAT_TIMEOUT_SEC", "900", NEW, "misspelled"),
    ("TORCH_DISTRIBUTE_DEBUG", "DETAIL", NEW, "misspelled"),
    ("TORCH_NCLL_BLOCKING_WAIT", "1", NEW, "misspelled"),
    ("MASTER_ADR", "10.0.0.1", NEW, "misspelled"),
    ("OMP_NUM_THREAD", "4", NEW, "misspelled"),
    ("CUDA_VISIBLE_DEVICE", "0", NEW, "misspelled"),
    ("NCCL_MY_OWN_KNOB", "1", NEW, "unknown"),
    ("TORCH_NCCL_MAKE_IT_FAST", "1", NEW, "unknown"),
    # values
    ("NCCL_DEBUG", "DEBUG", NEW, "bad-value"),
    ("NCCL_DEBUG", "info", NEW, None),
    ("NCCL_DEBUG_SUBSYS", "INIT,NET,^GRAPH", NEW, None),
    ("NCCL_DEBUG_SUBSYS", "INIT,NETWORK", NEW, "bad-value"),
    ("NCCL_IB_DISABLE", "true", NEW, "bad-value"),
    ("NCCL_IB_DISABLE", "0", NEW, None),
    ("TORCH_NCCL_DUMP_ON_TIMEOUT", "on", NEW, "bad-value"),
    ("TORCH_NCCL_DUMP_ON_TIMEOUT", "True", NEW, None),
    ("TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC", "10m", NEW, "bad-value"),
    ("TORCH_DISTRIBUTED_DEBUG", "ON", NEW, "bad-value"),
    ("TORCH_DISTRIBUTED_DEBUG", "DETAIL", NEW, "debug-detail"),
    # units
    ("DEEPSPEED_TIMEOUT", "1800", {"deepspeed": "0.19.8"}, "unit"),
    ("DEEPSPEED_TIMEOUT", "60", {"deepspeed": "0.19.8"}, None),
    ("TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC", "600000", NEW, "unit"),
    ("TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC", "7200", NEW, None),
    ("TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC", "60", NEW, "unit"),
    # harm
    ("TORCH_NCCL_BLOCKING_WAIT", "1", NEW, "no-watchdog"),
    ("TORCH_NCCL_BLOCKING_WAIT", "0", NEW, None),
    ("TORCH_NCCL_ASYNC_ERROR_HANDLING", "0", NEW, "errors-not-handled"),
    ("NCCL_P2P_DISABLE", "1", NEW, "p2p-disabled"),
    ("NCCL_SOCKET_IFNAME", "lo", NEW, "loopback-only"),
    ("TORCH_DIST_USE_NCCL2", "0", NEWEST, "legacy-nccl"),
    ("TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC", "900", NEWEST, "legacy-only"),
    ("TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC", "900", NEW, None),
]


@pytest.mark.parametrize(("name", "value", "versions", "expected"), CASES)
def test_one_variable(
    linted: Callable[..., dict[str, list[str]]], name: str, value: str, versions: dict[str, str], expected: str | None
) -> None:
    """Each variable is judged as these versions read it."""
    assert linted({name: value}, **versions) == ({name: [expected]} if expected else {})


def test_what_to_use_instead_is_named(observe: Observe) -> None:
    """A finding carries the name that works, and the line that was found."""
    [found] = observe({"NCCL_TIMEOUT": "3600"})
    assert "init_process_group" in found.values["instead"]
    assert found.quotes[0].text == "NCCL_TIMEOUT=3600"
    [found] = observe({"TORCH_NCCL_BLOCKING_WAIT": "0"}, torch="2.1.2")
    assert (found.values["instead"], found.values["since"]) == ("NCCL_BLOCKING_WAIT", "2.2")
    [found] = observe({"NCCL_DEUBG": "INFO"})
    assert found.values["instead"] == "NCCL_DEBUG"


def test_the_newer_name_wins(linted: Callable[..., dict[str, list[str]]]) -> None:
    """Both names with different values are a warning, with one value a script for several versions."""
    both = {"NCCL_BLOCKING_WAIT": "1", "TORCH_NCCL_BLOCKING_WAIT": "0"}
    assert "renamed-overridden" in linted(both, torch="2.13.0")["NCCL_BLOCKING_WAIT"]
    same = {"NCCL_DESYNC_DEBUG": "1", "TORCH_NCCL_DESYNC_DEBUG": "1"}
    for torch in ("2.1.2", "2.4.1", "2.13.0"):
        assert linted(same, torch=torch) == {}


def test_the_older_backend_takes_its_settings_along(linted: Callable[..., dict[str, list[str]]]) -> None:
    """With TORCH_DIST_USE_NCCL2=0 the older backend's variables count in torch 2.15 as well."""
    both = {"TORCH_DIST_USE_NCCL2": "0", "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC": "900"}
    assert linted(both, **NEWEST) == {"TORCH_DIST_USE_NCCL2": ["legacy-nccl"]}


def test_a_misspelled_name_beside_the_right_one_is_a_note(linted: Callable[..., dict[str, list[str]]]) -> None:
    """Where the right name is set as well the misspelled one does no harm."""
    found = linted({"NCCL_DEUBG": "INFO", "NCCL_DEBUG": "WARN"})
    assert found == {"NCCL_DEUBG": ["misspelled-twice"]}


def test_nothing_set_is_nothing_wrong(observe: Observe) -> None:
    """A variable that is set to nothing counts as not set."""
    assert observe({"NCCL_TIMEOUT": "", "NCCL_DEBUG": "  "}, **NEW) == []


def test_every_finding_exists_and_can_be_said(catalogue: Catalogue, observe: Observe) -> None:
    """Every id that the lint uses is a record, and its sentences need no value that the lint does not give."""
    known = {finding.id: finding for finding in catalogue.findings}
    seen = set()
    for name, value, versions, _ in CASES:
        for observation in observe({name: value, "TORCH_NCCL_BLOCKING_WAIT": "yes"}, **versions):
            finding = known[observation.id]
            seen.add(finding.id)
            for both in (finding.says, finding.fix):
                for text in (both.en, both.ko) if both else ():
                    fields = {field for _, field, _, _ in string.Formatter().parse(text) if field and "/" not in field}
                    assert fields <= set(observation.values), (finding.id, fields)
            assert finding.severity is not None
    assert len(seen) >= 19


def test_cautions_name_findings_that_are_used(catalogue: Catalogue) -> None:
    """Every finding of the lint's file is said by the lint or by a caution of a record."""
    said = {caution.finding for setting in catalogue.settings for caution in setting.cautions}
    own = {finding.id for finding in catalogue.findings if finding.id.startswith("settings.")}
    import inspect

    from distkb.settings import lint as module

    source = inspect.getsource(module)
    assert {identity for identity in own - said if f'"{identity}"' not in source} == set()


def test_secrets_are_not_shown(observe: Observe) -> None:
    """A value that looks like a secret does not reach the screen."""
    [found] = observe({"NCCL_MY_OWN_TOKEN": "hf_abcdefghijklmnop"})
    assert "abcdefghijkl" not in found.quotes[0].text + found.values["value"]


NAMES = st.one_of(
    st.text(max_size=40),
    st.from_regex(r"\A(TORCH_|NCCL_|GLOO_|TORCH_NCCL_|MASTER_|OMP_)[A-Z_0-9]{0,30}\Z"),
    st.sampled_from([case[0] for case in CASES]),
)
VALUES = st.one_of(st.text(max_size=60), st.integers().map(str), st.sampled_from([case[1] for case in CASES]))
VERSIONS = st.dictionaries(
    st.sampled_from(["torch", "nccl", "deepspeed", "accelerate"]),
    st.one_of(st.none(), st.text(max_size=12), st.from_regex(r"\A[0-9]{1,3}(\.[0-9]{1,3}){0,3}(a0\+git|rc1)?\Z")),
    max_size=4,
)


@settings(max_examples=150)
@given(environment=st.dictionaries(NAMES, VALUES, max_size=8), versions=VERSIONS)
@example(environment={"NCCL_BLOCKING_WAIT": "1"}, versions={"torch": "0\x1f"})
def test_no_environment_breaks_the_lint(
    catalogue: Catalogue, environment: dict[str, str], versions: dict[str, str | None]
) -> None:
    """Whatever is set and installed, the lint answers, and nothing in its answer needs cleaning."""
    for observation in lint(catalogue.settings, catalogue.names, environment, versions):
        shown = observation.quotes[0].text + "".join(observation.values.values())
        assert not any(ord(char) < 32 for char in shown)


@pytest.mark.parametrize("name", ["NCCL_" + "A" * 5000, "\x1b[31mNCCL_DEBUG", "NCCL_\u202eDEBUG", "=", ""])
def test_odd_names_are_taken(observe: Observe, name: str) -> None:
    """Names that no shell could set are judged or left alone, never a crash."""
    observe({name: "1"}, **NEW)
