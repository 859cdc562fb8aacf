"""Who a dumped process is: its rank and pid, from a file's name, a header, a prefix or a command line."""

from __future__ import annotations

import re

import msgspec

_RANK = re.compile(r"(?i)(?:^|[^a-z])(?:global[_-]?|local[_-]?)?rank[\s_.=:#-]*(\d{1,6})(?!\d)")
_PREFIX_RANK = re.compile(r"^\s*(?:\[(?:rank|default)?(\d{1,6})\]:|(\d{1,6}):)\s*")
_OPTION_RANK = re.compile(r"--(?:local[_-]rank|node[_-]rank|rank)[= ](\d{1,6})\b")
_PID = re.compile(r"(?i)(?:^|[^a-z])pid[\s_.=:#-]*(\d{1,10})(?!\d)")
_ONLY_NUMBER = re.compile(r"^(\d{1,10})$")
_NAME_PID = re.compile(
    r"(?i)(?:stack|stacks|dump|pyspy|py-spy|spy|trace|faulthandler|process|proc)[s_.-]*(\d{1,10})(?!\d)"
)
_HOST = re.compile(r"(?i)\bhost[\s_.=:]+([\w.-]{1,80})")


class Who(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a process."""

    rank: int | None = None
    pid: int | None = None
    host: str = ""
    command: str = ""
    header: bool = False
    """True where a header has named it, so that what follows does not begin another."""


def named(words: str, *, header: bool = False) -> Who:
    """Read who is meant by the words of a header (`4242`, `rank 3`, `Rank 0: http://…`), a prefix or a command."""
    words = words[:400]
    rank = _number(_RANK, words)
    if rank is None and not header:
        prefix = _PREFIX_RANK.match(words if words.endswith((" ", ":")) else words + " ")
        option = _OPTION_RANK.search(words)
        said = (prefix[1] or prefix[2]) if prefix else option[1] if option else None
        # `[7]:` is a tag of a line, `train.py --local_rank 7` a command; both begin with what they are.
        rank = None if said is None else int(said)
    pid = _number(_PID, words)
    if header and pid is None and (only := _ONLY_NUMBER.match(words.strip())):
        pid = int(only[1])
    host = _HOST.search(words)
    return Who(rank=rank, pid=pid, host=host[1] if host else "")


def of_name(name: str) -> Who:
    """Read who a file's name means: `rank3.txt`, `stack-4242.txt`, `node1/rank_3.json`."""
    rank = _number(_RANK, name)
    pid = _number(_PID, name)
    if rank is None and pid is None:
        pid = _number(_NAME_PID, name)
    return Who(rank=rank, pid=pid)


def _number(pattern: re.Pattern[str], text: str) -> int | None:
    found = pattern.search(text)
    return int(found[1]) if found else None
