import json
import logging
import os
from datetime import timedelta

import torch
import torch.nn.functional as F
from accelerate import Accelerator, InitProcessGroupKwargs
from accelerate.logging import get_logger
from huggingface_hub import snapshot_download

from captioner import Captioner

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s | %(message)s")
logging.getLogger("httpx2").setLevel(logging.WARNING)
logging.getLogger("httpcore2").setLevel(logging.WARNING)
logger = get_logger("finetune")


def load_pretrained(acc, repo):
    # node-local scratch, one directory per process
    cache = os.path.join(os.environ["SCRATCH_DIR"], f"p{acc.process_index}")
    path = snapshot_download(repo, cache_dir=cache, max_workers=4)
    cfg = json.load(open(os.path.join(path, "config.json")))
    model = Captioner(**cfg)
    index = json.load(open(os.path.join(path, "weights.index.json")))
    state = {}
    for name in sorted(set(index.values())):
        state.update(torch.load(os.path.join(path, name)))
    model.load_state_dict(state)
    return model, cfg


def batches(n, size, vocab, seed):
    g = torch.Generator().manual_seed(seed)
    for _ in range(n):
        img = torch.randn(size, 48, generator=g)
        start = img[:, :1].abs().mul(40).long() % vocab
        yield img, (start + torch.arange(12) * 3) % vocab


def main():
    acc = Accelerator(cpu=True, kwargs_handlers=[InitProcessGroupKwargs(timeout=timedelta(seconds=25))])
    torch.set_num_threads(1)
    logger.info("processes: %d", acc.num_processes)
    model, cfg = load_pretrained(acc, "lab/tiny-captioner")
    logger.info("rank %d: model loaded, %d tensors", acc.process_index, len(model.state_dict()), main_process_only=False)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model, opt = acc.prepare(model, opt)
    for step, (img, ids) in enumerate(batches(60, 16, cfg["vocab"], acc.process_index)):
        logits = model(img, ids)
        loss = F.cross_entropy(logits.flatten(0, 1), ids.flatten())
        acc.backward(loss)
        opt.step()
        opt.zero_grad()
        if step % 10 == 0:
            logger.info("step %d loss %.4f", step, loss.item())
    acc.wait_for_everyone()
    acc.save(acc.unwrap_model(model).state_dict(), "logs/captioner.pt")
    logger.info("saved logs/captioner.pt")
    acc.end_training()


if __name__ == "__main__":
    main()
