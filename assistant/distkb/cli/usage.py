"""Wrong usage in one sentence of the user's language, whatever click found."""

from __future__ import annotations

import click

from distkb.cli.diagnostics import Failure


def explain(error: click.ClickException) -> Failure:
    """Return the failure to print for an error that click raised while reading the command line."""
    if isinstance(error, click.NoSuchOption):
        if error.possibilities:
            return Failure("usage.no-option-near", name=error.option_name, near=error.possibilities[0])
        return Failure("usage.no-option", name=error.option_name)
    if isinstance(error, click.BadOptionUsage):
        surplus = "does not take" in error.message  # click tells the two apart in its message only
        key = "usage.option-takes-no-value" if surplus else "usage.option-needs-value"
        return Failure(key, name=error.option_name)
    if isinstance(error, click.MissingParameter):
        return Failure("usage.missing", name=_name(error.param))
    if isinstance(error, click.BadParameter):
        return _bad_value(error)
    return Failure("usage.other", message=error.format_message())


def _bad_value(error: click.BadParameter) -> Failure:
    kind = error.param.type if error.param else None
    name = _name(error.param)
    if isinstance(kind, click.Choice):
        return Failure("usage.not-a-choice", name=name, choices=", ".join(map(str, kind.choices)))
    if isinstance(kind, click.types.IntParamType):
        return Failure("usage.not-a-number", name=name)
    return Failure("usage.bad-value", name=name, message=error.message)


def _name(parameter: click.Parameter | None) -> str:
    if parameter is None:
        return "?"
    if isinstance(parameter, click.Argument):
        return parameter.metavar or (parameter.name or "").upper()
    return max(parameter.opts, key=len)
