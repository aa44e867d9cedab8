"""Average checkpoints into a model folder (section 6.1)."""

from collections.abc import Sequence
from pathlib import Path

from dragoman.bundle import load_bundle, save_bundle
from dragoman.errors import CheckpointError, ConfigError
from dragoman.training import average_checkpoints


def average(checkpoints: Sequence[str | Path], to: str | Path) -> None:
    """Write a model folder whose weights are the mean of several.

    Args:
        checkpoints: checkpoint folders of one run, oldest first, or model folders.
        to: folder to make.

    Raises:
        ConfigError: ``to`` holds a model already.
        CheckpointError: they do not fit each other, or no config lies beside them.
        ModelError: a file is missing or damaged.
    """
    paths = [Path(path) for path in checkpoints]
    if (Path(to) / "config.json").exists():
        raise ConfigError("to", f"{to} holds a model already", "choose a new folder")
    averaged = average_checkpoints(paths)
    home = next((folder for folder in _homes(paths[0]) if (folder / "config.json").exists()), None)
    if home is None:
        raise CheckpointError(
            f"{paths[0]}: there is no config.json here or in its run folder; give checkpoints as "
            "they lie in a run"
        )
    bundle = load_bundle(home, weights=averaged)
    listed = "\n".join(f"- {path}" for path in paths)
    save_bundle(Path(to), bundle, f"# Translation model\n\nThe average of:\n\n{listed}\n")


def _homes(checkpoint: Path) -> list[Path]:
    return [checkpoint, checkpoint.parent.parent]
