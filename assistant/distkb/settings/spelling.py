"""Tells a misspelled variable from one that belongs to somebody else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from distkb.catalogue.settings import KnownNames, Setting

FAMILIES = (
    "NCCL_",
    "TORCH_NCCL_",
    "TORCH_FR_",
    "TORCH_GLOO_",
    "TORCH_DISTRIBUTED_",
    "TORCH_DIST_",
    "TORCHELASTIC_",
    "TORCH_ELASTIC_",
    "GLOO_",
)
"""Beginnings of names whose readers are all known: another name with one of them is read by nobody known."""
_ROOTS = ("TORCH", "NCCL", "GLOO")
_SHORT, _LONG = 8, 12
"""Shortest name that is compared at all, and shortest that may be two letters away."""
_LONGEST = 80


class Names:
    """All variables that are known."""

    def __init__(self, variables: Iterable[Setting], groups: Iterable[KnownNames]) -> None:
        self._records = {setting.name: setting for setting in variables}
        listed = [name for group in groups for name in group.names]
        self._prefixes = tuple(name[:-1] for name in listed if name.endswith("*"))
        self._known = frozenset([*self._records, *(name for name in listed if not name.endswith("*"))])
        self._families = sorted(name for name in self._known if name.startswith(FAMILIES))
        self._own = sorted(name for name in self._records if not name.startswith(FAMILIES))
        self._by_words = {_words(name): name for name in self._families}

    def knows(self, name: str) -> bool:
        """Whether somebody known reads the name."""
        return name in self._known or name.startswith(self._prefixes)

    def belongs(self, name: str) -> bool:
        """Whether a name begins like those whose readers are all known."""
        return name.startswith(FAMILIES) and not name.startswith(self._prefixes)

    def meant(self, name: str) -> str | None:
        """Return the name that a misspelled one was meant to be; None for known names and for strangers."""
        if self.knows(name) or len(name) > _LONGEST:
            return None
        return self._other_case(name) or self._other_prefix(name) or self._nearest(name)

    def _other_case(self, name: str) -> str | None:
        upper = name.upper()
        return upper if upper != name and upper in self._known and len(name) >= _SHORT else None

    def _other_prefix(self, name: str) -> str | None:
        """Return the name with `TORCH_` put before it or taken away, or with its words in the right order."""
        longer, shorter = f"TORCH_{name}", name.removeprefix("TORCH_")
        if name.startswith("NCCL_") and longer in self._known:
            return longer
        if name.startswith("TORCH_NCCL_") and shorter in self._known:
            return shorter
        return self._by_words.get(_words(name)) if name.startswith(FAMILIES) else None

    def _nearest(self, name: str) -> str | None:
        upper = name.upper()
        if upper.startswith(_ROOTS):
            return _near(upper, self._families, 1 if len(name) < _LONG else 2)
        if len(name) < _SHORT:
            return None
        return _near(upper, self._own, 1) or _near(upper, self._families, 1)


def _words(name: str) -> tuple[str, ...]:
    return tuple(sorted(name.split("_")))


def _near(name: str, candidates: Sequence[str], most: int) -> str | None:
    from rapidfuzz import process
    from rapidfuzz.distance import OSA

    found = process.extractOne(name, candidates, scorer=OSA.distance, score_cutoff=most)
    if found is None:
        return None
    nearest: str = found[0]
    # Names that differ in a number are counted things, and a first letter is hardly ever mistyped.
    if nearest[0] != name[0] or _letters(nearest) == _letters(name):
        return None
    return nearest


def _letters(name: str) -> str:
    return "".join(char for char in name if not char.isdigit())
