"""Several processes as one run; the only folder that knows ``torch.distributed``."""

from dragoman.training.distributed.group import Alone, Group
from dragoman.training.distributed.joined import Joined, join_group
from dragoman.training.distributed.leading import LeaderFailed, lead
from dragoman.training.distributed.saving import (
    ShardReader,
    load_moments,
    load_shards,
    moments,
    read_whole,
    shard_files,
    write_shard,
)
from dragoman.training.distributed.sharding import (
    LossModule,
    clip_gradients,
    full_tensors,
    gradient_norm,
    is_sharded,
    local_rows,
    shard,
    sum_gradients,
)

__all__ = [
    "Alone",
    "Group",
    "Joined",
    "LeaderFailed",
    "LossModule",
    "ShardReader",
    "clip_gradients",
    "full_tensors",
    "gradient_norm",
    "is_sharded",
    "join_group",
    "lead",
    "load_moments",
    "load_shards",
    "local_rows",
    "moments",
    "read_whole",
    "shard",
    "shard_files",
    "sum_gradients",
    "write_shard",
]
