"""Commands that a reader copies, split into words by bash itself, and the options in them that the programs know."""

from __future__ import annotations

import contextlib
import functools
import io
import subprocess
import sys
from pathlib import Path

import click
import pytest
from test_code_blocks import FILLED_IN, SHELL, blocks, commands

from distkb.cli.diagnostics import Failure
from distkb.cli.main import cli

ONLY_WORDS = r"""
PATH=/nowhere SLURM_CPUS_PER_TASK=96 SLURM_NNODES=2 SLURM_JOB_ID=4711 SLURM_NODEID=0 NNODES=2 NODE_RANK=0
HEAD=head HEAD_ADDR=head MASTER_ADDR=head MASTER_PORT=29500
record() { printf '%s\0' "$@" $'\n' >&3; }
torchrun() { record torchrun "$@"; }
accelerate() { record accelerate "$@"; }
distkb() { record distkb "$@"; }
python() { [[ "$1 $2" == "-m torch.distributed.run" ]] && torchrun "${@:3}"; }
python3() { python "$@"; }
bash() { [[ $1 == -c ]] && eval "$2"; }
behind() {
  while (($#)); do
    case $1 in torchrun | accelerate | distkb | python | python3 | bash) "$@"; return ;; esac
    shift
  done
}
for name in srun sudo salloc docker mpirun timeout env nohup numactl tmux ssh strace; do
  eval "$name() { behind \"\$@\"; }"
done
hostname() { echo node1; }
nproc() { echo 16; }
scontrol() { echo head; }
head() { local line; read -r line; echo "$line"; }
kill() { return 1; }
command_not_found_handle() { return 1; }
for number in $(eval "echo {0..$1}"); do
  (eval "$(<"$number")") </dev/null >/dev/null 2>&1
done
"""
"""No program is found and so none is started: what bash would start is written down, behind srun or sudo too."""


@functools.cache
def lines(home: Path) -> list[list[str]]:
    """Every call of torchrun, accelerate and distkb in commands and blocks of shell, as words."""
    scripts = [*commands(), *((where, code) for where, language, code in blocks() if language in SHELL)]
    for number, (_, script) in enumerate(scripts):
        (home / str(number)).write_text(FILLED_IN.sub("x", script) + "\n")
    call = f"exec 3>calls; {ONLY_WORDS}"
    subprocess.run(["bash", "-c", call, "-", str(len(scripts) - 1)], cwd=home, check=True, timeout=100)
    return [call.split("\0")[:-1] for call in (home / "calls").read_text().split("\n\0") if call]


@pytest.fixture(scope="session")
def called(tmp_path_factory: pytest.TempPathFactory) -> list[list[str]]:
    """The calls, from a folder that is made for them."""
    return lines(tmp_path_factory.mktemp("calls"))


def unknown(words: list[str]) -> str:
    """What distkb says of an option or a command that it does not have."""
    command: click.Command = cli
    context = None
    try:
        while True:
            context = command.make_context(words[0], list(words[1:]), parent=context)
            if not isinstance(command, click.Group):
                return ""
            rest = [*context._protected_args, *context.args]
            if not rest:
                return ""
            name, found, more = command.resolve_command(context, rest)
            if found is None:
                return f"no command {name}"
            command, words = found, [name or "", *more]
    except (click.BadParameter, click.exceptions.Exit):
        return ""  # a file that is not here, or a question for help
    except click.UsageError as error:
        return error.format_message()
    except Failure as failure:
        return str(failure) or "no such command"


def test_distkb_has_the_options_that_it_tells_people_to_use(called: list[list[str]]) -> None:
    """Commands of fixes, steps, findings and guides name subcommands and options that exist."""
    own = [words for words in called if words[0] == "distkb" and len(words) > 1]
    assert len(own) > 80
    assert {" ".join(words): why for words in own if (why := unknown(words))} == {}


@pytest.mark.slow
def test_launchers_have_the_options_that_commands_give_them(called: list[list[str]]) -> None:
    """The parsers of the installed torchrun and accelerate take each command."""
    from accelerate.commands.launch import launch_command_parser
    from torch.distributed.run import get_args_parser

    taken, refused = 0, {}
    for words in called:
        parser = get_args_parser() if words[0] == "torchrun" else launch_command_parser()
        rest = words[1:] if words[0] == "torchrun" else words[2:]
        if words[0] == "distkb" or (words[0] == "accelerate" and words[1:2] != ["launch"]) or len(rest) < 2:
            continue
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            try:
                parser.parse_args(rest)
                taken += 1
            except SystemExit:
                refused[" ".join(words)] = said.getvalue().strip().rpartition("\n")[2]
    assert refused == {}
    assert taken > 60, sys.version
