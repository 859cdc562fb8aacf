"""`kb check` finds what is wrong with settings and timers."""

from __future__ import annotations

from pathlib import Path

import pytest

from distkb.catalogue.check import check_directories
from distkb.catalogue.checks.idle import check_idle
from distkb.catalogue.checks.settings import check_settings
from distkb.catalogue.load import load_located
from distkb.catalogue.places import knowledge_bases

SOUND = """
settings:
  - id: ACME_WAIT
    name: ACME_WAIT
    kind: variable
    place: environment
    means: {en: How long ours waits., ko: 우리 것이 기다리는 시간입니다.}
    read_by: [{component: torch, since: '2.2', until: '2.4'}]
names:
  - {id: acme.more, component: acme, names: [ACME_OTHER, 'ACME_X_*']}
timers:
  - id: acme.wait
    title: {en: Ours waiting, ko: 우리 것이 기다리는 시간}
    ends: {en: It ends., ko: 끝납니다.}
    when: [backend=nccl]
    defaults: [{seconds: 5, component: torch}]
    knobs: [{setting: ACME_WAIT}]
    fired_by: [gloo.timeout]
"""


def problems(directory: Path, text: str) -> list[str]:
    """Check an overlay with this file of settings; returns the messages about it."""
    path = directory / "settings" / "acme.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    loaded = load_located(knowledge_bases([directory]))
    found = [*loaded.problems, *check_settings(loaded), *check_idle(loaded)]
    return [problem.message for problem in found if problem.path == str(path)]


def test_sound_records_have_no_problem(tmp_path: Path) -> None:
    """The sample that the others are made from is right."""
    assert problems(tmp_path, SOUND) == []
    assert not [one for one in check_directories(knowledge_bases([tmp_path])) if str(tmp_path) in str(one.path)]


def test_the_whole_check_finds_the_same(tmp_path: Path) -> None:
    """What is wrong with settings, timers and the findings that they name is said by `kb check` too."""
    unread = SOUND.replace("    read_by:", "    cautions: [{finding: acme.no, values: ['OFF']}]\n    read_by:", 1)
    found = problems(tmp_path, unread.replace("seconds: 5", "seconds: -5"))
    assert len(found) > 1
    assert {*found} <= {one.message for one in check_directories(knowledge_bases([tmp_path]))}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("since: '2.2'", "since: two", "'two' is no version"),
        ("since: '2.2', until: '2.4'", "since: '2.4', until: '2.2'", "comes before 'since'"),
        ("read_by:", "status: unread\n    read_by:", "'read_by' must be empty"),
        ("    read_by: [{component: torch, since: '2.2', until: '2.4'}]\n", "", "'read_by' is empty"),
        ("place: environment", "place: environment\n    status: renamed", "needs 'replaced_by'"),
        ("place: environment", "place: environment\n    status: removed", "needs 'changed'"),
        ("name: ACME_WAIT\n", "name: ACME_WAITS\n", "the id of a variable is its name"),
        ("place: environment", "place: environment\n    entry: D9999", "no entry or cause has the id 'D9999'"),
        ("[{setting: ACME_WAIT}]", "[{setting: ACME_WAITS}]", "no setting has the id 'ACME_WAITS': did you mean"),
        ("[{setting: ACME_WAIT}]", "[{setting: ACME_WAIT, factor: 0}]", "'factor' must be above 0"),
        ("    read_by:", "    cautions: [{finding: acme.no, values: ['OFF']}]\n    read_by:", "compared in lower case"),
        (
            "    read_by:",
            "    cautions: [{finding: acme.no, component: torch, since: '2.6'}]\n    read_by:",
            "no version that it is about reads the name",
        ),
        ("fired_by:", "not_moved_by: [ACME_WAIT]\n    fired_by:", "is also among the knobs"),
        ("gloo.timeout", "gloo.timeouts", "no signature or finding is called"),
        ("backend=nccl", "moon=full", "must be backend=, launcher=, framework= or rendezvous="),
        ("seconds: 5", "seconds: -5", "'seconds' cannot be negative"),
        ("[{seconds: 5, component: torch}]", "[]", "'defaults' is empty"),
        ("ACME_OTHER", "acme other", "is no name of a variable"),
        ("ACME_OTHER", "ACME_WAIT", "'ACME_WAIT' is already known"),
        (
            "place: environment",
            "place: environment\n    cautions: [{finding: settings.nothing}]",
            "no finding is called 'settings.nothing'",
        ),
        (
            "place: environment",
            "place: environment\n    cautions: [{finding: settings.unit}]",
            "uses {amount}, which nobody gives it",
        ),
        ("place: environment", "place: environment\n    replaced_by: [ACME_WAIT]", "cannot replace itself"),
    ],
)
def test_each_fault_is_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    """One thing made wrong brings one message that says so."""
    assert old in SOUND
    found = problems(tmp_path, SOUND.replace(old, new, 1))
    assert any(message in problem for problem in found), found
