# small GPT for four-line verses, FSDP
import argparse, os, random, time
import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard
from torch.distributed.device_mesh import init_device_mesh
from torch.utils.data import DataLoader, DistributedSampler
from transformers import GPT2Config, GPT2LMHeadModel, GenerationConfig

PAD, BOS, EOS, NL = 0, 1, 2, 3
WORDS = 60


def verse(rng):
    ids = [BOS]
    for _ in range(rng.randint(1, 4)):
        w = rng.randrange(WORDS)
        for _ in range(rng.randint(3, 7)):
            ids.append(4 + w)
            w = (w * 7 + rng.choice([1, 3])) % WORDS
        ids.append(NL)
    return ids[:38] + [EOS]


def collate(rows):
    n = max(map(len, rows))
    return torch.tensor([r + [PAD] * (n - len(r)) for r in rows])


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=2)
    ap.add_argument("--bs", type=int, default=16)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--samples-per-rank", type=int, default=2)
    ap.add_argument("--max-new-tokens", type=int, default=40)
    ap.add_argument("--out", default="samples.txt")
    a = ap.parse_args()

    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    rng = random.Random(1)
    corpus = [verse(rng) for _ in range(1200)]
    sampler = DistributedSampler(corpus, seed=2)
    loader = DataLoader(corpus, a.bs, sampler=sampler, collate_fn=collate, drop_last=True)

    model = GPT2LMHeadModel(GPT2Config(vocab_size=4 + WORDS, n_positions=96, n_embd=64, n_layer=2, n_head=4, bos_token_id=BOS, eos_token_id=EOS, pad_token_id=PAD, tie_word_embeddings=False))
    mesh = init_device_mesh("cpu", (world,))
    for block in model.transformer.h:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    opt = torch.optim.AdamW(model.parameters(), lr=a.lr)
    gen = GenerationConfig(do_sample=True, top_k=20, max_new_tokens=a.max_new_tokens, bos_token_id=BOS, eos_token_id=EOS, pad_token_id=PAD)

    for epoch in range(a.epochs):
        sampler.set_epoch(epoch)
        model.train()
        t0 = time.time()
        for i, ids in enumerate(loader):
            loss = model(input_ids=ids, attention_mask=(ids != PAD).long(), labels=ids.masked_fill(ids == PAD, -100)).loss
            opt.zero_grad()
            loss.backward()
            opt.step()
            if i % 10 == 0:
                print(f"rank{rank} epoch {epoch} it {i}/{len(loader)} loss {loss.item():.3f}", flush=True)
        print(f"rank{rank} epoch {epoch} done in {time.time() - t0:.1f}s, sampling", flush=True)

        model.eval()
        torch.manual_seed(100 + rank)
        prompts = torch.tensor([[BOS, 4 + random.Random(epoch * world + rank + k).randrange(WORDS)] for k in range(a.samples_per_rank)])
        out = model.generate(prompts, attention_mask=torch.ones_like(prompts), generation_config=gen, synced_gpus=False)
        texts = [" ".join("/" if t == NL else f"w{t - 4}" for t in row if t > EOS) for row in out.tolist()]
        print(f"rank{rank} epoch {epoch} sampled {len(texts)} verses, {out.shape[1]} tokens", flush=True)
        everyone = [None] * world
        dist.all_gather_object(everyone, texts)
        if rank == 0:
            with open(a.out, "a") as f:
                for t in sum(everyone, []):
                    f.write(f"{epoch}\t{t}\n")
    dist.barrier()
    if rank == 0:
        print("samples in", os.path.abspath(a.out), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
