from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distkb_probes.environment.interfaces import interfaces
from distkb_probes.environment.names import resolve
from distkb_probes.environment.sockets import holders, parse_port, parse_row, try_listen

HOLD = """
import socket, sys
held = socket.socket(socket.AF_INET6 if sys.argv[1] == "::" else socket.AF_INET)
held.bind((sys.argv[1], 0)); held.listen()
print(held.getsockname()[1], flush=True)
sys.stdin.read()
"""


@pytest.fixture
def free_port() -> int:
    """Return a port on which nobody listens."""
    with socket.socket() as tried:
        tried.bind(("", 0))
        return int(tried.getsockname()[1])


@pytest.fixture(params=["0.0.0.0", "127.0.0.1", "::"])  # noqa: S104 - where torch's store listens
def held(request: pytest.FixtureRequest) -> Iterator[tuple[int, int]]:
    """Give a port that another process really holds, and that process's id."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, request.param], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        yield int(process.stdout.readline()), process.pid
        process.kill()


def test_a_held_port_is_taken_and_its_holder_found(held: tuple[int, int]) -> None:
    """Whatever address another process listens on, a store could not, and the process is named."""
    port, pid = held
    assert try_listen(port)["listen"] == "taken"
    seen = holders(port)
    assert [holder["pid"] for holder in seen["holders"]] == [pid]
    assert seen["holders"][0]["state"] == "listening"
    assert not seen["unseen"]


def test_a_free_port_is_free(free_port: int) -> None:
    """A port that nobody holds can be listened on, and is given back at once."""
    assert try_listen(free_port)["listen"] == "free"
    assert try_listen(free_port)["listen"] == "free"
    assert holders(free_port) == {"holders": [], "unseen": False, "closing": False}


@pytest.mark.parametrize("reuse", [True, False])
def test_a_port_in_time_wait_is_held_by_nobody(reuse: bool) -> None:
    """A connection that this side closed leaves its port in TIME_WAIT: no holder, and free if it had SO_REUSEADDR."""
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, reuse)
        server.bind(("127.0.0.1", 0))
        server.listen()
        port = int(server.getsockname()[1])
        with socket.create_connection(("127.0.0.1", port)) as client:
            accepted, _ = server.accept()
            accepted.close()
            assert client.recv(1) == b""
    assert try_listen(port)["listen"] == ("free" if reuse else "taken")
    assert holders(port) == {"holders": [], "unseen": False, "closing": True}


def test_a_port_at_the_local_end_of_a_connection_is_taken() -> None:
    """An outgoing connection that the kernel gave the port holds it as well, and says so."""
    with socket.socket() as server, socket.socket() as client:
        server.bind(("127.0.0.1", 0))
        server.listen()
        client.connect(server.getsockname())
        port = int(client.getsockname()[1])
        assert try_listen(port)["listen"] == "taken"
        assert {holder["state"] for holder in holders(port)["holders"]} == {"connected"}


@given(st.integers(0, 65535), st.sampled_from(["01", "0A", "07"]), st.integers(0, 1 << 32))
def test_rows_of_the_kernel_are_read(port: int, state: str, inode: int) -> None:
    """Port, state and inode of a row come out as they stand in it."""
    row = parse_row(f"   0: 0100007F:{port:04X} 00000000:0000 {state} 0:0 00:0 0  1000        0 {inode} 1 0 100 0")
    assert row is not None
    assert (row["address"], row["port"], row["uid"], row["inode"]) == ("127.0.0.1", port, 1000, inode)
    assert (row["state"] == "listening") == (state == "0A")


@given(st.text())
def test_what_is_no_row_is_left_out(line: str) -> None:
    """No text makes the reader of the table fail."""
    parse_row(line)


@given(st.integers())
def test_ports_are_read_like_int(number: int) -> None:
    """Any number comes back, whether it can be a port or not."""
    assert parse_port(f" {number} ") == number


@pytest.mark.parametrize("text", ["", "29500x", "tcp://10.0.0.1:29500", "2 9", "١x"])
def test_what_is_no_integer_is_no_port(text: str) -> None:
    """What int() refuses is no port."""
    assert parse_port(text) is None


def test_the_loopback_is_among_the_interfaces() -> None:
    """The interfaces of this machine are read with their addresses and flags."""
    (loopback,) = (row for row in interfaces() if row["name"] == "lo")
    assert loopback["loopback"]
    assert loopback["running"]
    assert "127.0.0.1" in loopback["addresses"]


def test_names_are_resolved() -> None:
    """A name of this machine resolves; one that cannot exist is unknown."""
    assert set(resolve("localhost")["addresses"]) <= {"127.0.0.1", "::1"}
    assert resolve("no-such-host.invalid")["error"] == "unknown"


def test_a_resolver_that_hangs_is_called_slow() -> None:
    """A name server that does not answer costs the limit and no more."""
    import threading

    stuck = threading.Event()

    def never(_name: str) -> list[str]:
        stuck.wait(10.0)
        return []

    answer = resolve("node0", never, limit_s=0.05)
    stuck.set()
    assert (answer["error"], answer["addresses"]) == ("slow", [])
