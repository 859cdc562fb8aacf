from trl import GRPOConfig, GRPOTrainer


def main(model, reward, data, options):
    args = GRPOConfig(output_dir="out", per_device_train_batch_size=4, gradient_accumulation_steps=2, num_generations=8)
    GRPOTrainer(model=model, reward_funcs=reward, args=args, train_dataset=data).train()


def for_some_processes(options):
    return GRPOConfig(output_dir="out", per_device_train_batch_size=1, num_generations=4)


def for_three(options):
    return GRPOConfig(per_device_train_batch_size=options.batch, gradient_accumulation_steps=4, num_generations=6)
