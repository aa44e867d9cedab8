"""What was measured on this machine before, so that equal recipes compute alike on it."""

import torch
from torch import nn

from dragoman.configfile import read_record, write_record
from dragoman.errors import ConfigError
from dragoman.machine import cache_file, machine_name, measured, remember
from dragoman.nn import MultiHeadAttention
from dragoman.training import (
    MOST_ROWS,
    Kernels,
    TrainingConfig,
    choose_kernels,
    product_shapes,
)

WAY = 2  # of measuring; another one forgets what was found before


def machine_kernels(model: nn.Module, training: TrainingConfig, device: torch.device) -> Kernels:
    """Choose how to compute: as measured on this machine for such a model before, or measured now.

    Args:
        model: its widths matter.
        training: precision asked for, and whether anything may be measured at all.
        device: where the model computes.
    """
    if training.deterministic:
        return choose_kernels(model, training.precision, device, deterministic=True)
    tokens = 4_096 if training.batch_tokens == "auto" else training.batch_tokens
    file, key = cache_file("kernels.json"), _key(model, training, device, tokens)
    known = measured(file)
    try:
        return read_record(Kernels, known[key], file=str(file))
    except (KeyError, TypeError, ConfigError):
        kernels = choose_kernels(
            model, training.precision, device, deterministic=False, tokens=tokens
        )
    known[key] = write_record(kernels)
    remember(file, known)
    return kernels


def _key(model: nn.Module, training: TrainingConfig, device: torch.device, tokens: int) -> str:
    """Name what the measurements depend on."""
    heads = [part for part in model.modules() if isinstance(part, MultiHeadAttention)]
    shape = f"{heads[0].heads}x{heads[0].d_k}x{heads[0].d_v}" if heads else "no heads"
    products = " ".join(f"{wide}x{narrow}" for wide, narrow in product_shapes(model))
    rows = min(tokens, MOST_ROWS).bit_length()  # to a power of two
    about = f"heads {shape}, products {products} with 2^{rows} rows"
    where = machine_name(device)
    return f"way {WAY}, torch {torch.__version__}, {where}, {training.precision}, {about}"
