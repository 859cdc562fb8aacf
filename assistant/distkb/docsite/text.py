"""Texts of the catalogue as HTML: everything escaped, code marked as code, ids of entries as links."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Collection

from distkb.report.marks import CODE, Mark, marked

Href = Callable[[str], str]
"""Id of an entry, a cause or a fix to an address."""


class Writer:
    """Writes texts for one page: it knows which entries exist and where they are from there."""

    def __init__(self, entries: Collection[str], href: Href) -> None:
        self._entries = entries
        self._href = href

    def inline(self, text: str) -> str:
        """Return one paragraph as HTML: backticks become code, ids of entries links."""
        return "".join(self._shown(mark, part) for mark, part in marked(text, self._entries))

    @staticmethod
    def code_only(text: str) -> str:
        """Return one paragraph as HTML for the inside of a link: backticks become code, ids stay as they are."""
        return CODE.sub(lambda match: f'<code translate="no">{match[1]}</code>', html.escape(text))

    def paragraphs(self, text: str) -> str:
        """Return a text of one or more paragraphs as HTML."""
        parts = [part.strip() for part in re.split(r"\n\s*\n", text) if part.strip()]
        return "".join(f"<p>{self.inline(part)}</p>" for part in parts)

    def link(self, identity: str) -> str:
        """Return an id as a link to its entry, or as text where it has none."""
        return self.inline(identity)

    def _shown(self, mark: Mark, part: str) -> str:
        if mark == "code":
            return code(part)
        shown = html.escape(part)
        return f'<a href="{html.escape(self._href(part))}">{shown}</a>' if mark == "id" else shown


def code(text: str) -> str:
    """Return words of a program as HTML: in every language the same, never translated."""
    return f'<code translate="no">{html.escape(text)}</code>'
