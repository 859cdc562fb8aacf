"""A launcher whose pipes are read when it has ended, or one by one."""

import subprocess

import torch.distributed as dist


def wait_first(script):
    job = subprocess.Popen(["torchrun", "--nproc-per-node", "4", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # distkb: script.pipe-not-emptied
    job.wait()
    print(job.stdout.read())


def errors_last(script):
    command = ["accelerate", "launch", script]
    job = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # distkb: script.pipe-not-emptied
    for line in job.stdout:
        print(line, end="")
    print(job.stderr.read())


def called(script):
    subprocess.check_call("torchrun --nproc-per-node 4 " + script, shell=True, stdout=subprocess.PIPE)  # distkb: script.pipe-not-emptied


if __name__ == "__main__":
    dist.init_process_group("gloo")
    dist.destroy_process_group()
