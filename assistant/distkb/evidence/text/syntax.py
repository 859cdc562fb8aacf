"""Parses Python that somebody else wrote, without running it and without a word about its style."""

from __future__ import annotations

import ast
import warnings


def parse_python(text: str) -> ast.Module:
    """Return the tree; raises SyntaxError, ValueError, RecursionError or MemoryError where there is none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # invalid escapes in the file that is read are none of ours
        return ast.parse(text)
