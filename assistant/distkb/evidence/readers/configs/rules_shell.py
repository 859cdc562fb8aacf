"""Rules for what a shell puts in too early, too late or not at all, and for ranks that it gives to all tasks alike."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from distkb.evidence.readers.configs.corrections import PER_TASK, Draft
from distkb.evidence.readers.configs.flags import flag_of
from distkb.evidence.readers.configs.item import UNKNOWN, ConfigPart, ConfigValue, number
from distkb.evidence.readers.configs.job import ConfigContext, ConfigFinding, ConfigRule, hit, instead, short
from distkb.evidence.readers.configs.launch_command import as_item, assigned, expansions
from distkb.evidence.readers.configs.placement import TORCHRUN, allocation_of, nodes_of, srun_of, total_tasks
from distkb.evidence.readers.configs.rules_rendezvous import OWN_NAME
from distkb.evidence.readers.configs.shell_file import Submitted
from distkb.evidence.readers.configs.shell_words import NAME, WordPart
from distkb.evidence.readers.configs.slurm_options import behind

_PER_NODE = frozenset({"node_rank", "machine_rank", "local_addr"})
"""Options that have to differ from node to node."""
_RANKS_OF_NODES = {"node_rank": "$SLURM_NODEID", "machine_rank": "$SLURM_NODEID"}
_A_RANK = re.compile(r"(?i)(?:^|[-_])(?:rank|node)(?:[-_]?id)?$")
"""Arguments of scripts for the rank: `--rank`, `--local_rank`, `--node-id`."""
_SLURM_NAME = re.compile(r"\$\{?(?:SLURM_\w+|SLURMD_NODENAME)\b(?!:)")
_RANKS = ("RANK", "LOCAL_RANK", "NODE_RANK")
_LITERAL = re.compile(r"\$\{?[A-Za-z_]|\$\(")


def _early(item: ConfigValue, name: str) -> WordPart | None:
    """Return what a value takes from the shell outside that differs from task to task."""
    for piece in expansions(item):
        if piece.scope == "task":
            continue
        if PER_TASK.match(piece.text) or (name in _PER_NODE and OWN_NAME.search(piece.text)):
            return piece
    return None


def needs_no_rank(command: ConfigPart) -> bool:
    """Whether the nodes number themselves, as in every rendezvous of torchrun and Accelerate but the static one."""
    return command.name in {*TORCHRUN, "accelerate"} and command.value("rdzv_backend") not in (None, "static")


def early(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """What differs from task to task must be put in by the shell of each task."""
    if srun_of(part) is None:
        return
    identity = "config.accelerate-expanded-early" if part.name == "accelerate" else "config.srun-expanded-early"
    for name, item in part.root.items():
        piece = _early(item, name)
        if piece is None or (name in _RANKS_OF_NODES and needs_no_rank(part)):
            continue
        flag = flag_of(name, part.name)
        found = hit(identity, part, item, part.line, variable=_plain(piece), flag=flag)
        draft = Draft(part, frees=True)
        yield instead(found, draft.per_task(**{name: _RANKS_OF_NODES.get(name, f'"{piece.text}"')}).text())
    own: dict[str, ConfigValue] = part.extra.get("per_task", {})
    alike = {name: item for name, item in own.items() if part.name == "python" and name in _RANKS}
    for name, item in own.items():
        piece = _early(item, name)
        if piece is not None and name not in alike:
            found = hit(identity, part, item, part.line, variable=_plain(piece), flag=name)
            yield instead(found, Draft(part, frees=True).text())
    # A script that is started without a launcher takes these for the ranks of the group.
    alike = {name: item for name, item in (alike | _rank_arguments(part)).items() if _early(item, name) is not None}
    if alike and may_be_several(part, job):
        name, first = next(iter(alike.items()))
        found = hit("config.rank-exported", part, *alike.values(), part.line, names=", ".join(alike), name=name,
                    shown=short(first.shown))  # fmt: skip
        yield instead(found, Draft(part, frees=True).arguments_per_task([*alike]).text())


def _rank_arguments(part: ConfigPart) -> dict[str, ConfigValue]:
    """Return the arguments of a script that python starts which say by their names that they are a rank."""
    words = part.extra["line"].rest if part.name == "python" else ()
    given: dict[str, ConfigValue] = {}
    for word, value in zip(words, (*words[1:], None), strict=False):
        name, equals, _ = word.text.partition("=")
        if name.startswith("-") and _A_RANK.search(name):
            given[name] = as_item(behind(word, len(name) + 1) if equals or value is None else value)
    return given


def may_be_several(part: ConfigPart, job: ConfigContext) -> bool:
    """Whether srun starts a command more than once: by the number of its tasks, or else of the nodes of its job."""
    allocation = allocation_of(part, job)
    tasks = total_tasks(part, allocation)
    if tasks is None:
        return allocation is not None and (nodes_of(allocation) or 1) > 1
    return tasks > 1


def _plain(piece: WordPart) -> str:
    found = PER_TASK.match(piece.text)
    return f"${found[1]}" if found else short(piece.text)


def literal(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """A `$` that reaches the program as it is, because no shell is between."""
    del job
    if part.extra.get("inner"):
        return
    for name, item in part.root.items():
        piece = next((p for p in item.pieces if not p.expands and _LITERAL.match(p.text)), None)
        if piece is not None and name in {*_PER_NODE, "rdzv_endpoint", "master_addr", "main_process_ip", "nnodes"}:
            flag = flag_of(name, part.name)
            found = hit("config.srun-never-expanded", part, item, part.line, flag=flag, value=short(item.shown))
            yield instead(found, Draft(part).per_task(**{name: item.text}).text())


def exported(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """A text in single quotes sees only the variables that are exported."""
    del job
    seen: set[str] = set()
    for name, item in part.root.items():
        for piece in expansions(item):
            if not piece.lost or piece.text in seen:
                continue
            seen.add(piece.text)
            variable = piece.text.strip("${}").partition(":")[0]
            flag = flag_of(name, part.name)
            found = hit("config.srun-not-exported", part, item, part.line, variable=variable, flag=flag)
            yield instead(found, f"export {variable}")


def ranks(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """Every task of srun gets what the batch shell exports: one RANK for all."""
    if part.name != "python":
        return
    srun = srun_of(part)
    if srun is None or not may_be_several(part, job):
        return
    tasks = total_tasks(part, allocation_of(part, job))
    own: dict[str, ConfigValue] = part.extra.get("per_task", {})
    given = {
        name: item
        for name, item in assigned(part).items()
        if name in _RANKS and name in part.extra["exported"] and name not in own and _same_for_all(item)
    }
    if given:
        first = next(iter(given.values()))
        names = [name for name in _RANKS if name in given]
        found = hit("config.rank-exported", part, *given.values(), part.line, names=", ".join(names),
                    name=names[0], shown=short(first.shown))  # fmt: skip
        yield instead(found, Draft(part).from_slurm(names).text())
    world = assigned(part).get("WORLD_SIZE")
    count = None if world is None else number(world.value)
    if world is not None and "WORLD_SIZE" not in own and count is not None and tasks is not None and count != tasks:
        found = hit("config.world-size-differs", part, world, part.line, n=count, tasks=tasks)
        size = "$SLURM_NTASKS" if srun.get("ntasks") is None else str(tasks)
        yield instead(found, Draft(part).with_variable("WORLD_SIZE", size))


def _same_for_all(item: ConfigValue) -> bool:
    return item.value is not UNKNOWN or any(p.scope != "task" and PER_TASK.match(p.text) for p in expansions(item))


def submitted(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """A heredoc without quotes is filled in where `sbatch` is called: there is no job yet."""
    del job
    outside: Submitted | None = part.extra.get("submitted")
    if outside is None:
        return
    first = next((p for p in outside.pieces if _asks_slurm(p.text)), None)
    if first is None:
        return
    early = _known_in_the_job(outside)
    found = hit("config.sbatch-expanded-at-submission", part, *(dict.fromkeys(p.line for p in early)),
                variable=short(first.text))  # fmt: skip
    yield instead(found, _protected(outside, early))


def _asks_slurm(text: str) -> bool:
    if text.startswith(("$(", "`")):
        return bool(re.search(r"\bSLURM_|\bhostname\b", text))
    return _SLURM_NAME.match(text) is not None


def _known_in_the_job(outside: Submitted) -> list[WordPart]:
    """Return what only the job can put in: what Slurm says, and the job's own variables that hold such things."""
    own: set[str] = set()

    def is_early(piece: WordPart) -> bool:
        name = NAME.match(piece.text.lstrip("${"))
        return _asks_slurm(piece.text) or (name is not None and name[0] in own and not piece.text.startswith("$("))

    for _ in outside.assigned:
        more = {n for n, held in outside.assigned.items() if any(is_early(p) for p in held if p.expands)} - own
        if not more:
            break
        own |= more
    return [piece for piece in outside.pieces if is_early(piece)]


def _protected(outside: Submitted, early: Sequence[WordPart]) -> str:
    """Return the command that submits the job, with a backslash before what the job is to put in."""
    signs = '[$`"]' if outside.in_quotes else "[$`]"
    text = outside.statement
    for written in sorted({piece.text for piece in early}, key=len, reverse=True):
        new = re.sub(rf"(?<!\\){signs}", r"\\\g<0>", written)
        text = new.join(re.split(rf"(?<!\\){re.escape(written)}(?!\w)", text))
    return text


def late(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """Slurm stops reading `#SBATCH` lines at the first command."""
    del job
    lines: tuple[int, ...] = part.extra.get("late", ())
    if lines:
        yield hit("config.sbatch-line-ignored", part, *lines, line=part.source.lines[lines[0] - 1].strip())


RULES = (
    *(
        ConfigRule(ids=ids, kinds=("command",), check=check)
        for ids, check in (
            (("config.srun-expanded-early", "config.accelerate-expanded-early"), early),
            (("config.srun-never-expanded",), literal),
            (("config.srun-not-exported",), exported),
            (("config.rank-exported", "config.world-size-differs"), ranks),
        )
    ),
    ConfigRule(ids=("config.sbatch-expanded-at-submission",), kinds=("sbatch",), check=submitted),
    ConfigRule(ids=("config.sbatch-line-ignored",), kinds=("sbatch",), check=late),
)
