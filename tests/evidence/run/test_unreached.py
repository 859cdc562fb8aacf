"""What is wrong in lines of a script that the run never came to is no reason of its failure."""

from __future__ import annotations

import textwrap
from pathlib import Path

import built_in
import pytest

from distkb.catalogue.places import cache_directory
from distkb.intake import read

CATALOGUE = built_in.catalogue()
SCRIPT = textwrap.dedent(
    """\
    import torch.distributed as dist

    def load(path):
        return open(path).read()

    def main():
        dist.init_process_group("gloo")
        rank = dist.get_rank()
        text = load("vocab.json")
        for epoch in range(3):
            load("shard.json")
            if rank == 0:
                dist.barrier()

    main()
    """
)
WRONG = "script.collective-on-some-ranks"


def found(root: Path, failed: int) -> bool:
    """Whether the barrier of one rank is told of where a call of `main` in this line failed in the helper."""
    (root / "train.py").write_text(SCRIPT)
    text = "[rank0]: Traceback (most recent call last):\n"
    for line, function in ((15, "<module>"), (failed, "main"), (4, "load")):
        code = SCRIPT.splitlines()[line - 1].strip()
        text += f'[rank0]:   File "/home/kim/train.py", line {line}, in {function}\n[rank0]:     {code}\n'
    text += "[rank0]: FileNotFoundError: [Errno 2] No such file or directory: 'vocab.json'\n"
    (root / "run.log").write_text(text)
    observations = read(CATALOGUE, [root], cache_dir=cache_directory()).observations
    return any(one.id == WRONG and one.present for one in observations)


@pytest.mark.parametrize(("line", "told"), [(9, False), (11, True)])
def test_lines_behind_a_failure_in_a_function_that_runs_once_have_not_run(
    tmp_path: Path, line: int, told: bool
) -> None:
    """Before the loop none of its lines has run; in it each may have run in an earlier round."""
    assert found(tmp_path, line) is told
