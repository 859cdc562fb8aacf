import trl

SETTINGS = dict(output_dir="out", per_device_train_batch_size=2, steps_per_generation=8, num_generations=10)


class Job:
    def __init__(self):
        self.args = trl.GRPOConfig(**SETTINGS)  # distkb: script.groups-not-whole

    def run(self, model, reward, data):
        trl.GRPOTrainer(model, reward, args=self.args, train_dataset=data).train()
