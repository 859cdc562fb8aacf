"""The screen of `distkb probe stacks`: where the ranks stand, the odd ones first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from distkb.evidence.text.ranks import listed
from distkb.locale import Say
from distkb.report.layout import clean, cut
from distkb.report.page import Ink, Page, plain

_GROUPS_SHOWN = 8
_FRAMES_SHOWN = 4


def write(facts: Mapping[str, Any], say: Say, columns: int = 80, ink: Ink = plain) -> str:
    """Return the screen for the facts of the reader; empty where no rank was seen."""
    groups: Sequence[Mapping[str, Any]] = facts.get("groups") or ()
    if not groups:
        return ""
    page = Page(columns, ink)
    page.title(verdict(groups, say))
    for group in groups[:_GROUPS_SHOWN]:
        _group(page, group, say)
    left = sum(len(group["ranks"]) for group in groups[_GROUPS_SHOWN:])
    if left:
        page.blank()
        page.paragraph(say("probe.stacks.more", n=left), role="faint")
    for name in ("launchers", "workers"):
        if facts.get(name):
            page.blank()
            page.paragraph(say.count(f"probe.stacks.{name}", facts[name]), role="faint")
    return page.text()


def write_ways(facts: Mapping[str, Any], say: Say, columns: int = 80, ink: Ink = plain) -> str:
    """Return how each rank was read and why not in a better way; empty where none was asked live."""
    ways: dict[tuple[str, tuple[str, ...]], list[Mapping[str, Any]]] = {}
    for row in (*(facts.get("taken") or ()), *(facts.get("unread") or ())):
        ways.setdefault((str(row.get("way", "none")), tuple(map(str, row["passed"]))), []).append(row)
    lost: Sequence[Mapping[str, Any]] = facts.get("lost_nodes") or ()
    if not ways and not lost:
        return ""
    page = Page(columns, ink)
    page.title(say("probe.stacks.ways"))
    for (way, passed), rows in ways.items():
        page.item("·", say(f"probe.stacks.way.{way}", ranks=_ranks(rows)), "", None)
        reasons = [say(f"probe.stacks.passed.{code.replace(':', '.')}") for code in passed]
        if reasons:
            page.paragraph("; ".join(reasons), "    ", "faint")
    for node in lost:
        page.item("✗", say("probe.stacks.way.node", host=clean(node["node"]), error=clean(node["error"])), "", "bad")
    return page.text()


def _ranks(rows: Sequence[Mapping[str, Any]]) -> str:
    known = listed(row["rank"] for row in rows if row["rank"] is not None)
    pids = ", ".join(str(row["pid"]) for row in rows if row["rank"] is None)
    return ", ".join(part for part in (known, f"? (pid {pids})" if pids else "") if part)


def verdict(groups: Sequence[Mapping[str, Any]], say: Say) -> str:
    """Say in one sentence where the ranks stand: those that wait first, then the odd ones."""
    ordered = [*(group for group in groups if not group["odd"]), *(group for group in groups if group["odd"])]
    parts = [_where(group, say) for group in ordered[:3]]
    left = sum(len(group["ranks"]) for group in ordered[3:])
    if left:
        parts.append(say("probe.stacks.elsewhere", n=left))
    return "; ".join(parts)


def _where(group: Mapping[str, Any], say: Say) -> str:
    n = len(group["ranks"])
    key = "probe.stacks.where" if group["at"] != "?" else "probe.stacks.nowhere"
    values = {"call": _call(group, say), "at": clean(str(group["at"])), "ranks": clean(str(group["label"]))}
    return say.count(key, n, **values)


def _call(group: Mapping[str, Any], say: Say) -> str:
    return clean(str(group["call"])) or say(f"probe.stacks.kind.{group['kind']}")


def _group(page: Page, group: Mapping[str, Any], say: Say) -> None:
    page.blank()
    mark, role = ("✗", "bad") if group["odd"] else ("·", "faint")
    ranks = clean(str(group["label"]))
    text = say("probe.stacks.group", ranks=ranks, kind=say(f"probe.stacks.kind.{group['kind']}"))
    within = group.get("within")
    if within and within != group["kind"]:
        text = say("probe.stacks.within", text=text, kind=say(f"probe.stacks.kind.{within}"))
    page.item(mark, text, "", "bad" if role == "bad" else None)
    if group["moved"] and len(group["moved"]) == len(group["ranks"]):
        page.paragraph(say("probe.stacks.moves"), "    ", "faint")
    if group["hosts"]:
        page.paragraph(cut(clean(", ".join(group["hosts"])), page.columns - 4), "    ", "faint")
    frames = [frame for frame in group["stack"] if frame["function"] != "<module>"] or group["stack"]
    for frame in frames[:_FRAMES_SHOWN]:
        _frame(page, frame)


def _frame(page: Page, frame: Mapping[str, Any]) -> None:
    place = clean(str(frame["path"])) + (f":{frame['line']}" if frame["line"] else "")
    room = page.columns - 4
    function = clean(str(frame["function"]))
    line = f"{function}  {place}"
    page.line(line if len(line) <= room else f"{cut(function, 28)}  …{place[-(room - 31) :]}", "    ")
    if frame["source"]:
        page.line("| " + cut(clean(str(frame["source"])), room - 4), "      ", "faint")
