"""`distkb mcp`, called by the SDK's own client: the tools answer what the commands print, and read what they may."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError
from mcp_types import TextContent, TextResourceContents

PROGRAM = str(Path(sys.executable).with_name("distkb"))
LOG = """\
[rank0]: Traceback (most recent call last):
[rank0]:   File "{script}", line 3, in <module>
[rank0]:     dist.barrier()
[rank0]: RuntimeError: [../third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:78] Timed out waiting 8000ms for recv
"""
SCRIPT = "import torch.distributed as dist\nif dist.get_rank() == 0:\n    dist.barrier()\n"
PLAIN = {"DISTKB_LANG": "en"}
READING = {
    "digest",
    "diagnose",
    "search",
    "show",
    "probe_script",
    "probe_fsdp",
    "probe_launch",
    "probe_flight_recorder",
    "probe_stacks",
}
BIG, LINKS = 64 << 20, 1000
"""Bytes of a log, and how often it lies in a folder: reading all of it takes long enough to be stopped."""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run and its script; beside it, outside of the root, another script and a log."""
    outside = tmp_path_factory.mktemp("all")
    (outside / "secret.py").write_text(SCRIPT + "password = 1\n")
    (outside / "other.log").write_text("step 1 loss 0.5\n")
    folder = outside / "root"
    (folder / "run").mkdir(parents=True)
    (folder / "train.py").write_text(SCRIPT)
    (folder / "run" / "rank0.log").write_text(LOG.format(script=folder / "train.py"))
    (folder / "link").mkdir()
    (folder / "link" / "rank0.log").symlink_to(outside / "other.log")
    (folder / "lure").mkdir()
    (folder / "lure" / "rank0.log").write_text(LOG.format(script=outside / "secret.py"))
    return folder


@pytest.fixture(scope="module")
def large(root: Path) -> Path:
    """A run that takes long to read."""
    folder = root / "large"
    folder.mkdir()
    line = b"2026-11-25 10:00:00 INFO rank 0 step 12 loss 0.5123 lr 1.0e-04 tokens 9123\n"
    (folder / "rank0.log").write_bytes(line * (BIG // len(line)))
    for number in range(1, LINKS):
        os.link(folder / "rank0.log", folder / f"rank{number}.log")
    return folder


def serve(root: Path, work: Callable[[Client], Awaitable[None]], *options: str) -> None:
    """Start the server for a root and let a client work with it."""
    server = StdioServerParameters(command=PROGRAM, args=["mcp", "--root", str(root), *options], env=PLAIN)

    async def main() -> None:
        with anyio.fail_after(150):
            async with Client(server) as client:
                await work(client)

    anyio.run(main)


def printed(*args: str) -> str:
    """What a command prints."""
    result = subprocess.run(
        [PROGRAM, *args, "--json"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, **PLAIN},
    )
    return result.stdout


async def answer(client: Client, tool: str, **arguments: object) -> tuple[bool, str]:
    """Whether a tool failed, and what it said."""
    result = await client.call_tool(tool, arguments)
    content = result.content[0]
    assert isinstance(content, TextContent)
    return bool(result.is_error), content.text


def below(marker: Path) -> list[str]:
    """Processes that work on a path, the clients' and the servers' own left out."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            line = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if f"-- {marker}" in line:
            found.append(line)
    return found


@pytest.mark.slow
def test_tools_answer_what_the_commands_print(root: Path) -> None:
    """Byte for byte, for each of them."""
    run, script = str(root / "run"), str(root / "train.py")

    async def work(client: Client) -> None:
        assert {tool.name for tool in (await client.list_tools()).tools} == READING
        assert (False, printed("diagnose", run)) == await answer(client, "diagnose", paths=[run])
        facts = {"symptom": "hang"}
        told = printed("diagnose", run, "--fact", "symptom=hang")
        assert (False, told) == await answer(client, "diagnose", paths=[run], facts=facts)
        assert (False, printed("digest", run, script)) == await answer(
            client, "digest", paths=[run, script], as_json=True
        )
        assert (False, printed("search", "hang barrier")) == await answer(client, "search", words="hang barrier")
        assert (False, printed("show", "D21")) == await answer(client, "show", name="D21")
        _, shown = await answer(client, "probe_script", paths=[script])
        assert shown == printed("probe", "script", script)

    serve(root, work)


def test_a_digest_is_text_unless_json_is_asked_for(root: Path) -> None:
    """It costs an agent no more than it has to."""

    async def work(client: Client) -> None:
        failed, text = await answer(client, "digest", paths=[str(root / "run")], tokens=1000)
        assert not failed
        assert text.splitlines()[0].startswith(("[run]", "Files"))
        _, around = await answer(client, "digest", paths=[str(root / "run")], around="rank0.log:4")
        assert "Timed out waiting 8000ms" in around

    serve(root, work)


def test_nothing_outside_the_roots_is_read(root: Path) -> None:
    """Neither a path, nor what a link leads to, nor a script that a log names; an option in a path is no option."""

    async def work(client: Client) -> None:
        for path in ("/etc", str(root.parent / "other.log"), f"{root}/../other.log", "\0"):
            failed, said = await answer(client, "digest", paths=[path])
            assert failed
            assert "outside the roots" in said
        _, linked = await answer(client, "diagnose", paths=[str(root / "link")])
        assert '"reason": "outside"' in linked
        _, lured = await answer(client, "digest", paths=[str(root / "lure")], as_json=True)
        assert "password" not in lured
        assert '"name": "scripts"' not in lured
        failed, said = await answer(client, "show", name="--help")
        assert failed
        assert "--help" in said

    serve(root, work)


@pytest.mark.slow
def test_a_call_has_a_deadline_and_says_how_far_it_is(root: Path, large: Path) -> None:
    """It ends in time with one line, and what it had started is gone."""
    told: list[tuple[float, float | None]] = []

    async def listen(progress: float, total: float | None, message: str | None) -> None:  # noqa: ARG001
        told.append((progress, total))

    async def work(client: Client) -> None:
        for deadline in (3, 12, 48):  # a loaded machine has hardly begun to read after the first
            given = {"paths": [str(large)], "deadline_s": deadline}
            result = await client.call_tool("diagnose", given, progress_callback=listen)
            assert result.is_error
            content = result.content[0]
            assert isinstance(content, TextContent)
            assert f"deadline: {deadline} s" in content.text
            if told:
                break
        assert await answer(client, "search", words="hang") == (False, printed("search", "hang"))

    serve(root, work)
    assert told
    assert all(total == (BIG // 76) * 76 * LINKS or total for _, total in told)
    assert not below(large)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks processes up in /proc")
def test_a_call_that_is_cancelled_leaves_nothing_behind(root: Path, large: Path) -> None:
    """The process that reads ends with the call; the server goes on."""

    async def work(client: Client) -> None:
        seen: list[str] = []
        with anyio.CancelScope() as scope:

            async def listen(progress: float, total: float | None, message: str | None) -> None:  # noqa: ARG001
                seen.extend(below(large))
                scope.cancel()

            await client.call_tool("digest", {"paths": [str(large)]}, progress_callback=listen)
        assert scope.cancelled_caught
        assert seen
        until = time.monotonic() + 60
        while below(large) and time.monotonic() < until:
            await anyio.sleep(0.1)
        assert not below(large)
        assert not (await answer(client, "search", words="hang"))[0]

    serve(root, work)


def test_resources_and_prompts_are_there(root: Path) -> None:
    """Entries and settings can be read, and each of the usual questions has a prompt that calls the digest."""

    async def read(client: Client, uri: str) -> str:
        content = (await client.read_resource(uri)).contents[0]
        assert isinstance(content, TextResourceContents)
        return content.text

    async def work(client: Client) -> None:
        assert await read(client, "distkb://entries") == printed("list")
        assert await read(client, "distkb://entry/D21") == printed("show", "D21")
        assert await read(client, "distkb://setting/NCCL_DEBUG") == printed("show", "NCCL_DEBUG")
        with pytest.raises(MCPError):
            await read(client, "distkb://entry/D99999")
        names = [prompt.name for prompt in (await client.list_prompts()).prompts]
        assert names == ["hang", "crash", "wrong"]
        for name in names:
            message = (await client.get_prompt(name, {"paths": "logs/"})).messages[0].content
            assert isinstance(message, TextContent)
            assert "`digest`" in message.text
            assert "logs/" in message.text

    serve(root, work)


def test_live_probes_are_offered_only_where_they_are_allowed(root: Path) -> None:
    """Without the option no tool looks at a process or at the machine."""

    async def work(client: Client) -> None:
        tools = (await client.list_tools()).tools
        assert {tool.name for tool in tools} == READING | {"live_stacks", "live_env"}
        reading = {t.name for t in tools if t.annotations is not None and t.annotations.read_only_hint}
        assert reading == READING

    serve(root, work, "--allow-probes")


def test_a_root_that_is_no_folder_is_wrong_usage(root: Path) -> None:
    """One line says so."""
    result = subprocess.run(
        [PROGRAM, "mcp", "--root", str(root / "none")], capture_output=True, text=True, timeout=60, check=False
    )
    assert (result.returncode, result.stdout) == (2, "")
    assert len(result.stderr.splitlines()) == 1
