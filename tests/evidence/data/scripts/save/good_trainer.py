from transformers import Trainer

trainer = Trainer(model=None)
trainer.train()
trainer.save_model("out")
if trainer.is_world_process_zero():
    print("saved")
