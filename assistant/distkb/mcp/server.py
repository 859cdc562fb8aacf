"""The tools, resources and prompts of the server; each tool is a command, and answers what the command prints."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import Field

from distkb import __version__
from distkb.evidence.text.clean import quote_text
from distkb.locale import Say
from distkb.mcp.calls import CallFailedError, call

DEADLINE_S, MOST_S = 120.0, 600.0
"""Seconds that a call may take, and that one may ask for."""

Paths = Annotated[list[str], Field(min_length=1, description="PATHS")]
Deadline = Annotated[float, Field(ge=1, le=MOST_S)]


class Server:
    """The server for some roots."""

    def __init__(self, roots: Sequence[Path], overlays: Sequence[Path], say: Say, *, allow_probes: bool) -> None:
        """Make it; `overlays` are knowledge bases beside ours."""
        self._shared = ["--lang", say.lang, *(f"--kb={overlay}" for overlay in overlays)]
        self._roots = [root.resolve() for root in roots]
        self._say = say
        self.server: MCPServer[Any] = MCPServer(
            "distkb", version=__version__, instructions=say("agent.what"), log_level="ERROR"
        )
        self._add_tools(allow_probes=allow_probes)
        self._add_resources()
        self._add_prompts()

    def run(self) -> None:
        """Serve on stdin and stdout until the client goes."""
        self.server.run("stdio")

    async def _call(self, context: Context[Any] | None, args: Sequence[str], deadline_s: float = DEADLINE_S) -> str:
        async def progress(done: float, total: float) -> None:
            if context is not None:
                await context.report_progress(done, total)

        try:
            return await call([*self._shared, *args], self._roots, deadline_s=deadline_s, progress=progress)
        except CallFailedError as why:
            raise ToolError(str(why)) from None

    def _inside(self, paths: Sequence[str]) -> list[str]:
        """Return paths as they were given; ToolError for one that lies outside the roots."""
        for path in paths:
            try:
                real = Path(path).resolve()
            except (OSError, ValueError, RuntimeError):
                real = None
            if real is None or not any(real.is_relative_to(root) for root in self._roots):
                roots = ", ".join(map(str, self._roots))
                raise ToolError(self._say("agent.error.outside", path=quote_text(path), roots=roots))
        return list(paths)

    def _tool(self, function: Any, name: str, key: str, *, live: bool = False) -> None:
        hints = ToolAnnotations(read_only_hint=not live, destructive_hint=False, open_world_hint=False)
        self.server.add_tool(
            function, name=name, description=self._say(key), annotations=hints, structured_output=False
        )

    def _add_tools(self, *, allow_probes: bool) -> None:
        async def digest(  # noqa: PLR0913, PLR0917 - the options of the command
            paths: Paths,
            context: Context[Any],
            more: str | None = None,
            rank: int | None = None,
            around: str | None = None,
            tokens: int = 3000,
            as_json: bool = False,
            deadline_s: Deadline = DEADLINE_S,
        ) -> str:
            args = ["digest", "--json", "--tokens", str(tokens)]
            for option, value in (("--more", more), ("--rank", rank), ("--around", around)):
                args += [] if value is None else [f"{option}={value}"]
            printed = await self._call(context, [*args, "--", *self._inside(paths)], deadline_s)
            return printed if as_json else self._as_text(printed)

        async def diagnose(
            paths: Paths, context: Context[Any], facts: dict[str, str] | None = None, deadline_s: Deadline = DEADLINE_S
        ) -> str:
            given = [f"--fact={name}={value}" for name, value in (facts or {}).items()]
            return await self._call(context, ["diagnose", "--json", *given, "--", *self._inside(paths)], deadline_s)

        async def search(words: str, context: Context[Any], limit: Annotated[int, Field(ge=1, le=50)] = 10) -> str:
            return await self._call(context, ["search", "--json", "-n", str(limit), "--", words])

        async def show(name: str, context: Context[Any]) -> str:
            return await self._call(context, ["show", "--json", "--", name])

        self._tool(digest, "digest", "help.digest")
        self._tool(diagnose, "diagnose", "help.diagnose")
        self._tool(search, "search", "help.search")
        self._tool(show, "show", "help.show")
        for kind in ("script", "launch", "fsdp", "flight-recorder", "stacks"):
            self._tool(self._reading(kind), f"probe_{kind.replace('-', '_')}", f"help.probe.{kind}")
        if allow_probes:
            self._tool(self._live("stacks", "--pid"), "live_stacks", "help.probe.stacks", live=True)
            self._tool(self._live("env"), "live_env", "help.probe.env", live=True)

    def _reading(self, kind: str) -> Any:
        """Return the tool of a probe that only reads files."""

        async def probe(paths: Paths, context: Context[Any], deadline_s: Deadline = DEADLINE_S) -> str:
            return await self._call(context, ["probe", kind, "--json", "--", *self._inside(paths)], deadline_s)

        return probe

    def _live(self, kind: str, option: str = "") -> Any:
        """Return the tool of a probe that looks at this machine."""

        async def with_pids(
            context: Context[Any], pids: list[int] | None = None, deadline_s: Deadline = DEADLINE_S
        ) -> str:
            given = [f"{option}={pid}" for pid in pids or ()]
            return await self._call(context, ["probe", kind, "--json", *given], deadline_s)

        async def alone(context: Context[Any], deadline_s: Deadline = DEADLINE_S) -> str:
            return await self._call(context, ["probe", kind, "--json"], deadline_s)

        return with_pids if option else alone

    def _as_text(self, printed: str) -> str:
        import msgspec

        from distkb.report.digest.model import Digest
        from distkb.report.digest.text import write

        return write(msgspec.json.decode(printed, type=Digest), self._say)

    def _add_resources(self) -> None:
        async def entries() -> str:
            return await self._call(None, ["list", "--json"])

        async def entry(name: str) -> str:
            return await self._call(None, ["show", "--json", "--", name])

        add = self.server.resource
        add("distkb://entries", name="entries", description=self._say("help.list"), mime_type="application/json")(
            entries
        )
        for kind in ("entry", "setting"):
            add(
                f"distkb://{kind}/{{name}}",
                name=kind,
                description=self._say("help.show"),
                mime_type="application/json",
            )(entry)

    def _add_prompts(self) -> None:
        for name in ("hang", "crash", "wrong"):
            self.server.prompt(name, description=self._say(f"agent.prompt.{name}.short"))(self._prompt(name))

    def _prompt(self, name: str) -> Any:
        def prompt(paths: str) -> str:
            return self._say(f"agent.prompt.{name}", paths=paths)

        return prompt
