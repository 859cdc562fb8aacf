from accelerate import Accelerator, notebook_launcher

accelerator = Accelerator(mixed_precision="bf16")  # distkb: script.begun-before-notebook


def train():
    print(accelerator.device)


notebook_launcher(train, num_processes=4)
