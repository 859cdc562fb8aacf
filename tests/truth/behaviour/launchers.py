"""What torchrun and accelerate make of a command line, without starting a process; one function for each claim."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any
from unittest.mock import patch

from shown import error_of, see, tell
from torch.distributed import launch, run
from torch.distributed.elastic.rendezvous.dynamic_rendezvous import RendezvousTimeout
from torch.distributed.elastic.rendezvous.utils import parse_rendezvous_endpoint


def started(*words: str, module: Any = run) -> tuple[Any, list[str]]:
    """The configuration and the arguments that torchrun would start a script with."""
    taken: list[Any] = []

    def elastic_launch(config: Any, **_: Any) -> Any:
        return lambda *arguments: taken.append((config, [str(one) for one in arguments]))

    with patch.object(run, "elastic_launch", elastic_launch), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        arguments = module.parse_args([*words, "train.py", "--lr", "1"])
        if module is launch:
            launch.launch(arguments)  # type: ignore[no-untyped-call]
        else:
            run.run(arguments)  # type: ignore[no-untyped-call]
    config, arguments = taken[0]
    return config, arguments


def processes_by_default() -> list[int]:
    """How many processes and nodes torchrun starts where neither is given."""
    config, _ = started()
    return [config.nproc_per_node, config.min_nodes, config.max_nodes]


def endpoint_beside_standalone() -> list[object]:
    """The rendezvous of a command with --standalone and an endpoint of its own."""
    config, _ = started("--standalone", "--rdzv-backend=static", "--rdzv-endpoint=head:29400")
    return [config.rdzv_backend, "head" in config.rdzv_endpoint]


def port_beside_standalone() -> bool:
    """Whether the given port counts beside --standalone."""
    config, _ = started("--standalone", "--master-port=12345")
    return "12345" in config.rdzv_endpoint


def port_of_a_single_node() -> str:
    """Where one node meets itself where nothing is given."""
    return str(started()[0].rdzv_endpoint)


def port_from_the_environment() -> bool:
    """Whether PET_MASTER_PORT is taken for a single node."""
    with patch.dict(os.environ, PET_MASTER_PORT="12345"):
        return "12345" in str(started()[0].rdzv_endpoint)


def node_rank_by_default() -> int:
    """The rank of a node that is given none."""
    return int(started("--nnodes=2", "--master-addr=head")[0].rdzv_configs["rank"])


def master_address_with_c10d() -> str:
    """The endpoint of a c10d command that also names a master."""
    words = ("--nnodes=2", "--rdzv-backend=c10d", "--rdzv-endpoint=one:29400", "--master-addr=two")
    return str(started(*words)[0].rdzv_endpoint)


def static_without_a_backend() -> str:
    """The backend of a command that names a master only."""
    return str(started("--nnodes=2", "--master-addr=head")[0].rdzv_backend)


def restarts_by_default() -> int:
    """How often torchrun starts the workers again where nothing is given."""
    return int(started()[0].max_restarts)


def arguments_of_the_script() -> list[bool]:
    """Whether the script gets --local-rank: from torchrun, from the old launcher, and from that with --use-env."""
    calls = (started(), started(module=launch), started("--use-env", module=launch))
    return [any("local-rank" in word for word in words) for _, words in calls]


def patience_of_the_rendezvous() -> list[float]:
    """Seconds that torchrun waits for nodes, and for one read of the rendezvous."""
    timeout = RendezvousTimeout()
    return [timeout.join.total_seconds()]


def endpoint_left_empty() -> list[object]:
    """The host and the port of an empty endpoint."""
    return list(parse_rendezvous_endpoint("", default_port=29400))


def patience_of_the_agents() -> float:
    """Seconds that an agent waits for the others at the end."""
    from torch.distributed.elastic.agent.server.api import SimpleElasticAgent

    return float(inspect.signature(SimpleElasticAgent.__init__).parameters["exit_barrier_timeout"].default)


def accelerated(*words: str) -> Any:
    """What accelerate launch makes of a command."""
    from accelerate.commands.launch import launch_command_parser

    return launch_command_parser().parse_args(list(words))


def option_behind_the_script() -> list[object]:
    """The number of processes, and the script's arguments, of a command with the option behind the script."""
    taken = accelerated("train.py", "--num_processes", "4")
    return [taken.num_processes, taken.training_script_args]


def value_of_same_network() -> list[object]:
    """Whether the switch is on, and the script, in `--same_network false train.py`."""
    taken = accelerated("--same_network", "false", "train.py")
    return [taken.same_network, taken.training_script]


def key_that_nobody_knows() -> str:
    """The error of a configuration file with a key from elsewhere."""
    from accelerate.commands.config.config_args import load_config_from_file

    with tempfile.TemporaryDirectory() as home:
        path = Path(home, "config.yaml")
        path.write_text("compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nnproc_per_node: 4\n")
        return error_of(lambda: load_config_from_file(str(path)))


def batches_of_a_prepared_loader() -> list[object]:
    """How many of 10 samples in batches of 2 each of two ranks gets, with even_batches and without."""
    from accelerate.data_loader import BatchSamplerShard
    from torch.utils.data import BatchSampler, SequentialSampler

    samples: Any = range(10)
    seen = []
    for even in (True, False):
        batches = BatchSampler(SequentialSampler(samples), 2, drop_last=False)
        seen.append([sum(map(len, BatchSamplerShard(batches, 2, rank, even_batches=even))) for rank in range(2)])
    return list(seen)


def batch_that_is_split() -> list[int]:
    """The size of each rank's batch of a loader with batches of 4, as it is and with split_batches."""
    from accelerate.data_loader import BatchSamplerShard
    from torch.utils.data import BatchSampler, SequentialSampler

    samples: Any = range(16)
    batches = BatchSampler(SequentialSampler(samples), 4, drop_last=False)
    return [len(next(iter(BatchSamplerShard(batches, 2, 0, split_batches=split)))) for split in (False, True)]


def timeout_of_a_second_state() -> bool:
    """Whether the kwargs of a second PartialState change anything of the first."""
    from accelerate import PartialState

    first = PartialState(cpu=True)
    return PartialState(cpu=True).__dict__ is first.__dict__


def timeouts_of_accelerate() -> list[float]:
    """The time limit in seconds that Accelerate asks for, with nccl and with gloo."""
    from accelerate import InitProcessGroupKwargs

    limits: list[Any] = [InitProcessGroupKwargs(backend=backend).timeout for backend in ("nccl", "gloo")]
    return [limit.total_seconds() for limit in limits]


def signal_to_the_others() -> list[object]:
    """The signal that a worker gets when its neighbour has failed, and whether it came before ten seconds were over."""
    code = (
        "import os, pathlib, signal, sys, time\n"
        "start, mark = time.monotonic(), pathlib.Path(sys.argv[1])\n"
        "def told(number, frame):\n"
        "    mark.write_text(f'{signal.Signals(number).name} {time.monotonic() - start < 10}')\n"
        "    sys.exit(1)\n"
        "if os.environ['RANK'] == '0':\n"
        "    signal.signal(signal.SIGTERM, told)\n"
        "    mark.touch()\n"
        "    time.sleep(60)\n"
        "while not mark.exists():\n"
        "    time.sleep(0.05)\n"
        "sys.exit(3)\n"
    )
    with tempfile.TemporaryDirectory() as home:
        script, mark = Path(home, "train.py"), Path(home, "mark")
        script.write_text(code)
        words = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(script), str(mark)]
        subprocess.run([sys.executable, *words], capture_output=True, check=False, timeout=100)
        name, soon = mark.read_text().split()
    return [name, soon == "True"]


AIDS = {"started", "accelerated"}
SHOWN = [one for one in list(globals().values()) if inspect.isfunction(one) and one.__module__ == "__main__"]

if __name__ == "__main__":
    sys.argv = [sys.argv[0]]
    tell(see(one for one in SHOWN if one.__name__ not in AIDS))
