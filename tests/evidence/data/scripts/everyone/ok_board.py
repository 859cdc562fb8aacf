import torch.distributed as dist
from accelerate import Accelerator
from torch.utils.tensorboard import SummaryWriter


def own_folder():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    writer = SummaryWriter(f"runs/{rank}")
    writer.add_scalar("loss", 0.0, 0)
    dist.destroy_process_group()


def on_one(accelerator):
    return SummaryWriter("runs") if accelerator.is_main_process else None


def main():
    accelerator = Accelerator(log_with="tensorboard", project_dir="runs")
    accelerator.init_trackers("speech")
    on_one(accelerator)
    own_folder()


if __name__ == "__main__":
    main()
