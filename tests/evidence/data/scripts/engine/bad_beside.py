import deepspeed


def main(net, loader):
    engine, _, _, _ = deepspeed.initialize(model=net)
    for batch in loader:
        loss = engine(batch)
        loss.backward()  # distkb: script.backward-beside-engine
        engine.step()
