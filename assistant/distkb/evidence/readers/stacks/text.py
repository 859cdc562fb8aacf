"""Parses stacks as text: py-spy, faulthandler, gdb's py-bt, print_stack, alone, one after the other, or in a log."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from distkb.evidence.readers.stacks.model import MOST_FRAMES, MOST_THREADS, Dump, Frame, Thread
from distkb.evidence.readers.stacks.who import Who, named

MOST_LINE = 2000
"""Characters of a line that are looked at."""
_MOST_STREAMS = 4096
"""Writers of one file that are told apart."""

_MARKS = re.compile(r'File "|[Tt]hread |Process \d|^\s*[=#-]{2}|Timeout \(|Fatal Python error|most recent call')
"""A line without any of them is no part of a stack, but for py-spy's frames, which follow a thread's line."""
_SPY_FRAME = re.compile(r"^ {4,5}(?P<function>\S[^\n]*?) \((?P<path>[^()\n]*?)(?::(?P<line>\d{1,9}))?\)$")
_SPY_THREAD = re.compile(
    r"(?:^|(?<=[\s:\]]))Thread (?P<id>\d+|0x[0-9A-Fa-f]+) "
    r"\((?P<state>idle|active|idle\+gil|active\+gil)\)(?:: \"(?P<name>.*)\")?\s*$"
)
_PROCESS = re.compile(r"(?:^|\s)Process (?P<pid>\d{1,10}): (?P<command>.*)$")
_RULE = "=-# \t"
"""What may end a header."""
_HEADER = re.compile(r"^\s*(?:={2,}|#{2,}|-{2,})\s*(?P<words>\S.*)$")
_FRAME = re.compile(
    r'File "(?P<path>[^"\n]*)", line (?P<line>\d{1,9}|\?\?\?),? in (?P<function>[^\n]*?)(?: \(.*\))?\s*$'
)
_FAULT_THREAD = re.compile(
    r"(?:(?P<current>Current thread)|Thread) (?P<id>0x[0-9a-fA-F]+)(?: \[(?P<name>[^\]\n]*)\])? "
    r"\(most recent call (?P<order>first|last)\):\s*$"
)
_GDB_THREAD = re.compile(
    r"^Thread (?P<number>\d{1,9}) \((?:Thread (?P<id>0x[0-9a-f]+)[^)]*?LWP (?P<lwp>\d{1,9})|.*LWP.*)\)?"
)
_STACK = re.compile(r"(?:^|\s)(?:Stack|Traceback) \(most recent call (?P<order>first|last)\):\s*$")
_BEGINS = re.compile(r"(?:^|\s)(?:Timeout \(\d+:\d\d:\d\d[.\d]*\)!|Fatal Python error: )")
_C_STACK = re.compile(r"C stack trace \(most recent call first\):\s*$")
_TIMES = re.compile(r"\d+(?=[:.,]\d)|(?<=[:.,])\d+")


class _Open:
    """A thread that is being read."""

    __slots__ = ("active", "frames", "ident", "last_first", "main", "name", "spy")

    def __init__(self, ident: str = "", name: str = "", *, main: bool = False, active: bool | None = None) -> None:
        self.ident, self.name, self.main, self.active = ident, name, main, active
        self.frames: list[Frame] = []
        self.last_first = False
        self.spy = False

    def done(self) -> Thread:
        frames = self.frames[::-1] if self.last_first else self.frames
        return Thread(name=self.name, main=self.main, active=self.active, frames=tuple(frames))


class _Stream:
    """What one writer dumps: process after process, thread after thread."""

    def __init__(self, path: str, who: Who) -> None:
        self.path = path
        self.who = who
        """Of the whole file or prefix; a header says it of one process."""
        self.found: list[Dump] = []
        self.thread: _Open | None = None
        self.threads: list[_Open] = []
        self.current = who
        self.line = 0
        self.fatal = False
        self.in_c = False

    def process(self, who: Who, line: int) -> None:
        """Begin a process that a header names."""
        if self.threads:
            self.close()
        self.current = msgspec.structs.replace(
            self.who, **{name: value for name, value in msgspec.structs.asdict(who).items() if value not in (None, "")}
        )
        self.line = line

    def begin(self, thread: _Open, line: int) -> None:
        """Begin a thread; it begins another process where the last one is told to its end."""
        if self.threads and self._complete(thread):
            self.close()
        if not self.threads and not self.line:
            self.line = line
        self.thread = thread
        self.in_c = False
        if len(self.threads) < MOST_THREADS:
            self.threads.append(thread)

    def _complete(self, following: _Open) -> bool:
        """Whether the process is over: CPython dumps the main thread last, and a thread only once."""
        if following.ident and any(following.ident == thread.ident for thread in self.threads):
            return True
        if following.spy:
            return False
        last = self.threads[-1].frames
        return bool(last) and not self.threads[-1].last_first and last[-1].function in ("<module>", "_run_code")

    def frame(self, frame: Frame) -> None:
        if self.thread is not None and len(self.thread.frames) < MOST_FRAMES and not self.in_c:
            self.thread.frames.append(frame)

    def source(self, text: str) -> None:
        """Take a line of code that follows its frame."""
        if self.thread is not None and self.thread.frames and not self.thread.frames[-1].source:
            self.thread.frames[-1] = msgspec.structs.replace(self.thread.frames[-1], source=text)

    def close(self) -> None:
        if any(thread.frames for thread in self.threads) or (self.threads and self.current.pid is not None):
            threads = tuple(thread.done() for thread in self.threads)
            self.found.append(
                Dump(
                    path=self.path,
                    line=self.line or None,
                    rank=self.current.rank,
                    pid=self.current.pid,
                    host=self.current.host,
                    command=self.current.command,
                    fatal=self.fatal,
                    snapshots=(threads,),
                )
            )
        self.threads, self.thread, self.line, self.current = [], None, 0, self.who
        self.fatal = self.in_c = False


def parse_text(lines: Iterable[str], path: str, who: Who | None = None) -> list[Dump]:
    """Return the processes whose stacks stand in the lines, in order; none for any other text. Never raises.

    `who` is what the file's name says. Ranks that write into one file are told apart by their prefixes
    (`[rank3]:`, `[default3]:`, `3: `).
    """
    streams: dict[str, _Stream] = {}
    base = who or Who()
    last: tuple[str, _Stream] | None = None
    for number, line in enumerate(lines, 1):
        text = line[:MOST_LINE].rstrip("\r\n")
        if last is not None and last[1].thread is not None and _continues(text, *last):
            continue
        if _MARKS.search(text) is None:
            if last is not None and text.strip() and last[1].thread is not None and not last[1].thread.spy:
                last[1].thread = None
            continue
        taken = _mark(text, number, streams, path, base)
        last = taken or last
    found: list[Dump] = []
    for stream in streams.values():
        stream.close()
        found += stream.found
    return sorted(found, key=lambda dump: dump.line or 0)


def _continues(text: str, prefix: str, stream: _Stream) -> bool:
    """Take py-spy's frames, and the lines of code and of C that belong to the frame above."""
    thread = stream.thread
    if thread is None or not text.startswith(prefix):
        return False
    rest = text[len(prefix) :]
    if thread.spy:
        found = _SPY_FRAME.match(rest)
        if found is not None:
            stream.frame(Frame(found["function"].strip(), found["path"], int(found["line"] or 0)))
            return True
        return rest.startswith("        ")
    return not rest.strip() or ('File "' not in rest and "most recent call" not in rest and _below_frame(rest, stream))


def _below_frame(rest: str, stream: _Stream) -> bool:
    """Take an indented line below a frame: its code, the carets under that, or a frame in C."""
    indent = len(rest) - len(rest.lstrip())
    if indent >= 2 and rest.lstrip().startswith(("Binary file", "<built-in", "<no Python frame>", "^", "~")):
        return True
    if indent >= 4:
        stream.source(rest.strip())
    return indent >= 4


def _mark(text: str, number: int, streams: dict[str, _Stream], path: str, base: Who) -> tuple[str, _Stream] | None:
    """Take a line that begins something or is a frame; None where it is neither."""
    for pattern, take in _TAKEN:
        found = pattern.search(text)
        if found is None:
            continue
        prefix = _prefix(text, found.start())
        key = _TIMES.sub("0", prefix)
        stream = streams.get(key)
        if stream is None:
            if len(streams) >= _MOST_STREAMS or (take is _take_frame):
                return None
            stream = streams[key] = _Stream(path, _with_prefix(base, prefix))
        if take(stream, found, number) is False:
            return None
        return prefix, stream
    return None


def _prefix(text: str, start: int) -> str:
    """Return what a launcher or a logger has put before a line, without the line's own indent."""
    return text[:start].rstrip(" ") if text[:start].strip() else ""


def _with_prefix(base: Who, prefix: str) -> Who:
    rank = named(prefix).rank
    return base if rank is None else msgspec.structs.replace(base, rank=rank)


def _take_frame(stream: _Stream, found: re.Match[str], _: int) -> bool:
    if stream.thread is None:
        return False
    line = found["line"]
    stream.frame(Frame(found["function"].strip() or "?", found["path"], int(line) if line.isdigit() else 0))
    return True


def _take_fault(stream: _Stream, found: re.Match[str], number: int) -> None:
    thread = _Open(found["id"], found["name"] or "")
    thread.last_first = found["order"] == "last"
    stream.begin(thread, number)


def _take_spy(stream: _Stream, found: re.Match[str], number: int) -> None:
    name = found["name"] or ""
    pid = stream.current.pid
    thread = _Open(found["id"], name, active=found["state"].startswith("active"))
    thread.main = name == "MainThread" or (pid is not None and found["id"] == str(pid))
    thread.spy = True
    stream.begin(thread, number)


def _take_gdb(stream: _Stream, found: re.Match[str], number: int) -> None:
    stream.begin(_Open(found["lwp"] or found["id"] or found["number"], main=found["number"] == "1"), number)
    stream.thread = None  # its stack has a line of its own


def _take_stack(stream: _Stream, found: re.Match[str], number: int) -> bool:
    """`Traceback (most recent call first)` is py-bt's, `Stack (…)` print_stack's; a plain traceback is an exception."""
    if "Traceback" in found[0] and found["order"] == "last":
        stream.thread = None
        return False
    if stream.threads and not stream.threads[-1].frames:
        stream.thread = stream.threads[-1]
        return True
    thread = _Open(main=True)
    thread.last_first = found["order"] == "last"
    if stream.threads:
        stream.process(Who(), number)
    stream.begin(thread, number)
    return True


def _take_process(stream: _Stream, found: re.Match[str], number: int) -> None:
    said = named(found["command"])
    stream.process(
        Who(
            pid=int(found["pid"]),
            command=found["command"],
            rank=stream.current.rank if stream.current.header else said.rank,
        ),
        number,
    )


def _take_header(stream: _Stream, found: re.Match[str], number: int) -> bool:
    who = named(found["words"].rstrip(_RULE), header=True)
    if who.rank is None and who.pid is None:
        return False
    stream.process(msgspec.structs.replace(who, header=True), number)
    return True


def _take_beginning(stream: _Stream, found: re.Match[str], number: int) -> None:
    if stream.threads:
        stream.process(Who(), number)
    stream.line = number
    stream.fatal = "Fatal" in found[0]


def _take_c(stream: _Stream, _: re.Match[str], __: int) -> None:
    stream.in_c = True


_TAKEN = (
    (_FRAME, _take_frame),
    (_C_STACK, _take_c),
    (_SPY_THREAD, _take_spy),
    (_FAULT_THREAD, _take_fault),
    (_GDB_THREAD, _take_gdb),
    (_PROCESS, _take_process),
    (_STACK, _take_stack),
    (_BEGINS, _take_beginning),
    (_HEADER, _take_header),
)


def has_stacks(data: bytes) -> bool:
    """Whether stacks seem to stand in a text: the line above the frames of a thread does."""
    if b"most recent call" not in data and b"(idle" not in data and b"(active" not in data:
        return False
    lines = data.decode("utf-8", "replace").splitlines()
    return any(_looks(line) for line in lines if "hread" in line or "most recent call" in line)


def begins_with_stacks(text: str) -> bool:
    """Whether a text begins with a dump: a header, a process or a thread."""
    first = text.lstrip().partition("\n")[0][:MOST_LINE]
    header = _HEADER.match(first)
    who = named(header["words"].rstrip(_RULE), header=True) if header else None
    return (
        _looks(first)
        or _PROCESS.match(first) is not None
        or _BEGINS.match(first) is not None
        or (who is not None and (who.rank is not None or who.pid is not None))
    ) and has_stacks(text.encode("utf-8", "replace"))


def _looks(line: str) -> bool:
    return len(line) <= MOST_LINE and (
        _SPY_THREAD.search(line) is not None
        or _FAULT_THREAD.search(line) is not None
        or ("Traceback (most recent call first)" in line)
        or ("Stack (most recent call" in line)
    )
