import torch
from torch import nn

PLUS, EOS = 10, 11
VOCAB = 12


class SumPolicy(nn.Module):
    """A small GRU that reads `a + b` and writes the answer one token at a time."""

    def __init__(self, dim=48):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, VOCAB)

    def forward(self, tokens):
        h, _ = self.rnn(self.embed(tokens))
        return self.out(h)


@torch.no_grad()
def sample(policy, prompts, n, temperature, generator):
    tokens = prompts
    for _ in range(n):
        probs = torch.softmax(policy(tokens)[:, -1] / temperature, -1)
        tokens = torch.cat([tokens, torch.multinomial(probs, 1, generator=generator)], 1)
    return tokens[:, prompts.size(1):]


def token_logps(policy, prompts, answers):
    logits = policy(torch.cat([prompts, answers], 1))[:, prompts.size(1) - 1:-1]
    return torch.log_softmax(logits, -1).gather(-1, answers[..., None]).squeeze(-1)
