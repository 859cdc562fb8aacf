import torch
import torch.nn as nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters


class Policy(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.pi = nn.Sequential(nn.Linear(3, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, 1))
        self.vf = nn.Sequential(nn.Linear(3, hidden), nn.Tanh(), nn.Linear(hidden, 1))
        self.log_std = nn.Parameter(torch.zeros(1))

    def dist(self, obs):
        return torch.distributions.Normal(2 * torch.tanh(self.pi(obs)).squeeze(-1), self.log_std.exp())

    def value(self, obs):
        return self.vf(obs).squeeze(-1)


def pack(policy):
    return parameters_to_vector(policy.parameters()).detach().clone()


def unpack(policy, vec):
    vector_to_parameters(vec, policy.parameters())
