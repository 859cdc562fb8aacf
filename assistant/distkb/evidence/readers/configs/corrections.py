"""Writes a launch command again, corrected: as it can be pasted in place of the one that was read."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Sequence

import msgspec

from distkb.evidence.readers.configs.flags import BOOLEAN, flag_of, normal
from distkb.evidence.readers.configs.item import ConfigPart
from distkb.evidence.readers.configs.launch_command import LaunchLine
from distkb.evidence.readers.configs.shell_words import Word, WordPart, in_quotes

PER_TASK = re.compile(r"\$\{?(SLURM_(?:PROCID|NODEID|LOCALID|TASK_PID))\b")
FIRST_NODE = '$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)'
ASKED_NODE = "${FIRST_NODE:?name of the first node}"
"""Where no scheduler knows the nodes: a shell stops here and says what is missing."""
ALL_NODES = '"$SLURM_NNODES"'
_MARK = re.compile("\ue001(\\d+)\ue002")
_ASSIGNS = re.compile(r"[A-Za-z_]\w{0,250}=")
_WIDE = 100
"""Characters of a command on one line."""

Group = list[str]
"""An option with its value, as words to type."""


class Draft:
    """A command that is being corrected. Its methods change it; `text` writes it."""

    def __init__(self, part: ConfigPart, *, frees: bool = False) -> None:
        """`frees`: what differs from task to task is left to the shell of each task."""
        line: LaunchLine = part.extra["line"]
        self.name = part.name
        self._line = line
        self._frees = frees
        self._port = _port_of(part)
        self._outer: list[str] = []
        self.head = self._grouped_head(line.head)
        self.launcher = [self._shown(word) for word in line.launcher]
        self.options = self._grouped(part.name, line.options)
        self.rest = [self._shown(word) for word in line.rest]

    def _shown(self, word: Word) -> str:
        if not self._line.outer:
            return _typed(word)
        return _typed(Word(pieces=tuple(p for piece in word.pieces for p in self._kept(piece)), line=word.line))

    def _kept(self, piece: WordPart) -> tuple[WordPart, ...]:
        """Put a mark in place of what the shell outside puts in, so that it is not quoted."""
        if not piece.expands or piece.scope == "task":
            return (piece,)
        own = next((p for p in piece.all() if PER_TASK.match(p.text)), None)
        if self._frees and own is not None:
            return (own,)
        self._outer.append(piece.text)
        mark = WordPart(text=f"\ue001{len(self._outer) - 1}\ue002", line=piece.line, expands=True, quoted=piece.quoted)
        return (mark,)

    def _grouped_head(self, words: Sequence[Word]) -> list[Group]:
        return [[self._shown(word)] for word in words]

    def _grouped(self, name: str, words: Sequence[Word]) -> list[Group]:
        groups: list[Group] = []
        index = 0
        while index < len(words):
            text = words[index].text
            alone = "=" in text or normal(name, text) in BOOLEAN.get(name, frozenset()) or not text.startswith("-")
            size = 1 if alone else 2
            groups.append([self._shown(word) for word in words[index : index + size]])
            index += size
        return groups

    def _is(self, group: Group, keys: Sequence[str]) -> bool:
        return normal(self.name, group[0].strip("\"'").partition("=")[0]) in keys

    def drop(self, *keys: str) -> Draft:
        """Leave options of the launcher out."""
        self.options = [group for group in self.options if not self._is(group, keys)]
        return self

    def put(self, key: str, value: str) -> Draft:
        """Give an option of the launcher a value, in its place where it is written already."""
        flag = flag_of(key, self.name)
        at = next((n for n, group in enumerate(self.options) if self._is(group, (key,))), None)
        if at is None:
            at = next((n for n, group in enumerate(self.options) if self._is(group, ("module",))), len(self.options))
            self.options.insert(at, [f"{flag}={value}"])
            return self
        first = self.options[at][0].strip("\"'").partition("=")[0]
        self.options[at] = [first, value] if len(self.options[at]) > 1 else [f"{first}={value}"]
        return self

    def meet(self, node: str) -> Draft:
        """Let the nodes meet at the first one, under the number of the job."""
        job = '"$SLURM_JOB_ID"' if node == FIRST_NODE else "run1"
        self.drop("standalone", "node_rank", "master_addr", "master_port").put("rdzv_backend", "c10d")
        if not any(self._is(group, ("rdzv_id",)) for group in self.options) or node == FIRST_NODE:
            self.put("rdzv_id", job)
        return self.put("rdzv_endpoint", f'"{node}:{self._port}"')

    def start_everywhere(self) -> Draft:
        """Let `srun` start it once on each node of the job."""
        once = [f"--nodes={ALL_NODES}", f"--ntasks={ALL_NODES}", "--ntasks-per-node=1"]
        at = next((n for n, group in enumerate(self.head) if group[0].rpartition("/")[2] == "srun"), None)
        words = self._srun_words()
        if at is not None:
            self.head = [*self.head[: at + 1], *([w] for w in once), *([w] for w in _without_size(words[at + 1 :]))]
        elif self._line.outer:
            self._outer_words = _started(words, once)
        else:
            begin = next((n for n, g in enumerate(self.head) if not _is_prefix(g[0])), len(self.head))
            self.head[begin:begin] = [["srun"], *([word] for word in once)]
        return self

    def once_per_node(self, nodes: int) -> Draft:
        """Let `mpirun` start it once on each node."""
        words = [group[0] for group in self.head]
        at = next((n for n, word in enumerate(words) if word.rpartition("/")[2] in ("mpirun", "mpiexec")), -1)
        if at >= 0:
            hydra = any(word.startswith(("-ppn", "-perhost")) for word in words)
            place = ["-ppn", "1"] if hydra else ["--map-by", "ppr:1:node"]
            rest = _without(words[at + 1 :], _MPI_SIZES)
            self.head = [[word] for word in (*words[: at + 1], "-np", str(nodes), *place, *rest)]
        return self

    def _srun_words(self) -> list[str]:
        return [_typed(word) for word in self._line.outer] if self._line.outer else [g[0] for g in self.head]

    _outer_words: list[str] | None = None

    def per_task(self, **options: str) -> Draft:
        """Let the shell of each task put options in: `--node_rank=$SLURM_NODEID`."""
        if self._line.outer:
            for key, value in options.items():
                self.put(key, value)
            return self
        self.drop(*options)
        joint = "_" if self.name == "accelerate" else "-"
        own = " ".join(f"--{key.replace('_', joint)}={value}" for key, value in options.items())
        inside = f'exec {" ".join(self.launcher)} {own} "$@"'
        self.launcher = ["bash", "-c", shlex.quote(inside), self.name]
        return self

    def by_torchrun(self, processes: int) -> Draft:
        """Let torchrun start a script that python starts, once for each GPU of this machine."""
        module = ["-m"] if self.launcher[-1:] == ["-m"] else []
        self.launcher = ["torchrun", "--standalone", f"--nproc-per-node={processes}", *module]
        self.options = []
        return self

    def arguments_per_task(self, names: Sequence[str]) -> Draft:
        """Let the shell of each task put in these arguments of the script, behind all others."""
        if self._line.outer:
            return self
        own: list[str] = []
        kept: list[str] = []
        words = iter(self.rest)
        for word in words:
            name, equals, _ = word.strip("\"'").partition("=")
            taken = [word] if equals or name not in names else [word, *itertools.islice(words, 1)]
            (own if name in names else kept).extend(taken)
        self.rest = kept
        inside = f'exec {" ".join(self.launcher)} "$@" {" ".join(own)}'
        self.launcher = ["bash", "-c", shlex.quote(inside), self.name]
        return self

    def from_slurm(self, names: Sequence[str]) -> Draft:
        """Let each task take its rank from Slurm."""
        known = {"RANK": "$SLURM_PROCID", "LOCAL_RANK": "$SLURM_LOCALID", "NODE_RANK": "$SLURM_NODEID"}
        own = " ".join(f"{name}={known[name]}" for name in names)
        inside = f'{own} exec {" ".join(self.launcher)} "$@"'
        self.head = [group for group in self.head if group[0].partition("=")[0] not in names]
        if not self._line.outer:
            self.launcher = ["bash", "-c", shlex.quote(inside), self.name]
        return self

    def with_variable(self, name: str, value: str) -> str:
        """Return the command with another value before it, or the assignment that is to stand before the command."""
        at = next((n for n, group in enumerate(self.head) if group[0].startswith(f"{name}=")), None)
        if at is None:
            return f"export {name}={value}"
        self.head[at] = [f"{name}={value}"]
        return self.text()

    def text(self) -> str:
        """Return the command."""
        line = self._line
        groups = [*self.head, self.launcher, *self.options, self.rest]
        words = [word for group in groups for word in group]
        if not line.outer:
            joined = " ".join(words)
            if len(joined) <= _WIDE:
                return joined
            first = " ".join(word for group in (*self.head, self.launcher) for word in group)
            options, rest = list(map(" ".join, self.options)), " ".join(self.rest)
            if options[-1:] in (["-m"], ["--module"]):
                rest = f"{options.pop()} {rest}"
            return " \\\n    ".join(filter(None, [first, *options, rest]))
        inner = "".join((self._around(line.before), " ".join(words), self._around(line.after)))
        outer = self._outer_words or [_typed(word) for word in line.outer]
        return " ".join([*outer, self._as_word(inner.strip())])

    def _around(self, pieces: Sequence[WordPart]) -> str:
        return "".join(p.text for piece in pieces for p in self._kept(piece))

    def _as_word(self, inner: str) -> str:
        if not _MARK.search(inner):
            return shlex.quote(inner)
        parts = _MARK.split(inner)
        return '"' + "".join(self._outer[int(p)] if n % 2 else in_quotes(p) for n, p in enumerate(parts)) + '"'


def _port_of(part: ConfigPart) -> str:
    """Return the port at which the ranks were to meet; torchrun's own where none is written."""
    written = str(part.value("rdzv_endpoint") or "").rpartition(":")[2]
    given = str(part.value("master_port") or "")
    return next((text for text in (written, given) if text.isdecimal() and text.isascii()), "29500")


def _typed(word: Word) -> str:
    """Return a word to type; the name of an assignment stays outside the quotes, or it would be none."""
    first = word.pieces[0] if word.pieces else None
    found = None if first is None or first.expands or first.quoted else _ASSIGNS.match(first.text)
    if first is None or found is None:
        return word.shown
    rest = first.text[found.end() :]
    kept = (msgspec.structs.replace(first, text=rest), *word.pieces[1:]) if rest else word.pieces[1:]
    return found[0] + (Word(pieces=kept, line=word.line).shown if kept else "")


def _is_prefix(word: str) -> bool:
    return _ASSIGNS.match(word) is not None or word in ("exec", "time", "nohup", "env", "command")


_MPI_SIZES = frozenset({"-np", "-n", "--np", "-c", "-npernode", "--npernode", "-N", "-ppn", "-perhost", "--map-by"})


def _without(words: Sequence[str], flags: frozenset[str]) -> list[str]:
    """Leave options out that each have a value."""
    kept: list[str] = []
    skip = False
    for word in words:
        if skip or word in flags:
            skip = not skip
        else:
            kept.append(word)
    return kept


_SIZES = frozenset({"-N", "-n", "--nodes", "--ntasks", "--ntasks-per-node", "--tasks-per-node"})


def _without_size(words: Sequence[str]) -> list[str]:
    """Leave out what says how many tasks srun starts; only its own options are looked at."""
    kept: list[str] = []
    index = 0
    while index < len(words) and words[index].startswith("-"):
        flag, equals, _ = words[index].partition("=")
        short = not flag.startswith("--") and flag[:2] in _SIZES and len(flag) > 2
        takes = not equals and not short and flag in _SIZES
        if flag not in _SIZES and not short:
            kept.append(words[index])
            if not equals and index + 1 < len(words) and not words[index + 1].startswith("-") and _takes_value(flag):
                kept.append(words[index + 1])
                index += 1
        index += 2 if takes else 1
    return [*kept, *words[index:]]


def _takes_value(flag: str) -> bool:
    return normal("srun", flag) not in BOOLEAN["srun"] and (flag.startswith("--") or len(flag) == 2)


def _started(words: list[str], once: list[str]) -> list[str]:
    at = next((n for n, word in enumerate(words) if word.rpartition("/")[2] == "srun"), None)
    if at is None:
        return ["srun", *once, *words]
    return [*words[: at + 1], *once, *_without_size(words[at + 1 :])]
