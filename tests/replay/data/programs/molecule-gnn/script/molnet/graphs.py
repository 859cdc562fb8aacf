import torch


def make_graphs(n, seed, max_nodes=64):
    """Contact maps of little clusters: padded adjacency with self loops, 9 atom features, one energy per graph.

    Cluster sizes follow a long tail, as in the crawl.
    """
    g = torch.Generator().manual_seed(seed)
    adj = torch.zeros(n, max_nodes, max_nodes)
    feat = torch.zeros(n, max_nodes, 9)
    mask = torch.zeros(n, max_nodes)
    for i in range(n):
        u = torch.rand(1, generator=g).item()
        k = int(8 + 6 * torch.rand(1, generator=g).item()) if u < 0.998 else max_nodes
        pos = torch.randn(k, 3, generator=g)
        a = (torch.cdist(pos, pos) < 1.6).float()
        adj[i, :k, :k] = a
        kind = torch.randint(0, 8, (k,), generator=g)
        feat[i, torch.arange(k), kind] = 1.0
        feat[i, :k, 8] = a.sum(1) / 8
        mask[i, :k] = 1.0
    w = torch.linspace(-1, 1, 9)
    per_atom = torch.tanh(feat @ w + (adj @ feat @ w) * 0.1)
    y = (per_atom * mask).sum(1) / mask.sum(1)
    return adj, feat, mask, (y - y.mean()) / y.std()
