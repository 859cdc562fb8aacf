from trl import GRPOConfig, GRPOTrainer

GROUP = 6


def main(model, reward, data):
    args = GRPOConfig(  # distkb: script.groups-not-whole
        output_dir="out",
        per_device_train_batch_size=4,
        gradient_accumulation_steps=4,
        num_generations=GROUP,
    )
    GRPOTrainer(model=model, reward_funcs=reward, args=args, train_dataset=data).train()
