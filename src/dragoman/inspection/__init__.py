"""Looking inside a model; changes nothing it looks at."""

from dragoman.inspection.attention_maps import (
    AttentionKind,
    AttentionMaps,
    AttentionView,
    attention_maps,
    cross_attention,
)
from dragoman.inspection.attention_page import attention_page
from dragoman.inspection.attention_picture import draw_attention
from dragoman.inspection.convolution_cost import (
    ConvolutionCost,
    ConvolutionWindow,
    SeparableComparison,
    SpatialComparison,
    compare_separable_convolution,
    compare_spatially_separable_convolution,
    contiguous_layers_to_cover,
    dilated_layers_to_cover,
    layers_to_cover,
    receptive_fields,
)
from dragoman.inspection.cost import (
    AttentionMultiplications,
    LayerCost,
    RecurrentKind,
    TrainingTime,
    attention_multiplications,
    complexity_table,
    convolutional_cost,
    dilated_convolutional_cost,
    pointwise_feed_forward_cost,
    recurrent_cost,
    recurrent_parameters,
    restricted_self_attention_cost,
    self_attention_cost,
    self_attention_is_cheaper,
    separable_convolution_cost,
    training_time,
)
from dragoman.inspection.heat_map import heat_map
from dragoman.inspection.lettering import Lettering, piece_labels
from dragoman.inspection.parameters import ParameterCount, count_parameters
from dragoman.inspection.rates import Rates, draw_rates
from dragoman.inspection.run_history import (
    LoggedUpdate,
    LoggedValidation,
    RunHistory,
    read_run,
)
from dragoman.inspection.run_picture import draw_run
from dragoman.inspection.run_report import run_lines, run_summary

__all__ = [
    "AttentionKind",
    "AttentionMaps",
    "AttentionMultiplications",
    "AttentionView",
    "ConvolutionCost",
    "ConvolutionWindow",
    "LayerCost",
    "Lettering",
    "LoggedUpdate",
    "LoggedValidation",
    "ParameterCount",
    "Rates",
    "RecurrentKind",
    "RunHistory",
    "SeparableComparison",
    "SpatialComparison",
    "TrainingTime",
    "attention_maps",
    "attention_multiplications",
    "attention_page",
    "compare_separable_convolution",
    "compare_spatially_separable_convolution",
    "complexity_table",
    "contiguous_layers_to_cover",
    "convolutional_cost",
    "count_parameters",
    "cross_attention",
    "dilated_convolutional_cost",
    "dilated_layers_to_cover",
    "draw_attention",
    "draw_rates",
    "draw_run",
    "heat_map",
    "layers_to_cover",
    "piece_labels",
    "pointwise_feed_forward_cost",
    "read_run",
    "receptive_fields",
    "recurrent_cost",
    "recurrent_parameters",
    "restricted_self_attention_cost",
    "run_lines",
    "run_summary",
    "self_attention_cost",
    "self_attention_is_cheaper",
    "separable_convolution_cost",
    "training_time",
]
