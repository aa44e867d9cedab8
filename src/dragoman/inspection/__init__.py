"""Looking inside a model; changes nothing it looks at."""

from dragoman.inspection.attention_maps import AttentionMaps, attention_maps, heat_map

__all__ = ["AttentionMaps", "attention_maps", "heat_map"]
