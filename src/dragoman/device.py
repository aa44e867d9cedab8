"""Device and dtype by the names users write."""

import torch

from dragoman.errors import ConfigError


def choose_device(name: str) -> torch.device:
    """Find a device; ``auto`` takes a GPU when there is one.

    Raises:
        ConfigError: the name is not a device, or the device is not here.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        if device.type == "meta":
            raise RuntimeError("meta holds no numbers")
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        problem = f"{name!r} does not work here: {str(error).splitlines()[0]}"
        raise ConfigError("device", problem, "try auto; `dragoman doctor` lists devices") from None
    return device


def choose_dtype(name: str) -> torch.dtype:
    """Find the precision of weights; ``auto`` is float32.

    Raises:
        ConfigError: the name is not a choice.
    """
    choices = {"auto": torch.float32, "float32": torch.float32}
    choices |= {"bfloat16": torch.bfloat16, "float16": torch.float16}
    if name == "int8":
        raise ConfigError("dtype", "int8 is for translation on a CPU alone", "leave dtype out")
    if name not in choices:
        raise ConfigError("dtype", f"{name!r} is not a choice", f"choose from {', '.join(choices)}")
    return choices[name]
