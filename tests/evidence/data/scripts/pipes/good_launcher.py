"""A launcher that is read while it runs."""

import subprocess

import torch.distributed as dist


def communicates(script):
    job = subprocess.Popen(["torchrun", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = job.communicate()
    return out, err, job.wait()


def one_pipe(script):
    job = subprocess.Popen(["torchrun", script], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    for line in job.stdout:
        print(line, end="")
    return job.wait()


def run(script):
    return subprocess.run(["torchrun", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)


def in_turns(scripts):
    jobs = [subprocess.Popen(["torchrun", s], stdout=subprocess.PIPE, text=True) for s in scripts]
    while any(job.poll() is None for job in jobs):
        for job in jobs:
            print(job.stdout.readline(), end="")


if __name__ == "__main__":
    dist.init_process_group("gloo")
    dist.destroy_process_group()
