"""The port of the store: whether it can be opened here, and who is in its place."""

from __future__ import annotations

from typing import Any

from distkb.evidence.observation import Quote
from distkb.probing.env.network import master_is_here
from distkb.probing.env.verdict import EnvVerdict, quote
from distkb.probing.env.view import EnvProcess, View, integer, records

_LAST_PORT = 65535


def judge(view: View, verdict: EnvVerdict) -> None:
    """Judge the port that MASTER_PORT names, or the one that torchrun would take."""
    port = view.part("port")
    here = view.here
    if not port or here is None:
        return
    number = integer(port.get("port"))
    if "MASTER_PORT" in here and number is not None:
        verdict.look("env.master-port-invalid")
        if not 0 < number <= _LAST_PORT:
            verdict.find("env.master-port-invalid", here.quote("MASTER_PORT"), {"port": number})
            return
        _range(port, number, here, verdict)
    if number is None or port.get("foreign_net"):
        return
    holders = records(port.get("holders"))
    if view.live:
        _live(view, number, holders, verdict)
    elif _would_listen(view, here):
        _before(port, number, holders, here, verdict)


def _would_listen(view: View, here: EnvProcess) -> bool:
    """Say whether the store would be opened on this machine by what runs in this environment."""
    return here.rank in (None, 0) and here.get("TORCHELASTIC_USE_AGENT_STORE") != "True" and master_is_here(view)


def _range(port: dict[str, Any], number: int, here: EnvProcess, verdict: EnvVerdict) -> None:
    ephemeral = port.get("ephemeral")
    if isinstance(ephemeral, list) and len(ephemeral) == 2 and not here.elastic and (here.rank or 0) == 0:
        low, high = integer(ephemeral[0]) or 0, integer(ephemeral[1]) or 0
        verdict.look("env.master-port-ephemeral")
        if low <= number <= high:
            verdict.find(
                "env.master-port-ephemeral", here.quote("MASTER_PORT"), {"port": number, "low": low, "high": high}
            )


def _before(
    port: dict[str, Any], number: int, holders: list[dict[str, Any]], here: EnvProcess, verdict: EnvVerdict
) -> None:
    """Judge a port that a launch from this environment would open."""
    if port.get("listen") not in ("free", "taken", "denied"):
        return
    named = port.get("source") == "MASTER_PORT"
    verdict.look("env.master-port-denied", "env.master-port-leftover")
    verdict.look("env.master-port-taken" if named else "env.default-port-taken")
    quotes = here.quote("MASTER_PORT")
    if port.get("listen") == "denied":
        first = port.get("first_unprivileged", 1024)
        verdict.find("env.master-port-denied", quotes, {"port": number, "first": first})
    strangers = [holder for holder in holders if not holder.get("ours")]
    if port.get("listen") != "taken" or (holders and not strangers):
        return
    if not strangers and port.get("closing"):
        verdict.find(
            "env.master-port-closing", quotes or [quote(f"TIME_WAIT :{number}", "/proc/net/tcp")], {"port": number}
        )
    elif not strangers:
        identity = "env.master-port-taken-unseen" if named else "env.default-port-taken-unseen"
        verdict.find(identity, quotes, {"port": number, "user": "?"})
    else:
        holder = strangers[0]
        verdict.find(_taken(holder, named=named), [*quotes, *map(_quote, strangers)], _values(number, holder))


def _taken(holder: dict[str, Any], *, named: bool) -> str:
    if holder.get("pid") is None:
        return "env.master-port-taken-unseen" if named else "env.default-port-taken-unseen"
    if holder.get("state") != "listening":
        return "env.master-port-outgoing"
    if holder.get("rank") is not None and holder.get("parent") == 1:
        return "env.master-port-leftover"
    if named:
        return "env.master-port-taken"
    return "env.default-port-busy" if holder.get("launch") else "env.default-port-taken"


def _live(view: View, number: int, holders: list[dict[str, Any]], verdict: EnvVerdict) -> None:
    """Judge the port of a launch that is running: one of its own processes has to hold it."""
    zero = next((process for process in view.ranks if process.rank == 0), None)
    if zero is None or not master_is_here(view) or any(holder.get("pid") is None for holder in holders):
        return
    listening = [holder for holder in holders if holder.get("state") == "listening"]
    verdict.look("env.live-port-foreign")
    if listening and not any(holder.get("ours") for holder in listening):
        verdict.find(
            "env.live-port-foreign",
            [*zero.quote("MASTER_PORT"), *map(_quote, listening)],
            _values(number, listening[0]),
        )
    elif not listening:
        verdict.find(
            "env.live-store-not-listening", zero.quote("MASTER_ADDR", "MASTER_PORT"), {"port": number, "pid": zero.pid}
        )


def _values(number: int, holder: dict[str, Any]) -> dict[str, object]:
    return {
        "port": number,
        "pid": holder.get("pid") if holder.get("pid") is not None else "?",
        "user": holder.get("owner") or "?",
        "command": holder.get("command") or "?",
    }


def _quote(holder: dict[str, Any]) -> Quote:
    pid = holder.get("pid")
    if pid is None:
        text = f"uid {holder.get('uid')} {holder.get('address')} {holder.get('state')}"
        return quote(text, "/proc/net/tcp")
    return quote(str(holder.get("command") or f"pid {pid}"), f"/proc/{pid}/cmdline")
