"""Sessions on disk: nothing that was saved is lost, and nothing that is broken is shown as if it were whole."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from distkb.diagnosis.session import Answered, DontKnow, EvidenceAdded, FixTried, Session
from distkb.evidence.observation import Evidence, Observation, Quote
from distkb.sessions import store
from distkb.sessions.store import SessionError

HANG = Answered(question="symptom", values=("hang",))
UNKNOWN = DontKnow(question="phase")
QUOTE = Quote(text="멈췄습니다 – stuck", path="logs/0.log", line=7, rank=0)
READ = EvidenceAdded(
    label="logs", evidence=Evidence(observations=(Observation(id="gloo.timeout", source="log", quotes=(QUOTE,)),))
)
TRIED = FixTried(fix="D21.a.1", outcome="did-not-help")

WRITER = """
import sys
from pathlib import Path
from distkb.diagnosis.session import Answered
from distkb.sessions import store
directory = Path(sys.argv[1])
session = store.new("killed", directory)
print(session.id, flush=True)
number = 0
while True:
    number += 1
    session = store.append(session, Answered(question=f"q{number}", values=("x" * 2000,)), directory)
    print(number, flush=True)
"""


def test_what_is_appended_is_loaded(tmp_path: Path) -> None:
    """Every event comes back as it was, in order, with title and time."""
    session = store.new("It hangs", tmp_path)
    for event in (HANG, READ, UNKNOWN, TRIED):
        session = store.append(session, event, tmp_path)
    assert store.load(session.id, tmp_path) == session
    assert session.events == (HANG, READ, UNKNOWN, TRIED)
    assert session.title == "It hangs"
    assert session.started


def test_saving_whole_replaces_what_was_there(tmp_path: Path) -> None:
    """`save` writes the session as it is and leaves no other file behind."""
    session = store.new(directory=tmp_path).apply(HANG)
    store.save(session, tmp_path)
    store.save(session.apply(TRIED), tmp_path)
    assert store.load(session.id, tmp_path).events == (HANG, TRIED)
    assert len(list(tmp_path.iterdir())) == 1


def test_kill_in_mid_session_loses_at_most_the_last_key(tmp_path: Path) -> None:
    """SIGKILL while events are being appended: all that were acknowledged are there, and the session goes on."""
    for _ in range(3):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE, text=True
        ) as writer:
            assert writer.stdout is not None
            name = writer.stdout.readline().strip()
            while writer.stdout.readline().strip() != "20":
                pass
            writer.send_signal(signal.SIGKILL)
            acknowledged = 20 + len(writer.stdout.read().split())
        session = store.load(name, tmp_path)
        assert len(session.events) >= acknowledged
        assert len(session.events) <= acknowledged + 1
        assert store.append(session, HANG, tmp_path) == store.load(name, tmp_path)


def test_half_a_line_is_dropped_and_written_over(tmp_path: Path) -> None:
    """A crash within a write leaves a torn line: the events before it stand, and the next one is not glued to it."""
    session = store.append(store.new(directory=tmp_path), HANG, tmp_path)
    path = tmp_path / f"{session.id}.jsonl"
    path.write_bytes(path.read_bytes() + b'{"type":"answered","quest')
    loaded = store.load(session.id, tmp_path)
    assert loaded == session
    after = store.append(loaded, TRIED, tmp_path)
    assert store.load(session.id, tmp_path) == after
    assert after.events == (HANG, TRIED)


def test_a_file_name_that_is_no_text_can_be_saved(tmp_path: Path) -> None:
    """Bytes that no encoding knows are replaced; the event is not lost."""
    strange = EvidenceAdded(label="caf\udce9.log", evidence=Evidence(), paths=("caf\udce9.log",))
    session = store.append(store.new(directory=tmp_path), strange, tmp_path)
    assert store.load(session.id, tmp_path).events[0].label == "caf?.log"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "broken"),
        (b"\xff\xfe\n", "broken"),
        (b"not json\n", "broken"),
        (b'{"schema":"distkb.session/9","id":"x","started":"","title":"","version":"9"}\n', "other-version"),
        (b'{"schema":"distkb.session/1","id":"y","started":"","title":"","version":"1"}\n', "broken"),
        (
            b'{"schema":"distkb.session/1","id":"x","started":"","title":"","version":"9"}\n{"type":"new"}\n',
            "other-version",
        ),
    ],
)
def test_what_is_no_session_is_refused_with_a_reason(tmp_path: Path, content: bytes, code: str) -> None:
    """Damage and other versions are told apart; neither is a traceback of something else."""
    (tmp_path / "x.jsonl").write_bytes(content)
    with pytest.raises(SessionError) as caught:
        store.load("x", tmp_path)
    assert caught.value.code == code


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "", "a/b", "..", "A", "x" * 65, "x\n"])
def test_a_name_cannot_leave_the_directory(tmp_path: Path, name: str) -> None:
    """Only plain names are sessions: no path, no empty name."""
    with pytest.raises(SessionError) as caught:
        store.load(name, tmp_path)
    assert caught.value.code == "bad-name"


def test_a_session_that_does_not_exist_is_missing(tmp_path: Path) -> None:
    """Asking for it, or for the latest of none, says so."""
    with pytest.raises(SessionError) as caught:
        store.load("none", tmp_path)
    assert caught.value.code == "missing"
    with pytest.raises(SessionError) as caught:
        store.latest(tmp_path / "nowhere")
    assert caught.value.code == "missing"


def test_the_list_is_in_order_of_work_and_leaves_out_what_is_broken(tmp_path: Path) -> None:
    """The session that was worked on last comes first, whenever it was begun."""
    first, second = store.new("first", tmp_path), store.new("second", tmp_path)
    os.utime(tmp_path / f"{second.id}.jsonl", (1, 1))
    (tmp_path / "junk.jsonl").write_text("junk\n")
    assert [saved.title for saved in store.list_sessions(tmp_path)] == ["first", "second"]
    assert store.latest(tmp_path) == first
    store.delete(first.id, tmp_path)
    assert store.latest(tmp_path) == second


def test_only_the_owner_may_read_a_session(tmp_path: Path) -> None:
    """Logs hold private things."""
    directory = tmp_path / "state"
    session = store.append(store.new(directory=directory), READ, directory)
    assert stat.S_IMODE((directory / f"{session.id}.jsonl").stat().st_mode) == 0o600
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700


def test_secrets_and_escapes_do_not_get_into_the_title(tmp_path: Path) -> None:
    """What a person pasted is masked before it becomes the name of the session."""
    session = store.new("\x1b[31mtoken=hf_abcdefghijklmnopqrst fails\nnext", tmp_path)
    assert "hf_" not in session.title
    assert "\x1b" not in session.title
    assert "\n" not in session.title


def test_what_somebody_else_wrote_into_a_session_is_fit_to_show_when_it_is_loaded(tmp_path: Path) -> None:
    """No event and no title of a journal brings an override of the direction or a secret with it."""
    header = {"schema": store.SCHEMA, "id": "x", "started": "now\u202e", "title": "\u202epassword=Pw1", "version": "1"}
    event = {"type": "fix-tried", "fix": "\u202e\x1b[31mhf_AbCdEfGhIjKlMnOpQrStUvWx", "outcome": "did-not-help"}
    (tmp_path / "x.jsonl").write_text(json.dumps(header) + "\n" + json.dumps(event) + "\n", encoding="utf-8")
    shown = repr(store.load("x", tmp_path)) + repr(store.list_sessions(tmp_path))
    assert not any(odd in shown for odd in ("\\u202e", "\\x1b", "Pw1", "AbCdEf"))


def test_a_directory_that_cannot_be_written_is_an_error_of_ours(tmp_path: Path) -> None:
    """A file where the directory should be gives a reason, not a traceback."""
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(SessionError) as caught:
        store.save(Session(id="x"), blocked)
    assert caught.value.code == "unwritable"


def test_the_state_directory_follows_the_desktop_rules(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The same place as platformdirs names, with and without XDG_STATE_HOME."""
    platformdirs = pytest.importorskip("platformdirs")
    for value in (str(tmp_path), ""):
        monkeypatch.setenv("XDG_STATE_HOME", value)
        assert store.state_directory() == platformdirs.user_state_path("distkb", appauthor=False) / "sessions"
