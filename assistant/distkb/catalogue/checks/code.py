"""The code before and after a fix is code: it parses in the language that it says it is in."""

from __future__ import annotations

import ast
import json
import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from distkb.catalogue.load import Loaded
    from distkb.catalogue.problem import Problem


def check_code(loaded: Loaded) -> Iterator[Problem]:
    """Report code of fixes that does not parse; shell and plain text are not judged."""
    for record in loaded.of("entry"):
        for number, cause in enumerate(record.value.causes):
            for index, fix in enumerate(cause.fixes):
                for name in ("before", "after") if fix.code else ():
                    why = unparsed(getattr(fix.code, name), fix.code.language)
                    if why:
                        at = ("causes", number, "fixes", index, "code", name)
                        yield record.problem(f"this is not {fix.code.language}: {why}", *at)


def unparsed(code: str, language: str) -> str | None:
    """Return why a piece of code does not parse, None where it does or its language is not known here."""
    try:
        if language == "python":
            ast.parse(textwrap.dedent(code))
        elif language == "json":
            json.loads(code)
        elif language == "yaml":
            import yaml

            try:
                yaml.safe_load(code)
            except yaml.YAMLError as error:
                return str(error).partition("\n")[0]
    except ValueError as error:  # of JSON, and of Python where the code holds a null byte
        return str(error)
    except SyntaxError as error:
        return f"{error.msg} (line {error.lineno})"
    return None
