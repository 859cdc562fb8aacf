"""`distkb probe network`: its options, and what it shows."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

DISTKB = str(Path(sys.executable).with_name("distkb"))


def run(*arguments: str, lang: str = "en") -> subprocess.CompletedProcess[str]:
    """Run the probe as a user does."""
    return subprocess.run(
        [DISTKB, "probe", "network", *arguments, "--lang", lang],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ("--listen", "--peer", "node1"),
        ("--peer", "node1:http"),
        ("--peer", ":29400"),
        ("--peer", "-x"),
        ("--listen", "--token", "short"),
        ("--port", "70000", "--listen"),
    ],
)
def test_what_makes_no_sense_is_one_line(arguments: tuple[str, ...]) -> None:
    """Wrong usage ends with 2, before anything is started."""
    done = run(*arguments)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) <= 2
    assert done.stderr.startswith("distkb: error: ")


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_this_host_is_shown_within_80_columns(lang: str) -> None:
    """Interfaces, and what NCCL and Gloo would use here and why."""
    from distkb.report.layout import width

    done = run(lang=lang)
    assert "NCCL: " in done.stdout
    assert "Gloo: " in done.stdout
    assert re.search(r"^ +lo +", done.stdout, re.MULTILINE)
    assert max(width(line) for line in done.stdout.splitlines()) <= 80


@pytest.mark.slow
def test_two_ends_on_one_machine_meet() -> None:
    """The listener prints the command of the other end; both answer, and the token is not in what they print."""
    listening = subprocess.Popen(
        [DISTKB, "probe", "network", "--listen", "--port", "29471", "--json", "--lang", "en"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    timer = threading.Timer(100, listening.kill)
    timer.start()
    try:
        assert listening.stderr is not None
        line = listening.stderr.readline()
        token = line.split("--token ")[1].strip()
        assert ":29471 " in line
        called = run("--peer", "127.0.0.1:29471", "--token", token, "--json")
        answer, _ = listening.communicate(timeout=120)
    finally:
        timer.cancel()
        listening.kill()
        listening.wait()
    for text in (called.stdout, answer):
        document = json.loads(text)
        assert document["status"] in ("ok", "findings")
        assert document["facts"]["peer"]["seen"]["peer"] == "127.0.0.1"
        assert token not in text
    # Both ends are this machine, which is what the probe says of them.
    assert "network.same-host-identity" in {item["id"] for item in json.loads(answer)["findings"]}


@pytest.mark.parametrize("told", [["127.0.0.1", "--port", "29473"], ["127.0.0.1:29473"]])
def test_a_listener_binds_the_address_it_is_told(told: list[str]) -> None:
    """`--listen 127.0.0.1` opens the port there and at no other address, and prints that address."""
    listening = subprocess.Popen(
        [DISTKB, "probe", "network", "--listen", *told, "--json", "--lang", "en"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    timer = threading.Timer(100, listening.kill)
    timer.start()
    try:
        assert listening.stderr is not None
        assert "127.0.0.1:29473 " in listening.stderr.readline()
        with socket.create_connection(("127.0.0.1", 29473), timeout=10):
            pass
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.2", 29473), timeout=10)
    finally:
        timer.cancel()
        listening.kill()
        listening.wait()
