"""The options of `sbatch`, in `#SBATCH` lines and on its command line, and what Slurm makes of them in a job."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from distkb.evidence.readers.configs.item import ConfigValue, number
from distkb.evidence.readers.configs.shell_values import amount
from distkb.evidence.readers.configs.shell_words import Text, Word, WordPart, commands

_SBATCH = ("#SBATCH ", "#SBATCH\t")
_SHORT = {
    "N": "nodes", "n": "ntasks", "c": "cpus-per-task", "G": "gpus", "J": "job-name", "p": "partition", "t": "time",
    "o": "output", "e": "error", "A": "account", "w": "nodelist", "C": "constraint",
}  # fmt: skip
_SAME = {"tasks-per-node": "ntasks-per-node"}


def sbatch_options(text: Text) -> tuple[dict[str, ConfigValue], tuple[int, ...]]:
    """Return the options of the `#SBATCH` lines, and the lines that Slurm does not read, behind the first command."""
    root: dict[str, ConfigValue] = {}
    late: list[int] = []
    begun, at = False, 0
    for line in text.chars.split("\n"):
        if line.lstrip(" \t").startswith(_SBATCH):
            if begun:
                late.append(text.line(at))
            else:
                begin = at + line.index("#SBATCH") + len("#SBATCH")
                for command in commands(Text(tuple(text.pieces(begin, at + len(line))))):
                    for name, word in options(command.words):
                        root[name] = ConfigValue(
                            value=_value(word), line=text.line(at), text=word.text, pieces=word.pieces
                        )
        elif line.strip() and not line.lstrip().startswith("#"):
            begun = True
        at += len(line) + 1
    return root, tuple(late)


def _value(word: Word) -> object:
    value = amount(word)
    return value if value is not None else word.text


def options(words: Sequence[Word]) -> Iterator[tuple[str, Word]]:
    """Yield the options of a command with their long names."""
    index = 0
    while index < len(words):
        text = words[index].text
        whole, skip = words[index], 0
        index += 1
        if text.startswith("--"):
            name, equals, _ = text[2:].partition("=")
            skip = len(name) + 3
        elif text.startswith("-") and len(text) > 1:
            name, equals = _SHORT.get(text[1], text[1]), text[2:3]
            skip = 3 if equals == "=" else 2
        else:
            continue
        if equals:
            yield _SAME.get(name, name), behind(whole, skip)
        elif index < len(words) and not words[index].text.startswith("-"):
            yield _SAME.get(name, name), words[index]
            index += 1
        else:
            yield _SAME.get(name, name), Word(pieces=(), line=whole.line)


def behind(word: Word, count: int) -> Word:
    """Return a word without its first characters, which are plain."""
    pieces: list[WordPart] = []
    for piece in word.pieces:
        taken = 0 if piece.expands else min(count, len(piece.text))
        count -= taken
        if piece.text[taken:]:
            pieces.append(msgspec.structs.replace(piece, text=piece.text[taken:]))
    return msgspec.structs.replace(word, pieces=tuple(pieces), line=pieces[0].line if pieces else word.line)


def slurm_variables(root: Mapping[str, ConfigValue]) -> dict[str, int]:
    """Return the sizes that a batch script finds in its environment, as far as its options say them."""
    nodes, tasks, per_node = (_count(root, name) for name in ("nodes", "ntasks", "ntasks-per-node"))
    if nodes is None and "nodes" not in root and tasks is None and per_node is None:
        return {}
    found = {"SLURM_NNODES": nodes, "SLURM_JOB_NUM_NODES": nodes, "SLURM_NTASKS_PER_NODE": per_node}
    if tasks is None and nodes is not None and per_node is not None:
        tasks = nodes * per_node
    found |= {"SLURM_NTASKS": tasks, "SLURM_NPROCS": tasks, "SLURM_GPUS_PER_NODE": _count(root, "gpus-per-node")}
    return {name: value for name, value in found.items() if value is not None}


def _count(root: Mapping[str, ConfigValue], name: str) -> int | None:
    item = root.get(name)
    return None if item is None else number(item.value)
