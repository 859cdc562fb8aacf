"""What the measurements between two hosts mean. Pure: from both cards and what was measured to findings.

`a` is the one that connected, `b` the one that listened. Rows of tries have `role`: door (a port that the kernel
chose, at the address of the connection), port (the listener's own number, on the other host), nccl or gloo (the
address that the library would hand out).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from distkb_probes.netpath.choice import is_loopback
from distkb_probes.netpath.here import own_addresses
from distkb_probes.netpath.local import Found

LOOKED_FOR = (
    "network.ephemeral-closed",
    "network.one-way",
    "network.back-closed",
    "network.nccl-address-unreachable",
    "network.gloo-address-unreachable",
    "network.advertises-loopback",
    "network.address-on-both",
    "network.families-differ",
    "network.nat",
    "network.mtu-black-hole",
    "network.mtu-differs",
    "network.slow",
    "network.same-host-identity",
    "network.torch-differs",
    "network.nccl-differs",
)
CLOCK_S, LATENCY_S, SLOW_BITS = 1.0, 0.005, 100e6
"""Seconds of difference and of round trip, and bits per second, from which a pair is worth a word."""
LIBRARIES = {"nccl": "NCCL", "gloo": "Gloo"}


def judge(a: Mapping[str, Any], b: Mapping[str, Any], seen: Mapping[str, Any]) -> Iterator[Found]:
    """Yield finding ids with their values, for everything that `seen` holds."""
    names = _names(a, b, seen)
    yield from _doors(names, seen)
    for library in LIBRARIES:
        yield from _choice(library, names, (a, b), seen)
    if seen.get("address") and seen.get("seen_as") and seen["address"] != seen["seen_as"]:
        yield "network.nat", {"host": names[0], "own": seen["address"], "seen": seen["seen_as"], "other": names[1]}
    yield from _sizes(names, (a, b), seen)
    yield from _speed(names, seen)
    yield from _versions(names, a, b)


def _names(a: Mapping[str, Any], b: Mapping[str, Any], seen: Mapping[str, Any]) -> tuple[str, str]:
    first, second = str(a["host"]["hostname"]), str(b["host"]["hostname"])
    if first == second:
        return f"{first} ({seen.get('address')})", f"{second} ({seen.get('peer')})"
    return first, second


def _ways(names: tuple[str, str], seen: Mapping[str, Any]) -> Iterator[tuple[str, str, list[Mapping[str, Any]]]]:
    for key, origin, target in (("to", *names), ("back", *reversed(names))):
        yield origin, target, list(seen.get(key) or ())


def _doors(names: tuple[str, str], seen: Mapping[str, Any]) -> Iterator[Found]:
    closed: list[tuple[str, str, list[Mapping[str, Any]], int]] = []
    fine = 0
    for origin, target, rows in _ways(names, seen):
        doors = [row for row in rows if row["role"] == "door"]
        bad = [row for row in doors if row["outcome"] != "ok"]
        fine += bool(doors) and not bad
        if bad:
            closed.append((origin, target, bad, len(doors)))
    one_way = len(closed) == 1 and fine == 1 and len(closed[0][2]) == closed[0][3]
    for origin, target, bad, tried in closed:
        values: dict[str, object] = {
            "from": origin,
            "to": target,
            "address": bad[0]["address"],
            "how": most_common(bad),
            "failed": len(bad),
            "tried": tried,
            "ports": ", ".join(str(row["port"]) for row in bad),
        }
        yield ("network.one-way" if one_way else "network.ephemeral-closed"), values
    all_closed = {(origin, target) for origin, target, bad, tried in closed if len(bad) == tried}
    for origin, target, rows in _ways(names, seen):
        for row in rows:
            if row["role"] == "port" and row["outcome"] != "ok" and (origin, target) not in all_closed:
                yield (
                    "network.back-closed",
                    {"from": origin, "to": target, "port": row["port"], "how": row["outcome"]},
                )


def most_common(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the outcome that most of the rows have."""
    return Counter(str(row["outcome"]) for row in rows).most_common(1)[0][0]


def _choice(
    library: str, names: tuple[str, str], cards: tuple[Mapping[str, Any], Mapping[str, Any]], seen: Mapping[str, Any]
) -> Iterator[Found]:
    chosen = [card[library]["interfaces"] for card in cards]
    for index, (name, other) in enumerate((names, names[::-1])):
        elsewhere = own_addresses(cards[1 - index])
        for row in chosen[index]:
            values: dict[str, object] = {
                "library": LIBRARIES[library],
                "variable": f"{library.upper()}_SOCKET_IFNAME",
                "host": name,
                "other": other,
                "interface": row["name"],
                "address": row["address"],
                "better": _interface_of(cards[index], seen.get("address" if index == 0 else "peer")),
            }
            if is_loopback(row["address"]):
                yield "network.advertises-loopback", values
            elif row["address"] in elsewhere and not row["address"].startswith("fe80:"):
                yield "network.address-on-both", values
            else:
                tries = [item for item in seen.get("back" if index == 0 else "to") or () if item["role"] == library]
                bad = [item for item in tries if item["address"] == row["address"] and item["outcome"] != "ok"]
                if bad:
                    yield f"network.{library}-address-unreachable", {**values, "how": bad[0]["outcome"]}
    if all(chosen):
        first, second = (rows[0]["address"] for rows in chosen)
        if (":" in first) != (":" in second):
            yield (
                "network.families-differ",
                {"library": LIBRARIES[library], "a": names[0], "b": names[1], "address_a": first, "address_b": second},
            )


def _interface_of(card: Mapping[str, Any], address: object) -> str:
    return next((str(row["name"]) for row in card["interfaces"] if address in row["addresses"]), "eth0")


def mtu_of(card: Mapping[str, Any], address: object) -> int | None:
    """Return the MTU of the interface that has an address, in bytes."""
    return next((row["mtu"] for row in card["interfaces"] if address in row["addresses"]), None)


def _sizes(
    names: tuple[str, str], cards: tuple[Mapping[str, Any], Mapping[str, Any]], seen: Mapping[str, Any]
) -> Iterator[Found]:
    mtus = (mtu_of(cards[0], seen.get("address")), mtu_of(cards[1], seen.get("peer")))
    for row in seen.get("streams") or ():
        up = row["way"] == "up"
        mtu = mtus[0 if up else 1]
        if row["small"] and not row["large"]:
            origin, target = names if up else names[::-1]
            yield (
                "network.mtu-black-hole",
                {
                    "from": origin,
                    "to": target,
                    "mtu": mtu or "?",
                    "passes": _passes(row, seen),
                    "interface": _interface_of(cards[0 if up else 1], seen.get("address" if up else "peer")),
                },
            )
    if None not in mtus and mtus[0] != mtus[1]:
        yield "network.mtu-differs", {"a": names[0], "b": names[1], "mtu_a": mtus[0], "mtu_b": mtus[1]}


def _passes(row: Mapping[str, Any], seen: Mapping[str, Any]) -> str:
    """Return the largest packet in bytes that was seen to pass in a direction, `?` for none."""
    segment = row.get("segment")
    passed = list((seen.get("datagrams") or {}).get(row["way"], {}).get("passed") or ())
    sizes = [*passed, *([segment + 40] if segment else [])]
    return str(max(sizes)) if sizes else "?"


def _speed(names: tuple[str, str], seen: Mapping[str, Any]) -> Iterator[Found]:
    for way, bytes_per_s in (seen.get("rates") or {}).items():
        if bytes_per_s and bytes_per_s * 8 < SLOW_BITS:
            origin, target = names if way == "up" else names[::-1]
            yield "network.slow", {"from": origin, "to": target, "mbit": f"{bytes_per_s * 8 / 1e6:.0f}"}
    trip, clock = seen.get("round_trip_s"), seen.get("clock_s")
    if trip is not None and trip > LATENCY_S:
        yield "network.latency-high", {"a": names[0], "b": names[1], "ms": f"{trip * 1e3:.1f}"}
    if clock is not None and abs(clock) > CLOCK_S + (trip or 0.0):
        yield "network.clock-differs", {"a": names[0], "b": names[1], "seconds": f"{abs(clock):.1f}"}


def _versions(names: tuple[str, str], a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[Found]:
    if a["host"]["hostname"] == b["host"]["hostname"]:
        same = a["host"]["boot"] is not None and a["host"]["boot"] == b["host"]["boot"]
        # NCCL takes hosts for one where hostname and boot id are the same (getHostHash).
        yield ("network.same-host-identity" if same else "network.same-hostname"), {"hostname": a["host"]["hostname"]}
    mine, theirs = a["host"]["versions"], b["host"]["versions"]
    for name, identity in (("torch", "network.torch-differs"), *((n, "network.nccl-differs") for n in mine)):
        if identity == "network.nccl-differs" and not name.startswith("nvidia-nccl"):
            continue
        if mine.get(name) and theirs.get(name) and mine[name] != theirs[name]:
            yield (
                identity,
                {"a": names[0], "b": names[1], "version_a": mine[name], "version_b": theirs[name], "package": name},
            )
