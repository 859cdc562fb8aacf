"""The two ends of the network probe, as they are typed into the screen."""

from __future__ import annotations

import pytest

from distkb.probing import peers
from distkb.probing.run import Stage

TOKEN = "0123456789abcdef"  # noqa: S105 - of nobody


def test_the_command_that_one_end_prints_starts_the_other() -> None:
    """Nothing waits; the whole command for the other end is understood, and so are its host and token alone."""
    request, deadline_s = peers.typed("  ")
    assert request["listen"]
    assert deadline_s > peers.DEADLINE_S
    waiting = Stage("network.waiting", {"addresses": "10.0.0.4 fd00::2", "port": "29400"})
    command = peers.start_other(waiting, {**request, "token": TOKEN})
    assert command is not None
    wanted = {"peer": "10.0.0.4", "port": 29400, "token": TOKEN}
    assert peers.typed(command)[0] == wanted == peers.typed(f"10.0.0.4 {TOKEN}")[0]
    assert peers.start_other("a line", request) is None


@pytest.mark.parametrize("text", ["-x", "host:port", "host:29400 short"])
def test_what_is_no_address_is_refused(text: str) -> None:
    """No process is started for it."""
    with pytest.raises(peers.NoPeerError):
        peers.typed(text)
