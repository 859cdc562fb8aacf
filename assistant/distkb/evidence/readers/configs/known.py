"""The names that each program reads, so that a name that none of them reads stands out.

What a name means, and since when, is in `kb/settings/`; here are bare lists, taken from the sources of
accelerate 1.15, DeepSpeed 0.19.8, transformers 5.23 and lightning 2.6.
"""

from __future__ import annotations

from typing import Final


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


ACCELERATE: Final = _set(
    """
    compute_environment distributed_type mixed_precision use_cpu debug num_processes machine_rank num_machines
    gpu_ids main_process_ip main_process_port rdzv_backend same_network main_training_function
    enable_cpu_affinity fp8_config deepspeed_config fsdp_config parallelism_config megatron_lm_config
    mpirun_config downcast_bf16 tpu_name tpu_zone tpu_use_cluster tpu_use_sudo command_file commands tpu_vm
    tpu_env dynamo_config fp16 dynamo_backend
    """
)
"""Fields of `ClusterConfig`, and the two that are converted before the check."""
SAGEMAKER: Final = _set(
    """
    compute_environment distributed_type mixed_precision use_cpu debug ec2_instance_type iam_role_name image_uri
    profile region num_machines gpu_ids base_job_name pytorch_version transformers_version py_version
    sagemaker_inputs_file sagemaker_metrics_file additional_args dynamo_config enable_cpu_affinity num_processes
    fp16 dynamo_backend
    """
)
DISTRIBUTED_TYPES: Final = (
    "NO", "MULTI_CPU", "MULTI_GPU", "MULTI_NPU", "MULTI_MLU", "MULTI_SDAA", "MULTI_MUSA", "MULTI_XPU", "DEEPSPEED",
    "FSDP", "XLA", "MEGATRON_LM", "MULTI_HPU", "MULTI_NEURON", "TPU",
)  # fmt: skip
ACCELERATE_FSDP: Final = _set(
    """
    version sharding_strategy reshard_after_forward offload_params min_num_params auto_wrap_policy
    transformer_layer_cls_to_wrap backward_prefetch state_dict_type forward_prefetch use_orig_params
    cpu_ram_efficient_loading sync_module_states activation_checkpointing activation_checkpointing_offload
    ignored_modules
    """
)
"""Keys below `fsdp_config`, without their prefix."""
ACCELERATE_DEEPSPEED: Final = _set(
    """
    deepspeed_config_file zero_stage offload_optimizer_device offload_param_device offload_optimizer_nvme_path
    offload_param_nvme_path gradient_accumulation_steps gradient_clipping zero3_init_flag zero3_save_16bit_model
    deepspeed_hostfile deepspeed_exclusion_filter deepspeed_inclusion_filter deepspeed_multinode_launcher
    deepspeed_moe_layer_cls_names enable_msamp msamp_opt_level
    """
)
FILE_EXCLUDES: Final = (
    "gradient_accumulation_steps", "gradient_clipping", "zero_stage", "offload_optimizer_device",
    "offload_param_device", "offload_param_nvme_path", "offload_optimizer_nvme_path", "zero3_save_16bit_model",
)  # fmt: skip
"""Keys that may not stand beside `deepspeed_config_file`; `mixed_precision` is the ninth."""

DEEPSPEED: Final = _names(
    """
    train_batch_size train_micro_batch_size_per_gpu gradient_accumulation_steps managed_gradient_accumulation
    steps_per_print dump_state disable_python_gc disable_allgather communication_data_type
    seq_parallel_communication_data_type prescale_gradients gradient_predivide_factor gradient_allreduce_op
    zero_optimization activation_checkpointing comms_logger tensorboard wandb csv_monitor comet
    gradient_clipping fp16 bf16 bfloat16 torch_autocast optimizer zero_allow_untested_optimizer
    zero_force_ds_cpu_optimizer scheduler flops_profiler wall_clock_breakdown memory_breakdown autotuning
    use_data_before_expert_parallelism hybrid_engine pipeline data_efficiency checkpoint data_types aio
    dataloader_drop_last log_level datastates_ckpt weight_quantization compile timers tensor_parallel
    expert_parallel vocabulary_size sequence_parallel_size ddp_bf16 allgather_size inference sequence_parallel
    """
)
DEEPSPEED_REMOVED: Final = _names(
    """
    nebula compression_training amp quantize_training sparse_gradients eigenvalue sparse_attention elasticity
    graph_harvesting curriculum_learning progressive_layer_drop
    """
)
DEEPSPEED_TELLTALE: Final = frozenset(
    {"zero_optimization", "train_micro_batch_size_per_gpu", "zero_allow_untested_optimizer", "wall_clock_breakdown"}
)
AUTO_TRAINER: Final = _set(
    """
    train_micro_batch_size_per_gpu gradient_accumulation_steps train_batch_size gradient_clipping
    optimizer.params.lr optimizer.params.betas optimizer.params.eps optimizer.params.weight_decay
    scheduler.params.warmup_min_lr scheduler.params.warmup_max_lr scheduler.params.total_num_steps
    scheduler.params.warmup_num_steps fp16.enabled bf16.enabled zero_optimization.reduce_bucket_size
    zero_optimization.stage3_prefetch_bucket_size zero_optimization.stage3_param_persistence_threshold
    """
)
"""Keys whose "auto" the Trainer replaces."""
AUTO_OWN: Final = frozenset(
    {"zero_optimization", "fp16", "bf16", "bfloat16", "data_types", "tensorboard", "wandb", "pipeline"}
)
"""Blocks that drop an "auto" and take their default, or for which it is a word of their own."""

FSDP_CONFIG: Final = _names(
    """
    version reshard_after_forward cpu_offload offload_params activation_checkpointing cpu_ram_efficient_loading
    state_dict_type auto_wrap_policy transformer_layer_cls_to_wrap min_num_params xla xla_fsdp_v2
    xla_fsdp_settings xla_fsdp_grad_ckpt forward_prefetch backward_prefetch use_orig_params sync_module_states
    limit_all_gathers sharding_strategy activation_checkpointing_offload ignored_modules mixed_precision_policy
    """
)
FSDP_TELLTALE: Final = _set(
    """
    reshard_after_forward transformer_layer_cls_to_wrap auto_wrap_policy backward_prefetch use_orig_params
    sync_module_states cpu_ram_efficient_loading xla_fsdp_settings forward_prefetch limit_all_gathers
    """
)
TRAINING_ARGUMENTS: Final = _set(
    """
    output_dir per_device_train_batch_size num_train_epochs max_steps learning_rate lr_scheduler_type
    lr_scheduler_kwargs warmup_steps optim optim_args weight_decay adam_beta1 adam_beta2 adam_epsilon
    optim_target_modules gradient_accumulation_steps average_tokens_across_devices max_grad_norm
    label_smoothing_factor bf16 fp16 bf16_full_eval fp16_full_eval tf32 activation_checkpointing
    activation_checkpointing_kwargs gradient_checkpointing gradient_checkpointing_kwargs torch_compile
    torch_compile_backend torch_compile_mode use_liger_kernel liger_kernel_config use_cache neftune_noise_alpha
    torch_empty_cache_steps auto_find_batch_size logging_strategy logging_steps logging_first_step
    log_on_each_node logging_nan_inf_filter include_num_input_tokens_seen log_level log_level_replica
    disable_tqdm report_to run_name project trackio_space_id trackio_bucket_id trackio_static_space_id
    eval_strategy eval_steps eval_delay per_device_eval_batch_size prediction_loss_only eval_on_start
    eval_do_concat_batches eval_use_gather_object eval_accumulation_steps include_for_metrics batch_eval_metrics
    save_only_model save_strategy save_steps save_on_each_node save_total_limit enable_jit_checkpoint
    push_to_hub hub_token hub_private_repo hub_model_id hub_strategy hub_always_push hub_revision
    load_best_model_at_end metric_for_best_model greater_is_better ignore_data_skip
    restore_callback_states_from_checkpoint full_determinism seed data_seed use_cpu accelerator_config
    parallelism_config dataloader_drop_last dataloader_num_workers dataloader_pin_memory
    dataloader_persistent_workers dataloader_prefetch_factor dataloader_multiprocessing_context
    dataloader_in_order remove_unused_columns label_names train_sampling_strategy length_column_name
    ddp_find_unused_parameters ddp_bucket_cap_mb ddp_broadcast_buffers ddp_static_graph ddp_backend ddp_timeout
    fsdp fsdp_config deepspeed debug skip_memory_metrics do_train do_eval do_predict resume_from_checkpoint
    local_rank sortish_sampler predict_with_generate generation_max_length generation_num_beams
    generation_config
    """
)
ARGUMENTS_OLD: Final = _set(
    """
    evaluation_strategy no_cuda sharded_ddp fsdp_min_num_params fsdp_transformer_layer_cls_to_wrap
    overwrite_output_dir warmup_ratio per_gpu_train_batch_size per_gpu_eval_batch_size logging_dir
    save_safetensors jit_mode_eval use_ipex use_mps_device half_precision_backend fp16_backend fp16_opt_level
    tpu_num_cores tpu_metrics_debug past_index group_by_length torchdynamo ray_scope split_batches
    dispatch_batches push_to_hub_token push_to_hub_model_id push_to_hub_organization include_inputs_for_metrics
    include_tokens_per_second use_legacy_prediction_loop mp_parameters xpu_backend adafactor use_deepspeed_jit
    bf16_opt_level no_deprecation_warning evaluate_during_training label_smoothing max_seq_length
    """
)
"""Names of earlier versions: whether the installed one still takes them is in the settings."""
ARGUMENTS_TELLTALE: Final = _set(
    """
    per_device_train_batch_size num_train_epochs gradient_accumulation_steps ddp_find_unused_parameters
    lr_scheduler_type fsdp_config per_device_eval_batch_size save_strategy
    """
)

LIGHTNING_TRAINER: Final = _set(
    """
    accelerator strategy devices num_nodes precision logger callbacks fast_dev_run max_epochs min_epochs
    max_steps min_steps max_time limit_train_batches limit_val_batches limit_test_batches limit_predict_batches
    overfit_batches val_check_interval check_val_every_n_epoch num_sanity_val_steps log_every_n_steps
    enable_checkpointing enable_progress_bar enable_model_summary accumulate_grad_batches gradient_clip_val
    gradient_clip_algorithm deterministic benchmark inference_mode use_distributed_sampler profiler
    detect_anomaly barebones plugins sync_batchnorm reload_dataloaders_every_n_epochs default_root_dir
    enable_autolog_hparams model_registry
    """
)
LIGHTNING_TELLTALE: Final = frozenset(
    {"strategy", "devices", "num_nodes", "accelerator", "precision", "max_epochs", "max_steps", "gpus"}
)
LIGHTNING_STRATEGIES: Final = (
    "auto", "ddp", "ddp_spawn", "ddp_fork", "ddp_notebook", "ddp_find_unused_parameters_true",
    "ddp_find_unused_parameters_false", "ddp_spawn_find_unused_parameters_true",
    "ddp_spawn_find_unused_parameters_false", "ddp_fork_find_unused_parameters_true",
    "ddp_fork_find_unused_parameters_false", "ddp_notebook_find_unused_parameters_true",
    "ddp_notebook_find_unused_parameters_false", "fsdp", "fsdp_cpu_offload", "deepspeed", "deepspeed_stage_1",
    "deepspeed_stage_2", "deepspeed_stage_2_offload", "deepspeed_stage_3",
    "deepspeed_stage_3_offload", "deepspeed_stage_3_offload_nvme", "single_device", "single_xla", "single_tpu", "xla",
    "xla_debug", "xla_fsdp",
)  # fmt: skip
STRATEGY_OWN: Final = _set(
    """
    accelerator parallel_devices cluster_environment checkpoint_io precision_plugin process_group_backend
    timeout config logging_level load_full_weights exclude_frozen_parameters remote_device loss_scale
    initial_scale_power loss_scale_window hysteresis min_loss_scale
    """
)
"""Arguments of DeepSpeedStrategy that hold beside a `config`."""
