from transformers import Trainer

trainer = Trainer(model=None)
trainer.train()
if trainer.is_world_process_zero():
    trainer.save_model("out")  # distkb: script.trainer-save-on-some-ranks
    trainer.evaluate()  # distkb: script.forward-on-some-ranks
