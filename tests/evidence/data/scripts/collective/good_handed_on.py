"""The main rank hands a function with the collective on; the others call the collective themselves."""

import torch.distributed as dist


def search(study, rank, trials):
    if rank == 0:

        def objective(trial):
            chosen = [trial]
            dist.broadcast_object_list(chosen, src=0)
            return chosen[0]

        study.optimize(objective, n_trials=trials)
    else:
        for _ in range(trials):
            chosen = [None]
            dist.broadcast_object_list(chosen, src=0)
