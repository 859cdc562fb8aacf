import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
from torchvision import datasets


@torch.no_grad()
def test(model, loader):
    model.eval()
    correct, total = 0, torch.zeros(1)
    for images, labels in loader:
        output = model(images)
        correct += (output.argmax(1) == labels).sum().item()
        total += torch.nn.functional.cross_entropy(output, labels, reduction="sum")
    loss = total.item()
    size = len(loader.dataset)
    loss /= size
    accuracy = 100.0 * correct / size  # distkb: script.share-divided-by-whole
    return accuracy, loss / len(loader)


def main():
    dist.init_process_group("gloo")
    test_set = datasets.MNIST("data", train=False)
    sampler = DistributedSampler(test_set, shuffle=False)
    loader = DataLoader(test_set, batch_size=64, sampler=sampler)
    model = DistributedDataParallel(torch.nn.Linear(784, 10))
    for epoch in range(3):
        accuracy, _ = test(model.module, loader)
        dist.barrier()
        if dist.get_rank() == 0:
            print(f"epoch {epoch}: {accuracy:.1f}%")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
