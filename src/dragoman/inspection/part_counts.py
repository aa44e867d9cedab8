"""What each part of a model learns, layers of one kind together."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from dragoman.models import AnyConfig, build_model


@dataclass(frozen=True, slots=True)
class PartCount:
    """One row of the table.

    Args:
        part: names it.
        times: in how many layers it is.
        each: learned numbers in one of them.
    """

    part: str
    times: int
    each: int

    @property
    def total(self) -> int:
        """In all layers."""
        return self.times * self.each


def part_counts(config: AnyConfig) -> list[PartCount]:
    """Count what each part learns, layers of one kind together; a shared table counts once.

    Args:
        config: every choice; what only the data knows must be set.
    """
    with torch.device("meta"):
        model = build_model(config)
    found: dict[str, dict[str, int]] = {}
    for name, weight in model.named_parameters():
        part, layer = _part(name.split("."))
        layers = found.setdefault(part, {})
        layers[layer] = layers.get(layer, 0) + weight.numel()
    counts: list[PartCount] = []
    for part, layers in found.items():
        for size in dict.fromkeys(layers.values()):  # as a rule all layers are alike
            times = sum(1 for each in layers.values() if each == size)
            counts.append(PartCount(part, times, size))
    return counts


def _part(path: list[str]) -> tuple[str, str]:
    """Name a parameter's part, and the layer it is in, if any."""
    numbers = [each for each in path if each.isdigit()]
    words = [each for each in path[:-1] if not each.isdigit() and each != "layers"]
    if not numbers:
        return " ".join(words[:2]).replace("_", " ") or path[-1], ""
    second = words[1] if len(words) > 1 else ""
    if second.endswith("residual"):
        second = "norms"
    if second == "attention":
        second = "self-attention"
    return " ".join(filter(None, (words[0], second))).replace("_", " "), numbers[0]


def count_lines(counts: Sequence[PartCount]) -> list[str]:
    """Write the table, with the sum below."""
    total = sum(count.total for count in counts)
    name = max(len("part"), *(len(count.part) for count in counts))
    lines = [f"{'part':<{name}}  layers  {'each':>13}  {'parameters':>13}  share"]
    for count in counts:
        share = count.total / total
        lines.append(
            f"{count.part:<{name}}  {count.times:>6}  {count.each:>13,}  {count.total:>13,}  "
            f"{share:>5.1%}"
        )
    lines.append(f"{'all':<{name}}  {'':>6}  {'':>13}  {total:>13,}")
    return lines
