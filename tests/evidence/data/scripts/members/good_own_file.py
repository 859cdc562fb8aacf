import torch
import torch.distributed as dist


def save(path, step, model):
    torch.save({"step": step, "model": model.state_dict()}, f"{path}/part_{dist.get_rank()}.pt")
    dist.barrier()


def main(model, loader, every):
    dist.init_process_group("gloo")
    mesh = dist.new_group([0, 1])
    saved = torch.load(f"run/part_{dist.get_rank()}.pt", weights_only=True)
    model.load_state_dict(saved["model"])
    step = saved["step"]  # of its own file, and the same on all ranks
    for batch in loader:
        loss = model(batch).sum()
        loss.backward()
        step += 1
        if step % every == 0:
            save("run", step, model)
    print(dist.get_world_size(mesh))
    dist.destroy_process_group()
