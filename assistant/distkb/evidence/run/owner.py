"""Tells which process printed which line of a file: from its name, from labels, and from what its lines say."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

from distkb.evidence.text.lines import Head, head, layout
from distkb.evidence.text.shapes import Kept, ShapePart, piece

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from distkb.evidence.scanner.scan import FileScan, LineMatch

OWN_SHARE = 0.7
"""Least share of the lines with a rank that are its own in a file whose name says that rank."""
HEADS = 300
"""Lines of a file's start and of its end by which it is told who wrote it."""


def one_rank_a_file(scans: Sequence[FileScan]) -> bool:
    """Whether several files whose names tell no rank each show one rank, and not the same one."""
    found: set[int] = set()
    for scan in scans:
        if scan.file.rank is None:
            ranks = {
                rank for rank, _, _ in _numbers(scan.last, range(max(0, len(scan.last) - HEADS), len(scan.last)))
            } - {None}
            found |= {rank for rank in ranks if rank is not None and len(ranks) == 1}
    return len(found) > 1


def own_numbers(scans: Sequence[FileScan]) -> frozenset[int]:
    """Return the numbers that the lines of all these files have before their messages."""
    return frozenset(number for scan in scans for _, _, number in _sample(scan)[0] if number is not None)


class Owner:
    """Tells which process printed a line of one file.

    A name of a file, a label of a launcher and a host are sources, not ranks: what the lines say of their rank counts
    more. `[rank2]:`, `rank=2` and a logger's format are strong; a number alone is the rank only where the whole file
    bears it out.
    """

    def __init__(self, scan: FileScan, *, collide: bool, apart: bool, everyone: Callable[[], Collection[int]]) -> None:
        """Look at the file; `everyone` gives the numbers that lines of all files have before their messages."""
        self._file = scan.file
        heads, claims = _sample(scan)
        strong = Counter(rank for rank, _, _ in heads if rank is not None)
        weak = Counter(number for _, number, _ in heads if number is not None)
        own = [number for _, _, number in heads if number is not None]
        pids = _ranks_of_pids(claims)
        self.console = False
        self._labels: dict[int, int] | None = None
        """Number of a label → rank, where labels tell the writers apart."""
        self._own = {number: number for number in own} if _numbers_ranks(own, len(heads), everyone) else pids
        self._named = _ranks_of_names(scan) if scan.file.rank is None and (strong or claims) else {}
        by_name = False
        common = strong.most_common(1)[0][0] if strong else None
        ranks = set(self._own.values())
        said = common if len(strong) == 1 else min(ranks) if not strong and len(ranks) == 1 else None
        self.said = said is not None
        self.rank: int | None = scan.file.rank
        if scan.file.rank is not None:
            several = len(strong) > 1 and strong[scan.file.rank] < OWN_SHARE * strong.total()
            if several or (not strong and len(ranks) > 1 and 2 * len(own) > len(heads)):
                self.console, self.rank = True, None  # the number is that of a node, a pod or a worker of several ranks
            elif said is not None or collide:
                self.rank = said
        elif len(weak) > 1 and (labels := _labelled(heads)) is not None:
            self.console = True
            self._labels = labels
        elif len(strong) > 1:
            self.console = True
        elif not strong and len(weak) > 1 and sum(weak.values()) > 0.6 * len(heads):
            self.console = True
            self._labels = {number: number for number in weak}
        elif len(ranks) > 1 or len(self._named) > 1:
            self.console = True
        elif common is not None:
            # lines without a rank beside those of one rank: a console, unless nearly all lines carry it, or each
            # file shows a rank of its own
            self.console = strong[common] < (0.5 if apart else 0.9) * len(heads)
            self.rank = None if self.console else common
        elif said is not None:
            self.rank = said
        if not self.console and self.rank is None and not (strong or weak or own):
            names = _writers(scan)
            self.console = len(names) > 1
            self._named = _ranks_of_pods(names)
            by_name = bool(self._named)
        told = [number for rank, number, _ in heads if number is not None and rank in {None, number}]
        if (
            self.console
            and self._labels is None
            and len(told) == sum(weak.values())
            and _numbers_ranks(told, len(heads), everyone)
        ):
            self._labels = {number: number for number in weak}
        self.said = self.said or (self.console and not by_name)
        self.key = (
            f"rank {self.rank}"
            if self.rank is not None
            else f"{scan.file.group}/{scan.file.rank if scan.file.rank is not None else scan.file.name}"
        )

    def of(self, line: Head | LineMatch) -> tuple[str, int | None]:
        """Key and rank of the process that printed a line with this head."""
        if not self.console:
            return self.key, self.rank
        number = self._rank(line.rank, line.weak, line.own)
        if number is None and line.source:
            number = self._named.get(line.source)
        if number is not None:
            return f"rank {number}", number
        return (f"{self._file.name} {line.source}" if line.source else f"{self._file.name}"), None

    def _rank(self, number: int | None, weak: int | None, own: int | None) -> int | None:
        if self._labels is not None and weak is not None:
            number = self._labels.get(weak, number)
        if number is None and own is not None:
            number = self._own.get(own)
        return number

    def writer(self, kept: Kept, index: int) -> tuple[str, int | None]:
        """Key and rank of the process that printed one of the lines that were kept."""
        number = self._rank(*next(_numbers_of(kept, range(index, index + 1))))
        return self.of(head(kept.line(index))) if number is None else (f"rank {number}", number)


Numbers = tuple[int | None, int | None, int | None]
"""Of one line: its rank, a number that is the rank if the whole file agrees, and one that the program puts first."""


def _places(text: str) -> tuple[Place | None, Place | None, Place | None] | None:
    """Where a line's numbers stand; None where it has none."""
    found = layout(text)
    spans = (found.rank, found.weak, found.own)
    rank, weak, own = (None if span is None else _place(piece(text, *span)) for span in spans)
    return None if rank is None and weak is None and own is None else (rank, weak, own)


def _place(number: ShapePart) -> Place:
    plain = number.words == ("", "")
    return number.first, number.first + number.runs[0] if plain else -1, number


Place = tuple[int, int, ShapePart]
"""Which digits of a line are a number, where no other digits (of another script) are among them; else up to -1."""


def _number(place: Place | None, digits: str, start: int) -> int | None:
    if place is None:
        return None
    first, stop, number = place
    return int(digits[start + first : start + stop]) if stop > 0 else int(number.fill(digits, start))


def _numbers_of(kept: Kept, wanted: range) -> Iterator[Numbers]:
    """Numbers of lines that follow one another."""
    if not wanted:
        return
    starts, digits = kept.starts, kept.digits_of(wanted[0], wanted[-1])
    for index in wanted:
        rank, weak, own = kept.shapes[index].once(_places) or (None, None, None)
        start = starts[index] - starts[wanted[0]]
        yield _number(rank, digits, start), _number(weak, digits, start), _number(own, digits, start)


def _numbers(kept: Kept, wanted: range) -> list[Numbers]:
    """Numbers of those lines that are not blank."""
    every = zip(wanted, _numbers_of(kept, wanted), strict=True)
    return [numbers for index, numbers in every if not kept.shapes[index].once(_is_blank)]


def _is_blank(text: str) -> bool:
    return not text.strip()


def _sample(scan: FileScan) -> tuple[list[Numbers], list[str]]:
    """Numbers of the first lines and the last ones of a file, and the lines among them that say a rank of how many."""
    first, last = scan.first, scan.last
    numbers: list[Numbers] = []
    claims: list[str] = []
    for kept, wanted in ((first, range(min(HEADS, len(first)))), (last, range(max(0, len(last) - HEADS), len(last)))):
        if kept is first and numbers and len(kept) <= HEADS:  # the same lines once more
            return numbers * 2, claims * 2
        numbers += _numbers(kept, wanted)
        claims += [kept.line(index) for index in wanted if kept.shapes[index].once(_may_claim)]
    return numbers, claims


def _may_claim(text: str) -> bool:
    return _CLAIM.search(text[:200]) is not None


def _labelled(heads: Sequence[Numbers]) -> dict[int, int] | None:
    """Return the rank of each label where nearly all lines carry a number and print one rank with each, or None.

    Under `srun --label` the number is the task's, and the rank is what the task's own lines say.
    """
    both: dict[int, set[int]] = {}
    for rank, weak, own in heads:
        number = rank if rank is not None else own
        if weak is not None and number is not None:
            both.setdefault(weak, set()).add(number)
    numbered_heads = sum(weak is not None for _, weak, _ in heads)
    if not both or numbered_heads <= 0.6 * len(heads) or any(len(ranks) > 1 for ranks in both.values()):
        return None
    ranks = {label: next(iter(said)) for label, said in both.items()}
    labels = {weak for _, weak, _ in heads if weak is not None}
    same = all(label == rank for label, rank in ranks.items())
    if len(set(ranks.values())) < len(ranks):
        return None
    return {label: label for label in labels} if same else ranks


def _ends(kept: Kept) -> set[int]:
    """Lines of both ends by which it is told who wrote a file."""
    return {*range(min(HEADS, len(kept))), *range(max(0, len(kept) - HEADS), len(kept))}


def _ranks_of_names(scan: FileScan) -> dict[str, int]:
    """Return the rank of each writer's name, such as a pod's, whose lines say one rank that no other name's say.

    A name whose lines say several ranks is a node's; then no name of this file stands for a rank.
    """
    said: dict[str, set[int]] = {}
    for kept in (scan.first, scan.last):
        for index in _ends(kept):
            if kept.shapes[index].once(_names_writer):
                line = kept.line(index)
                found, claim = head(line), _CLAIM.search(line[:200])
                rank = found.rank if found.rank is not None else int(claim[1]) if claim is not None else None
                if rank is not None:
                    said.setdefault(found.source, set()).add(rank)
    ranks = {name: next(iter(one)) for name, one in said.items()}
    alone = all(len(one) == 1 for one in said.values()) and len(set(ranks.values())) == len(ranks)
    return ranks if alone else {}


_POD = re.compile(r"(?P<before>(?!ip-|\d).{1,120})[-/](?P<number>\d{1,5})(?P<after>(?:[-/ ].{0,80})?)$")
"""A pod's or a replica's number, the last one of its name."""
_LETTERS = re.compile(r"-(?=\d*[a-z])[b-df-hj-np-tv-z0-9]{5}(?=[/ ])")


def _writers(scan: FileScan) -> frozenset[str]:
    """Labels of the writers of a file whose lines nearly all carry one."""
    names: set[str] = set()
    lines = 0
    named = 0
    for kept in (scan.first, scan.last):
        for index in _ends(kept):
            shape = kept.shapes[index]
            lines += not shape.once(_is_blank)
            if shape.once(_is_labelled):
                named += 1
                names.add(head(kept.line(index)).source)
    return frozenset(names) if named > 0.6 * lines else frozenset()


def _is_labelled(text: str) -> bool:
    return layout(text).named is not None


def _ranks_of_pods(names: Iterable[str]) -> dict[str, int]:
    """Return the rank of each pod or replica by its number, a PyTorchJob's master first; none where they do not fit.

    Nothing in the lines bears it out: a pod may run several ranks, and then its lines carry their own labels.
    """
    found: dict[str, int] = {}
    rest: set[tuple[str, str]] = set()  # all of a name but its number
    masters = any("master-0" in name for name in names)
    for name in names:
        pod = _POD.match(_LETTERS.sub("", name))
        if pod is None:
            return {}
        rest.add((pod["before"].replace("-master", "-worker"), pod["after"]))
        found[name] = int(pod["number"]) + (masters and "-master" not in pod["before"])
    fits = len(rest) == 1 and sorted(found.values()) == list(range(len(found)))
    return found if fits else {}


def _names_writer(text: str) -> bool:
    found = layout(text)
    return found.named is not None and (found.rank is not None or _may_claim(text))


def _numbers_ranks(numbers: Sequence[int], lines: int, everyone: Callable[[], Collection[int]]) -> bool:
    """Whether numbers before messages are ranks and no counter: all from 0 on, come again, and not only upwards.

    A node's file has those of its own ranks; with the files of the others they begin at 0 and leave none out.
    """
    kinds: Collection[int] = set(numbers)
    if len(kinds) == 1:
        return len(numbers) > 0.5 * lines
    again = any(later < earlier for earlier, later in pairwise(numbers))
    if not again or len(numbers) < 2 * len(kinds):
        return False
    if min(kinds) > 0:
        kinds = everyone()
    return max(kinds) == len(kinds) - 1


_CLAIM = re.compile(r"(?i)\brank[ =:]{0,2}(\d{1,5}) ?(?:/|of) ?\d{1,5}\b")


def _ranks_of_pids(lines: Iterable[str]) -> dict[int, int]:
    """Return the rank of each process label such as `[11689]`, where the process says which rank of how many it is."""
    said: dict[int, set[int]] = {}
    for line in lines:
        claim = _CLAIM.search(line[:200])
        own = head(line).own if claim is not None else None
        if claim is not None and own is not None:
            said.setdefault(own, set()).add(int(claim[1]))
    ranks = {label: next(iter(one)) for label, one in said.items() if len(one) == 1}
    return ranks if len(ranks) == len(said) and len(set(ranks.values())) == len(ranks) > 1 else {}
