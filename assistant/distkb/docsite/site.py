"""What the site is made of: addresses of pages, and how to get from one to another."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from typing import Any

from distkb.catalogue.records import Language


@dataclass(frozen=True)
class Page:
    """One page in one language."""

    address: str
    """Path below the folder of its language, the same in both: `e/D21.html`."""
    lang: Language
    template: str
    title: str
    description: str
    values: dict[str, Any]

    @property
    def path(self) -> str:
        """Path below the root of the site."""
        return f"{self.lang}/{self.address}"

    def to(self, path: str) -> str:
        """Return the relative address of a path of the site, which may carry a fragment, from this page."""
        target, mark, fragment = path.partition("#")
        if target == self.path or not target:
            return f"#{fragment}" if mark else posixpath.basename(self.path)
        return posixpath.relpath(target, posixpath.dirname(self.path)) + mark + fragment

    def near(self, address: str) -> str:
        """Return the relative address of a page in the same language."""
        return self.to(f"{self.lang}/{address}")

    def other(self, lang: Language) -> str:
        """Return the relative address of this page in another language."""
        return self.to(f"{lang}/{self.address}")


def entry_address(identity: str) -> str:
    """Return the address of an entry below its language."""
    return f"e/{identity}.html"
