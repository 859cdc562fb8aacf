"""Encoder from the big collection (one process)."""
import torch
import torch.nn.functional as F

from speech import Spotter, utterances

torch.manual_seed(0)
torch.set_num_threads(1)
x, y = utterances(4096, seed=100)
model = Spotter()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(250):
    i = torch.randint(0, len(x), (64,))
    loss = F.cross_entropy(model(x[i]), y[i])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 49:
        print("pretrain", step + 1, f"{loss.item():.3f}")
torch.save(model.encoder.state_dict(), "encoder.pt")
