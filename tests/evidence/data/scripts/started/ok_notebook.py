import torch
from accelerate import Accelerator, notebook_launcher


def train(model):
    accelerator = Accelerator()
    accelerator.prepare(model).cuda()


net = torch.nn.Linear(8, 8)
print(torch.cuda.device_count())
notebook_launcher(train, args=(net,), num_processes=torch.cuda.device_count())
net.cuda()
