"""The screen of `distkb probe network`: the interfaces, what would be used and why, and the way between two hosts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from distkb.locale import Say
from distkb.probing.env.view import records
from distkb.report.layout import clean, cut, pad, width
from distkb.report.page import Ink, Page, plain

_ROWS = 16
_WIDEST = 20
_COLUMNS = ("name", "kind", "state", "mtu", "speed", "address")


def write(facts: Mapping[str, Any], say: Say, *, columns: int = 80, ink: Ink = plain) -> str:
    """Return the screen for the facts of the probe; empty where they are missing."""
    page = Page(columns, ink)
    _interfaces(page, facts, say)
    _choices(page, facts, say)
    _between(page, facts, say)
    text = page.text()
    return text if text.strip() else ""


def _part(facts: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    value: Any = facts
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def _interfaces(page: Page, facts: Mapping[str, Any], say: Say) -> None:
    rows = [_cells(row, say) for row in records(facts.get("interfaces"))]
    if not rows:
        return
    page.heading(say("network.table.interfaces"))
    table = [[say(f"network.table.{name}") for name in _COLUMNS], *rows[:_ROWS]]
    rooms = [min(_WIDEST, max(width(row[index]) for row in table)) for index in range(len(_COLUMNS) - 1)]
    for number, row in enumerate(table):
        cells = [pad(cut(cell, room), room) for cell, room in zip(row, rooms, strict=False)]
        text = "  ".join([*cells, row[-1]]).rstrip()
        page.line(cut(text, page.columns - 2), "  ", None if number else "faint")


def _cells(row: Mapping[str, Any], say: Say) -> list[str]:
    kind = f"network.kind.{row.get('kind')}"
    addresses = [str(address) for address in row.get("networks") or () if not str(address).startswith("fe80:")]
    return [
        clean(str(row.get("name"))),
        say(kind) if say.knows(kind) else clean(str(row.get("kind"))),
        say("network.state.up" if row.get("running") else "network.state.down"),
        str(row.get("mtu") or "-"),
        str(row.get("speed") or "-"),
        clean(", ".join(addresses[:2])) or "-",
    ]


def _choices(page: Page, facts: Mapping[str, Any], say: Say) -> None:
    if not _part(facts, "nccl"):
        return
    page.heading(say("network.would-use"))
    hostname = clean(str(_part(facts, "host").get("hostname", "?")))
    for library in ("nccl", "gloo"):
        chosen = _part(facts, library)
        names = [f"{row.get('name')} ({row.get('address')})" for row in records(chosen.get("interfaces"))]
        key = f"network.{library}.{chosen.get('why')}"
        if say.knows(key):
            page.paragraph(say(key, interfaces=clean(", ".join(names)), hostname=hostname))
    master, way = _part(facts, "names", "master"), _part(facts, "master_way")
    if master and way:
        addresses = clean(", ".join(map(str, master.get("addresses") or ()))) or "?"
        source = clean(str(way.get("source") or way.get("error")))
        page.paragraph(say("network.master", name=clean(str(master.get("name"))), addresses=addresses, source=source))
    devices = [_device(row) for row in records(_part(facts, "rdma").get("devices"))]
    page.paragraph(say("network.rdma", devices=", ".join(devices)) if devices else say("network.rdma.none"))


def _device(row: Mapping[str, Any]) -> str:
    ports = [f"{port.get('state')} {port.get('link')} {port.get('rate')}" for port in records(row.get("ports"))]
    return clean(f"{row.get('name')} ({'; '.join(' '.join(port.split()) for port in ports)})")


def _between(page: Page, facts: Mapping[str, Any], say: Say) -> None:
    peer = _part(facts, "peer")
    seen, card = _part(peer, "seen"), _part(peer, "card")
    strangers = facts.get("strangers")
    if seen and card:
        mine = clean(str(_part(facts, "host").get("hostname", "?")))
        theirs = clean(str(_part(card, "host").get("hostname", "?")))
        # What was measured is told from the caller's side.
        a, b = (mine, theirs) if peer.get("role") == "caller" else (theirs, mine)
        page.heading(say("network.between", a=a, b=b))
        _measured(page, seen, say, a, b)
    if isinstance(strangers, int) and strangers > 0:
        page.paragraph(say.count("network.strangers", strangers))


def _measured(page: Page, seen: Mapping[str, Any], say: Say, a: str, b: str) -> None:
    to, back = records(seen.get("to")), records(seen.get("back"))
    if to and back:
        counts = {"to": _open(to), "to_tried": len(to), "back": _open(back), "back_tried": len(back)}
        page.paragraph(say("network.ports", a=a, b=b, **counts))
    sizes = {way: _largest(_part(seen, "datagrams", way)) for way in ("up", "down")}
    if any(size != "?" for size in sizes.values()):
        page.paragraph(say("network.sizes", a=a, b=b, **sizes))
    trip, clock = seen.get("round_trip_s"), seen.get("clock_s")
    if isinstance(trip, (int, float)) and isinstance(clock, (int, float)):
        page.paragraph(say("network.round-trip", ms=f"{trip * 1e3:.2f}", clock=f"{abs(clock):.2f}"))
    rates = _part(seen, "rates")
    if rates:
        page.paragraph(say("network.rates", a=a, b=b, **{way: _gbit(rates.get(way)) for way in ("up", "down")}))


def _open(rows: Iterable[Mapping[str, Any]]) -> int:
    return sum(row.get("outcome") == "ok" for row in rows)


def _largest(row: Mapping[str, Any]) -> str:
    passed = row.get("passed")
    sizes = [size for size in passed if isinstance(size, int)] if isinstance(passed, list) else []
    return str(max(sizes)) if sizes else "?"


def _gbit(rate: object) -> str:
    return f"{rate * 8 / 1e9:.1f}" if isinstance(rate, (int, float)) else "?"
