import lightning as L

fabric = L.Fabric(devices=2)


def save(state):
    if fabric.global_rank == 0:
        fabric.save("last.ckpt", state)  # distkb: script.save-on-some-ranks


trainer = L.Trainer(devices=2)
if trainer.is_global_zero:
    trainer.test()  # distkb: script.forward-on-some-ranks
