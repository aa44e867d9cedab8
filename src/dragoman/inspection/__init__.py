"""Looking inside a model; changes nothing it looks at."""

from dragoman.inspection.activations import (
    ActivationCurve,
    activation_curves,
    activation_lines,
    draw_activations,
)
from dragoman.inspection.attention_maps import (
    AttentionKind,
    AttentionMaps,
    AttentionView,
    attention_maps,
    cross_attention,
)
from dragoman.inspection.attention_page import attention_page
from dragoman.inspection.attention_picture import draw_attention
from dragoman.inspection.complexity import (
    Crossing,
    LayerKind,
    LayerSizes,
    crossing,
    crossings,
    layer_kinds,
    linear_attention_cost,
    visible_pairs,
)
from dragoman.inspection.complexity_picture import draw_complexity
from dragoman.inspection.complexity_report import Complexity, MeasuredCrossing, MeasuredLayer
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
from dragoman.inspection.devices import PROCESSOR, Device, Format, devices, parse_hardware
from dragoman.inspection.field import FieldSketch, draw_fields, field_lines, field_sketches
from dragoman.inspection.head_importance import (
    Head,
    HeadEffect,
    all_heads,
    effect_lines,
    head_effects,
    without_head,
)
from dragoman.inspection.head_picture import draw_heads
from dragoman.inspection.heat_map import heat_map
from dragoman.inspection.lettering import Lettering, piece_labels
from dragoman.inspection.masks import NamedMask, draw_masks, mask_kinds, model_masks
from dragoman.inspection.model_picture import draw_shape
from dragoman.inspection.model_shape import Block, Stack, model_stacks, stack_lines
from dragoman.inspection.neighbours import Neighbour, nearest_pieces, piece_table
from dragoman.inspection.paper_runs import PaperRun, paper_run
from dragoman.inspection.parameters import ParameterCount, count_parameters
from dragoman.inspection.part_counts import PartCount, count_lines, part_counts
from dragoman.inspection.plan import (
    Memory,
    Plan,
    Scaling,
    UpdateTime,
    communication_seconds,
    memory_of,
)
from dragoman.inspection.plan_report import MeasuredUpdate, PlanReport
from dragoman.inspection.position_picture import draw_positions
from dragoman.inspection.positions import PositionView, position_views
from dragoman.inspection.rates import Rates, draw_rates
from dragoman.inspection.run_history import (
    LoggedUpdate,
    LoggedValidation,
    RunHistory,
    read_run,
)
from dragoman.inspection.run_picture import draw_run
from dragoman.inspection.run_report import run_lines, run_summary
from dragoman.inspection.work import Product, Workload

__all__ = [
    "PROCESSOR",
    "ActivationCurve",
    "AttentionKind",
    "AttentionMaps",
    "AttentionMultiplications",
    "AttentionView",
    "Block",
    "Complexity",
    "ConvolutionCost",
    "ConvolutionWindow",
    "Crossing",
    "Device",
    "FieldSketch",
    "Format",
    "Head",
    "HeadEffect",
    "LayerCost",
    "LayerKind",
    "LayerSizes",
    "Lettering",
    "LoggedUpdate",
    "LoggedValidation",
    "MeasuredCrossing",
    "MeasuredLayer",
    "MeasuredUpdate",
    "Memory",
    "NamedMask",
    "Neighbour",
    "PaperRun",
    "ParameterCount",
    "PartCount",
    "Plan",
    "PlanReport",
    "PositionView",
    "Product",
    "Rates",
    "RecurrentKind",
    "RunHistory",
    "Scaling",
    "SeparableComparison",
    "SpatialComparison",
    "Stack",
    "TrainingTime",
    "UpdateTime",
    "Workload",
    "activation_curves",
    "activation_lines",
    "all_heads",
    "attention_maps",
    "attention_multiplications",
    "attention_page",
    "communication_seconds",
    "compare_separable_convolution",
    "compare_spatially_separable_convolution",
    "complexity_table",
    "contiguous_layers_to_cover",
    "convolutional_cost",
    "count_lines",
    "count_parameters",
    "cross_attention",
    "crossing",
    "crossings",
    "devices",
    "dilated_convolutional_cost",
    "dilated_layers_to_cover",
    "draw_activations",
    "draw_attention",
    "draw_complexity",
    "draw_fields",
    "draw_heads",
    "draw_masks",
    "draw_positions",
    "draw_rates",
    "draw_run",
    "draw_shape",
    "effect_lines",
    "field_lines",
    "field_sketches",
    "head_effects",
    "heat_map",
    "layer_kinds",
    "layers_to_cover",
    "linear_attention_cost",
    "mask_kinds",
    "memory_of",
    "model_masks",
    "model_stacks",
    "nearest_pieces",
    "paper_run",
    "parse_hardware",
    "part_counts",
    "piece_labels",
    "piece_table",
    "pointwise_feed_forward_cost",
    "position_views",
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
    "stack_lines",
    "training_time",
    "visible_pairs",
    "without_head",
]
