"""What a digest of a small failure costs, and says, once it lies among 64 ranks and 200 MB of healthy lines.

    python tests/benchmarks/padded_digest.py OUT CASE... [--ranks 64] [--megabytes 200] [--seed 24]

Each CASE holds logs in `artifacts/` (or in itself). They are copied to OUT/logs/NN, and the digest of the same run,
padded, is written to OUT/digest/NN.txt: a reader of one can be compared with a reader of the other. OUT/key.json tells
which is which.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import resource
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

MARK = re.compile(r"(?:default|rank[ =:]? ?|gpu|\bprocess |[\[(<]r?(?=\d+[\])>])|\b[rp])(\d+)\b", re.IGNORECASE)
PID = re.compile(r"(Process:|pid )(\d+)")
CLOCK = re.compile(r"\d\d:\d\d:\d\d(?:[.,]\d+)?")
FIELD = re.compile(rf"{CLOCK.pattern}|\d+\.\d+(?:e[+-]?\d+)?|\d+")
LEAD = re.compile(
    r"^(?:\[default\d+\]:)?((?:[\[(<][^\])>]{1,40}[\])>] ?|\d{4}-\d\d-\d\d |\d\d:\d\d:\d\d[.,\d]* |"
    r"rank=?\d+ |(?:INFO|DEBUG) +|__main__ |MainProcess:\d+ |[pr]\d+ ?\|? )*)"
)
TROUBLE = re.compile(
    r"traceback|error|warn|signal|exit|abort|fail|File \"|~~~|\^\^\^|[╭│┃┏├└─┡]|----|====|\r|[<(]$|^\)", re.IGNORECASE
)
UNHEALTHY_START = re.compile(r"\s|/|[WEIF]\d{4} |\[[WEIF]\d|\[rank\d+\]:|\[\d+\]:$|$")
COUNTED = re.compile(r"\b(?:rank|process) \d+ of \d+|\bMEMBER: \d+/\d+")


@dataclass(frozen=True)
class Line:
    """One line of a log: who says it, its shape without figures, and whether nothing is wrong with it."""

    text: str
    rank: int | None
    shape: str
    healthy: bool


def read_line(text: str, own: int | None) -> Line:
    """Say who wrote a line and whether it is a healthy one; `own` is the rank whose file it stands in."""
    bare = re.sub(r"^\[default\d+\]:", "", text)
    mark = MARK.search(text[:64])
    healthy = not TROUBLE.search(text) and not UNHEALTHY_START.match(bare) and len(text) < 400
    shape = re.sub(r"\s+", " ", FIELD.sub("#", text))
    return Line(text, own if own is not None else int(mark[1]) if mark else None, shape, healthy)


def seconds(clock: str) -> float:
    """Read hh:mm:ss as seconds."""
    hours, minutes, rest = clock.replace(",", ".").split(":")
    return int(hours) * 3600 + int(minutes) * 60 + float(rest)


def clock_like(sample: str, at: float) -> str:
    """Write a time of day with as many figures as `sample` has."""
    digits = len(sample) - 9 if len(sample) > 8 else 0
    scaled = int(at * 10**digits + 1e-6)
    whole, rest = divmod(scaled, 10**digits)
    text = f"{whole // 3600:02d}:{whole // 60 % 60:02d}:{whole % 60:02d}"
    return f"{text}{sample[8]}{rest:0{digits}d}" if digits else text


def between(first: str, second: str, part: float) -> str:
    """Write the figure that stands `part` of the way from one to the other."""
    if first == second:
        return first
    value = float(first) + (float(second) - float(first)) * part
    if "e" in first:
        return f"{value:.{len(first.partition('e')[0].partition('.')[2])}e}"
    return f"{value:.{len(first.partition('.')[2])}f}" if "." in first else str(int(value))


class Recipe:
    """How to write the lines that stand between two lines of one series."""

    def __init__(self, first: str, second: str | None) -> None:
        found = list(FIELD.finditer(first))
        later = FIELD.findall(second) if second else [one[0] for one in found]
        cut, self.literal, self.fields = 0, [], []
        for one, other in zip(found, later, strict=True):
            if CLOCK.fullmatch(one[0]) or one[0] != other:
                self.literal.append(first[cut : one.start()])
                self.fields.append((one[0], other))
                cut = one.end()
        self.tail = first[cut:]

    def write(self, part: float, at: float | None, beat: int) -> str:
        """Write the line `part` of the way, at a time of day, with a number of its own."""
        out = []
        for literal, (first, second) in zip(self.literal, self.fields, strict=True):
            out.append(literal)
            if CLOCK.fullmatch(first):
                out.append(clock_like(first, at) if at is not None else first)
            else:
                out.append(between(first, second, part))
        if self.tail.endswith("}"):
            quote = "'" if "'" in self.tail or "'" in "".join(self.literal) else '"'
            return f"{''.join(out)}{self.tail[:-1]}, {quote}heartbeat{quote}: {beat}}}"
        return f"{''.join(out)}{self.tail} heartbeat {beat}"


def heartbeat(text: str) -> str:
    """Leave of a line its time and its rank."""
    lead = LEAD.match(text)
    return lead[0].rstrip() if lead else ""


def named(rank: int | None) -> str:
    """Name a rank whose lines begin with nothing that a line of its own could begin with."""
    return "" if rank is None else f"[rank {rank}]"


@dataclass
class Gap:
    """A place between two lines of a file that may be filled, and who speaks there."""

    after: int
    spans: list[tuple[Recipe, float, float]]


def gaps_of(lines: list[Line]) -> list[Gap]:
    """Find the places between healthy lines, with the series that go on across each."""
    open_at = [i for i in range(len(lines) - 1) if lines[i].healthy and lines[i + 1].healthy]
    series: dict[tuple[int | None, str], list[int]] = {}
    for i, line in enumerate(lines):
        if line.healthy and "#" in line.shape and not COUNTED.search(line.text):
            series.setdefault((line.rank, line.shape), []).append(i)
    best: dict[int, dict[int | None, tuple[int, Recipe, float, float]]] = {}
    for (rank, _), at in series.items():
        for a, b in pairwise(at):
            inside = [i for i in open_at if a <= i < b]
            recipe = Recipe(lines[a].text, lines[b].text)
            for k, i in enumerate(inside):
                known = best.setdefault(i, {}).get(rank)
                if known is None or b - a < known[0]:
                    best[i][rank] = (b - a, recipe, k / len(inside), (k + 1) / len(inside))
    if best:
        return [Gap(i, [one[1:] for one in best[i].values()]) for i in sorted(best)]
    healthy = [i for i, line in enumerate(lines) if line.healthy]
    out = []
    for i in open_at or healthy[-1:]:
        last = {lines[j].rank: lines[j].text for j in healthy if j <= i}
        beats = [heartbeat(text) for text in last.values()]
        beats = [one for one in beats if one] or [one for one in map(named, last) if one]
        out.append(Gap(i, [(Recipe(one, None), 0.0, 1.0) for one in beats]))
    return [one for one in out if one.spans]


def padded(lines: list[Line], size: int) -> list[str]:
    """Put `size` bytes of healthy lines between the healthy lines of a file, which keep their order."""
    gaps = gaps_of(lines)
    clocks = [CLOCK.search(line.text) for line in lines]
    out, beat, done = [], 0, 0
    for gap in gaps:
        out += [line.text for line in lines[done : gap.after + 1]]
        done = gap.after + 1
        before = next((seconds(one[0]) for one in reversed(clocks[:done]) if one), None)
        after = next((seconds(one[0]) for one in clocks[done:] if one), before)
        if before is None or after is None or not 0 <= after - before < 600:
            after = before
        share = size / len(gaps)
        mean = sum(len(one.write(0.5, before, 1000)) + 1 for one, *_ in gap.spans) / len(gap.spans)
        rounds = int(share / mean / len(gap.spans))
        for j in range(rounds):
            beat += 1
            at = None if before is None or after is None else before + (after - before) * j / rounds
            for recipe, start, end in gap.spans:
                out.append(recipe.write(start + (end - start) * j / rounds, at, beat))
    return out + [line.text for line in lines[done:]]


def alike(files: dict[Path, list[Line]]) -> tuple[int | None, list[str], list[list[str]]]:
    """Choose whose healthy lines the further ranks print, and write them in a few versions."""
    lines = max(files.values(), key=lambda one: len({line.rank for line in one if line.healthy}) * 10_000 + len(one))
    healthy = [line for line in lines if line.healthy]
    ranks = {line.rank for line in healthy} - {None}
    if not ranks:
        often = [line for line in healthy if sum(line.shape == one.shape for one in healthy) > 1] or healthy
        cut = [re.sub(r"[\s,'\"]+[\w'\"]+[: =]+\d+\.\d.*$", "", line.text) for line in often]
        cut = [one for one in cut if one[-1:].isdigit() or "{" in one] or cut
        return None, cut, [[one + "}" if one.startswith("{") and not one.endswith("}") else one for one in cut]]
    said = {rank: {line.shape for line in healthy if line.rank == rank} for rank in ranks}
    common = [line for line in healthy if line.rank is not None and sum(line.shape in one for one in said.values()) > 1]
    common = common or [line for line in healthy if line.rank is not None]
    common = [line for line in common if not COUNTED.search(line.text)] or common
    donor = common[-1].rank
    seen: dict[tuple[str, int], set[str]] = {}
    count: dict[tuple[int | None, str], int] = {}
    numbered = []
    for line in common:
        nth = count[line.rank, line.shape] = count.get((line.rank, line.shape), 0) + 1
        seen.setdefault((line.shape, nth), set()).add(line.text)
        numbered.append((line, nth))
    versions = []
    for seed in range(4):
        dice, text = random.Random(seed), []
        for line, nth in numbered:
            if line.rank == donor:
                others = [FIELD.findall(one) for one in seen[line.shape, nth]]
                text.append(jitter(re.sub(r"^\[default\d+\]:", "", line.text), line.text, others, dice))
        versions.append(text)
    return donor, versions[0], versions


def jitter(text: str, whole: str, others: list[list[str]], dice: random.Random) -> str:
    """Change by up to one per cent the fractions in which the ranks differ."""
    fields = FIELD.findall(whole)
    skip = len(fields) - len(FIELD.findall(text))
    index = skip - 1

    def change(found: re.Match[str]) -> str:
        nonlocal index
        index += 1
        token = found[0]
        if "." not in token or ":" in token or "e" in token or text[found.end() : found.end() + 1] == "s":
            return token
        if len({one[index] for one in others if len(one) > index}) < 2:
            return token
        return f"{float(token) * (1 + dice.uniform(-0.01, 0.01)):.{len(token.split('.')[1])}f}"

    return FIELD.sub(change, text)


def pad_run(logs: list[Path], folder: Path, ranks: int, size: int) -> tuple[int, int]:
    """Write the padded run; give its bytes and its files."""
    folder.mkdir(parents=True)
    files: dict[Path, list[Line]] = {}
    for log in logs:
        own = re.match(r"rank(\d+)", log.name)
        text = log.read_bytes().decode("utf-8", "surrogateescape")
        files[log] = [read_line(one, int(own[1]) if own else None) for one in text.rstrip("\n").split("\n")]
    named = [line.rank for one in files.values() for line in one if line.healthy and line.rank is not None]
    world = min(max(*named, 1, 1) + 1, ranks)
    each = size // ranks
    for log, lines in files.items():
        speakers = len({line.rank for line in lines if line.healthy})
        room = each * (world if log.name.startswith("console") else 1) // (2 if len(files) > 1 else 1)
        text = "\n".join(padded(lines, room) if speakers else [line.text for line in lines]) + "\n"
        (folder / log.name).write_bytes(text.encode("utf-8", "surrogateescape"))
    donor, _, versions = alike(files)
    shown = "\x01" if donor is not None else ""
    bodies = []
    for version in versions:
        source = [read_line(one, donor) for one in version]
        bodies.append("\n".join(padded([Line(s.text, s.rank, s.shape, True) for s in source], each)) + "\n")
    for rank in range(world, ranks):
        body = bodies[rank % len(bodies)]
        if shown and donor is not None:
            body = swap(body, donor, rank)
        (folder / f"rank{rank}.log").write_bytes(body.encode("utf-8", "surrogateescape"))
    return sum(one.stat().st_size for one in folder.iterdir()), len(list(folder.iterdir()))


def swap(body: str, donor: int, rank: int) -> str:
    """Let another rank say a whole file: each way in which the donor is written is replaced at once."""
    ways: dict[str, str] = {}
    for text in body[:200_000].split("\n")[:-1] + body[-200_000:].split("\n")[1:]:
        for m in MARK.finditer(text[:64]):
            if int(m[1]) == donor:
                whole = m[0] + text[m.end() : m.end() + 1]
                ways[whole] = m[0][: m.start(1) - m.start()] + str(rank) + text[m.end() : m.end() + 1]
        for m in PID.finditer(text):
            ways[m[0]] = m[1] + str(int(m[2]) + rank)
    for old, new in ways.items():
        body = body.replace(old, new)
    return body


def measured_digest(distkb: str, folder: Path, out: Path) -> dict[str, float]:
    """Run `distkb digest` once and say what it cost."""
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    with out.open("w") as answer:
        code = subprocess.run(
            [distkb, "digest", folder.name, "--lang", "en"], cwd=folder.parent, stdout=answer, check=False
        ).returncode
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    return {
        "wall_s": round(time.monotonic() - began, 2),
        "processor_s": round(spent, 2),
        "peak_so_far_mb": round(used.ru_maxrss / 1024, 1),
        "tokens": len(out.read_text()) // 4,
        "exit": code,
    }


def main() -> None:
    """Pad each case, digest it and keep what a reader needs."""
    ask = argparse.ArgumentParser()
    ask.add_argument("out", type=Path)
    ask.add_argument("cases", nargs="+", type=Path)
    ask.add_argument("--ranks", type=int, default=64)
    ask.add_argument("--megabytes", type=int, default=200)
    ask.add_argument("--seed", type=int, default=24)
    ask.add_argument("--keep", action="store_true")
    given = ask.parse_args()
    cases = sorted(given.cases)
    random.Random(given.seed).shuffle(cases)
    distkb = str(Path(sys.executable).with_name("distkb"))
    key = {}
    (given.out / "digest").mkdir(parents=True, exist_ok=True)
    for number, case in enumerate(cases, 1):
        name = f"{number:02d}"
        inside = case / "artifacts" if (case / "artifacts").is_dir() else case
        logs = sorted(inside.glob("*.log"))
        small = given.out / "logs" / name
        small.mkdir(parents=True, exist_ok=True)
        for log in logs:
            shutil.copyfile(log, small / log.name)
        run = given.out.absolute() / "padded" / f"run{name}"
        shutil.rmtree(run, ignore_errors=True)
        size, files = pad_run(logs, run, given.ranks, given.megabytes * 1_000_000)
        cost = measured_digest(distkb, run, (given.out / "digest" / f"{name}.txt").absolute())
        key[name] = {"case": str(case), "bytes": size, "files": files, **cost}
        sys.stdout.write(json.dumps({"n": name, **cost}) + "\n")
        if not given.keep:
            shutil.rmtree(run)
        (given.out / "key.json").write_text(json.dumps(key, indent=1) + "\n")


if __name__ == "__main__":
    main()
