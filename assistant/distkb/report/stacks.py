"""The screen of `distkb probe stacks`: where the ranks stand, the odd ones first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

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
