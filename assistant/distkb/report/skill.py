"""The file for coding agents: when to call what, how to read the answer, and what never to do."""

from __future__ import annotations

from collections.abc import Sequence

from distkb.locale import Say

EXAMPLES = 2
"""Examples of one command that are shown."""
STEPS = ("agent.step.digest", "agent.step.more", "agent.step.code", "agent.step.live", "agent.step.fix")
READING = ("agent.read.verdict", "agent.read.weights", "agent.read.places", "agent.read.left-out", "agent.read.exit")
NEVER = ("agent.never.signal", "agent.never.attach", "agent.never.variable", "agent.never.invent", "agent.never.send")


def write(calls: Sequence[tuple[str, str, tuple[str, ...]]], say: Say) -> str:
    """Return the file as Markdown. `calls`: commands, what their help says of them, and their examples."""
    lines = ["---", "name: distkb", f"description: {say('agent.description')}", "---", "", "# distkb", ""]
    lines += [say("agent.what"), "", f"## {say('agent.heading.steps')}", ""]
    lines += [f"{number}. {say(key)}" for number, key in enumerate(STEPS, 1)]
    lines += ["", f"## {say('agent.heading.commands')}", ""]
    for name, short, examples in calls:
        shown = ", ".join(f"`{example}`" for example in examples[:EXAMPLES])
        lines.append(f"- `{name}`: {short}. {shown}")
    for heading, keys in (("agent.heading.reading", READING), ("agent.heading.never", NEVER)):
        lines += ["", f"## {say(heading)}", "", *(f"- {say(key)}" for key in keys)]
    return "\n".join(lines) + "\n"
