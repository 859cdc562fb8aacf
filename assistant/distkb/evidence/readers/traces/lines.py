"""From one line of text to the checkpoint it states: the tracer's format, and what people write by hand."""

from __future__ import annotations

import json
import re
from datetime import datetime

from distkb.evidence.readers.traces.mark import Kind, Mark, is_final, operation_of
from distkb.evidence.text.clean import quote_text, strip_escapes
from distkb.evidence.text.lines import find_stamp, head, seconds

LONGEST = 4096
"""Characters of a line that are looked at."""
_NAME_WIDTH = 80

_TRACER = re.compile(r"distkb-trace v\d{1,3} #(\d{1,9}) (.*)")
_PAIR = re.compile(r'(\w{1,20})=("(?:[^"\\]|\\.)*"|\{.*|\S+)')
_KINDS = frozenset({"start", "env", "mark", "enter", "leave", "fail", "quiet", "end", "trouble"})

_RANK = re.compile(
    r"[\[(<:]\s*(?:global[ _]?)?rank[ =:_#]{0,2}(\d{1,5})(?:\s*/\s*(\d{1,5}))?(?=[\])>,| :])"
    r"|\b(?:global_?)?rank\s?[=:#]\s?(\d{1,5})(?:\s*/\s*(\d{1,5}))?\b"
    r"|[\[:]R(\d{1,5})(?:/(\d{1,5}))?[\]|]"
    r"|(?:^|[\s|\]-])rank[ _-]?(\d{1,5})(?:\s*/\s*(\d{1,5}))?(?=\s*[:\])|>-]|\s)",
    re.IGNORECASE,
)
_NUMBERED = re.compile(
    r"\b(?P<word>check[ _-]?point|chkpt|ckpt|milestone|breadcrumb|marker|step)\s{0,2}(?:#|no\.?|:)?\s{0,2}"
    r"(?P<number>\d{1,7})(?:\s?/\s?\d{1,7})?(?P<end>[\]):.,|-]|\s|$)(?P<rest>.*)",
    re.IGNORECASE,
)
_OPENING_PIECE = re.compile(
    r"\[[^\]]*\]?|\([^)]*\)|\d[\d:.,/T+Z-]*|[A-Za-z_][\w.]*(?:\s?[:=|]|\s-\s)|[^\w\[(]|_"
    r"|(?:info|debug|warning|warn|rank|global|local|of|gpu|pid|trace|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"
    r"(?=\W|$)",
    re.IGNORECASE,
)
"""What may stand before a checkpoint: times, levels, ranks, names of loggers; a sentence may not."""
_FILE = re.compile(
    r"\W*(?:saved?|saving|writ\w+|load\w*|restor\w+|delet\w+|remov\w+|upload\w*|exists|not found|is|was|to|from|at|in)"
    r"\b",
    re.IGNORECASE,
)
_WORDS = re.compile(
    r"\b(?:before|after|about to|starting|beginning|entering|entered|leaving|reaching|reached|passed|done|completed?"
    r"|finished|ready|created|loaded|wrapped|initiali[sz](?:ed|ing)|calling|waiting|moving|moved|returned)\b",
    re.IGNORECASE,
)
_NOT_WORDS = re.compile(r"error|exception|warning|traceback|epoch\s*\d|loss\s*[=:]|it/s|\d%", re.IGNORECASE)


def parse(text: str, path: str, line: int, file_rank: int | None) -> Mark | None:
    """Return the checkpoint that a line states, or None. `file_rank` is the rank that the file's name states."""
    if len(text) > LONGEST:
        text = text[:LONGEST]
    if "distkb-trace v" in text and (found := _TRACER.search(text)) is not None:
        return _tracer_mark(found, path, line, file_rank)
    return _written(strip_escapes(text), path, line, file_rank)


def _tracer_mark(found: re.Match[str], path: str, line: int, file_rank: int | None) -> Mark | None:
    pairs = {key: _value(value) for key, value in _PAIR.findall(found[2])}
    kind = pairs.get("kind", "")
    if kind not in _KINDS or "name" not in pairs:
        return None
    time, clock = _time(pairs.get("time", ""))
    known: Kind = kind  # type: ignore[assignment]
    name = quote_text(pairs["name"], width=_NAME_WIDTH) or "-"
    rank = _number(pairs.get("rank", ""))
    return Mark(
        wording="tracer",
        kind=known,
        name=name,
        rank=file_rank if rank is None else rank,
        path=path,
        line=line,
        text=quote_text(found[0]),
        number=int(found[1]),
        operation=operation_of(kind, name, pairs.get("op", "")),
        time=time,
        clock=clock,
        world=_number(pairs.get("world", "")),
        pid=_number(pairs.get("pid", "")),
        host=quote_text(pairs.get("host", "-"), width=64),
        run=quote_text(pairs.get("run", ""), width=64),
        restart=_number(pairs.get("restart", "")) or 0,
        error=quote_text(pairs.get("error", ""), width=160),
        steps=_number(pairs.get("steps", "")),
        seconds=float(_number(pairs.get("seconds", "")) or 0),
    )


def _value(text: str) -> str:
    if not text.startswith('"'):
        return text
    try:
        value = json.loads(text)
    except ValueError:
        return text.strip('"')
    return value if isinstance(value, str) else text


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 9 else None


def _time(text: str) -> tuple[float | None, str]:
    try:
        moment = datetime.fromisoformat(text)
        return moment.timestamp(), moment.strftime("%H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return None, ""


def _written(text: str, path: str, line: int, file_rank: int | None) -> Mark | None:
    """Read a line that somebody's own print statement wrote."""
    lowered = text.lower()
    numbered = None
    if any(word in lowered for word in ("check", "ckpt", "chkpt", "milestone", "breadcrumb", "marker", "step")):
        numbered = _NUMBERED.search(text)
        if numbered is not None and not (_opens(text, numbered.start()) and _is_place(numbered)):
            numbered = None
    rank_found = _RANK.search(text) if "r" in lowered else None
    rank, world = _rank(rank_found)
    if numbered is None:
        return None if rank_found is None or rank is None else _in_words(text, rank_found, rank, world, path, line)
    stamped = head(text)
    is_step = numbered["word"].lower() == "step"
    if is_step and rank is None:
        return None
    if rank is None:
        rank = file_rank if stamped.rank is None else stamped.rank
    name = quote_text(numbered["rest"].strip(" :-.)]|\t"), width=_NAME_WIDTH)
    time, clock = _stamp(text)
    return Mark(
        wording="step" if is_step else "numbered",
        kind="end" if not is_step and is_final(name) else "mark",
        name=name,
        rank=rank,
        path=path,
        line=line,
        text=quote_text(text),
        number=int(numbered["number"]),
        operation="" if is_step else operation_of("mark", name),
        time=time,
        clock=clock,
        world=world,
    )


def _is_place(found: re.Match[str]) -> bool:
    """Whether it is a place in the program; `checkpoint 500 saved` speaks of a file."""
    return (found["end"] in "]):.,|-" and found["end"] != "") or _FILE.match(found["rest"]) is None


def _opens(text: str, end: int) -> bool:
    """Whether only tags stand before `end`, so that the message begins there."""
    at = 0
    while at < end:
        piece = _OPENING_PIECE.match(text, at, end)
        if piece is None or end > 240:
            return False
        at = piece.end()
    return True


def _in_words(text: str, found: re.Match[str], rank: int, world: int | None, path: str, line: int) -> Mark | None:
    name = text[found.end() :].lstrip(" ]:)>|-,\t")
    # other tags: `[LR0][PID:12]`
    name = re.sub(r"^(?:\[[^\]]{0,40}\]\s*)+", "", name)
    if len(name) > 160 or _WORDS.search(name) is None or _NOT_WORDS.search(name) is not None:
        return None
    time, clock = _stamp(text)
    name = quote_text(name, width=_NAME_WIDTH)
    return Mark(
        wording="words",
        kind="end" if is_final(name) else "mark",
        name=name,
        rank=rank,
        path=path,
        line=line,
        text=quote_text(text),
        operation=operation_of("mark", name),
        time=time,
        clock=clock,
        world=world,
    )


def _rank(found: re.Match[str] | None) -> tuple[int | None, int | None]:
    if found is None:
        return None, None
    groups = found.groups()
    for rank, world in zip(groups[::2], groups[1::2], strict=True):
        if rank is not None:
            return int(rank), None if world is None else int(world)
    return None, None


def _stamp(text: str) -> tuple[float | None, str]:
    stamp = find_stamp(text)
    if stamp is None:
        return None, ""
    clock = int(stamp.clock)
    return seconds(stamp, None, None), f"{clock // 3600:02d}:{clock // 60 % 60:02d}:{clock % 60:02d}"
