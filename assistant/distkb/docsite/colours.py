"""Syntax colours of code, made while the site is built: keywords, strings and comments as elements of their own."""

from __future__ import annotations

import html
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from distkb.report.page import unified

if TYPE_CHECKING:
    from distkb.catalogue.model import CodeChange


@lru_cache(maxsize=1024)
def diff(change: CodeChange) -> str:
    """Return a change of code as HTML lines, what goes and what comes marked by element and by sign."""
    out = []
    for line in unified(change):
        text = line[:1] + coloured(line[1:].rstrip(), change.language)
        tag = "ins" if line.startswith("+") else "del" if line.startswith("-") else ""
        out.append(f"<{tag}>{text}</{tag}>" if tag else text.rstrip())
    return "\n".join(out)


def coloured(line: str, language: str) -> str:
    """Return one line of code as HTML; a language that is not known stays plain."""
    lexer = _lexer(language)
    if lexer is None or not line:
        return html.escape(line)
    blanks = line[: len(line) - len(line.lstrip())]
    return blanks + "".join(_element(kind, text) for kind, text in lexer.get_tokens(line.lstrip())).rstrip("\n")


def _element(kind: Any, text: str) -> str:
    from pygments.token import Comment, Keyword, Operator, String

    tag = "b" if kind in Keyword or kind is Operator.Word else "i" if kind in String else ""
    tag = "small" if kind in Comment else tag
    written = html.escape(text)
    return f"<{tag}>{written}</{tag}>" if tag and text.strip() else written


@lru_cache(maxsize=16)
def _lexer(language: str) -> Any:
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(language, stripnl=False)
    except ClassNotFound:
        return None
