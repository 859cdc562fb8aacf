"""What every task should have of its own and the shell puts in for all of them is told once, for who reads it."""

from __future__ import annotations

from pathlib import Path

import built_in
import pytest

from distkb.evidence.readers.configs import read_configs

HEAD = "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node={tasks}\nexport H=$(scontrol show hostnames)\n"
ACCELERATE = "accelerate launch --num_machines 2 --num_processes 16 --main_process_ip $H"
TORCHRUN = "torchrun --nnodes 2 --nproc-per-node 8 --master-addr $H"


def found_in(folder: Path, launch: str, tasks: int) -> list[str]:
    """Ids of what is observed in a Slurm script that starts a command."""
    path = folder / "job.sbatch"
    path.write_text(HEAD.format(tasks=tasks) + launch + "\n", encoding="utf-8")
    return [one.id for one in read_configs([path], built_in.catalogue().settings, {}).observations]


@pytest.mark.parametrize(
    ("launch", "identity"),
    [
        (f'srun bash -c "{TORCHRUN} --node-rank $SLURM_NODEID t.py"', "config.srun-expanded-early"),
        (f"srun {TORCHRUN} --node-rank 0 t.py", "config.srun-fixed-node-rank"),
        (f'srun bash -c "{ACCELERATE} --machine_rank $SLURM_PROCID t.py"', "config.accelerate-expanded-early"),
        (f"N=$SLURM_NODEID\nsrun {ACCELERATE} --machine_rank $N t.py", "config.accelerate-expanded-early"),
        (f"srun {ACCELERATE} --machine_rank 0 t.py", "config.accelerate-fixed-rank"),
        (f"srun bash -c '{ACCELERATE} --machine_rank $SLURM_PROCID t.py'", None),
        (f'srun bash -c "{ACCELERATE} --machine_rank \\$SLURM_PROCID t.py"', None),
        (f"srun {ACCELERATE} --machine_rank $SLURM_NODEID --rdzv_backend c10d t.py", None),
        (f"srun --nodes=1 --ntasks=1 {ACCELERATE} --machine_rank 0 t.py", "config.step-smaller-than-job"),
    ],
)
def test_a_rank_of_a_node_that_is_one_for_all_counts_for_its_launcher(
    tmp_path: Path, launch: str, identity: str | None
) -> None:
    """Nodes that all get one rank never meet: a failure of torchrun's rendezvous, or of Accelerate's; one finding."""
    assert found_in(tmp_path, launch, 1) == ([] if identity is None else [identity])


@pytest.mark.parametrize(
    ("launch", "same"),
    [
        ('srun bash -c "RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID python t.py"', True),
        ('srun bash -c "export RANK=$SLURM_PROCID; python t.py"', True),
        ("srun python t.py --rank $SLURM_PROCID --local_rank $SLURM_LOCALID", True),
        ("srun python t.py --local-rank=$SLURM_LOCALID", True),
        ("srun bash -c 'RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID python t.py'", False),
        ('srun bash -c "RANK=\\$SLURM_PROCID python t.py"', False),
        ("srun bash -c 'python t.py --rank $SLURM_PROCID'", False),
        ("srun python t.py --name $SLURM_PROCID --rank-of-adapter 8", False),
        ("srun --ntasks=1 --nodes=1 python t.py --rank $SLURM_PROCID", False),
        ("python t.py --rank $SLURM_PROCID", False),
    ],
)
def test_tasks_without_a_launcher_that_get_one_rank_are_told_of_once(tmp_path: Path, launch: str, same: bool) -> None:
    """A rank that is put in before srun is the same in every task of a script that numbers its group by itself."""
    found = [one for one in found_in(tmp_path, launch, 8) if "rank" in one or "early" in one]
    assert found == (["config.rank-exported"] if same else [])


def test_the_repaired_command_draws_no_finding(tmp_path: Path) -> None:
    """What is printed to paste in its place leaves the rank to each task, and keeps all other arguments."""
    path = tmp_path / "job.sbatch"
    launch = 'A=1\nsrun python -u t.py --rank=$SLURM_PROCID --a $A --local_rank "$SLURM_LOCALID" --b 2'
    path.write_text(HEAD.format(tasks=8) + launch + "\n", encoding="utf-8")
    [found] = read_configs([path], built_in.catalogue().settings, {}).observations
    [command] = found.commands
    assert "t.py --a 1 --b 2" in command
    assert not found_in(tmp_path, "A=1\n" + command, 8)
