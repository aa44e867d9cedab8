"""Several processes as one run; the only folder that knows ``torch.distributed``."""

from dragoman.training.distributed.gradients import (
    clip_gradients,
    divide_gradients,
    finite_gradients,
    gradient_norm,
    make_gradients,
    sum_gradients,
)
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
    full_tensors,
    local_rows,
    shard,
)

__all__ = [
    "Alone",
    "Group",
    "Joined",
    "LeaderFailed",
    "LossModule",
    "ShardReader",
    "clip_gradients",
    "divide_gradients",
    "finite_gradients",
    "full_tensors",
    "gradient_norm",
    "join_group",
    "lead",
    "load_moments",
    "load_shards",
    "local_rows",
    "make_gradients",
    "moments",
    "read_whole",
    "shard",
    "shard_files",
    "sum_gradients",
    "write_shard",
]
