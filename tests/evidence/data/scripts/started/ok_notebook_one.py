from accelerate import Accelerator, notebook_launcher

accelerator = Accelerator()


def train():
    print(accelerator.device)


notebook_launcher(train, num_processes=1)
