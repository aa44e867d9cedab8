"""The frozen record of every choice of a Transformer.

Records go down as far as ``build.py``; the parts in ``dragoman.nn`` see plain numbers.
"""

import math
from typing import Annotated, Literal

from pydantic import Field

from dragoman.configfile import record
from dragoman.errors import ConfigError
from dragoman.models.choices import (
    AttentionChoice,
    Chance,
    Images,
    Learned,
    Local,
    Positions,
    Sinusoidal,
    Size,
    Softmax,
    Sparse,
)
from dragoman.models.impossible import impossible_choices

Ids = tuple[Annotated[int, Field(ge=0)], ...]
Layers = Annotated[int, Field(ge=1, le=1_000)]


@record
class ModelConfig:
    """The ``[model]`` table of a recipe; the defaults are the paper's base model.

    Args:
        architecture: which stacks there are.
        layers: layers in each stack, N in table 3.
        decoder_layers: layers of the decoder, when they are not as many.
        d_model: width of every vector between parts.
        heads: attention heads h.
        kv_heads: heads of keys and values, each shared by several of the queries': 1 is MQA
            (arXiv 1911.02150), more is GQA (arXiv 2305.13245); unset means ``heads``.
        d_k: width of a query and key; unset means d_model / heads.
        d_v: width of a value; unset means ``d_k``.
        d_ff: inner width of the position-wise networks.
        multiple_of: for gated networks: two thirds of ``d_ff``, so that three matrices cost what
            two do, rounded up to a multiple of this; unset means ``d_ff`` as it is.
        feedforward: ``plain`` (3.3), or ``gated`` (Shazeer 2020, arXiv 2002.05202).
        activation: inside the position-wise networks; unset means ``relu``, gated ``silu``.
        feedforward_bias: unset means as in the source: yes for plain, no for gated.
        dropout: on the output of every sub-layer and on embedding + position (5.4).
        attention_dropout: on attention weights; none in the paper.
        feedforward_dropout: inside the position-wise networks; none in the paper.
        attention: how queries find keys.
        attention_bias: whether attention projections add a bias; not in the paper.
        attention_output_bias: the same of the last of them, which joins the heads; unset means as
            ``attention_bias``. Qwen2 has biases before the heads only.
        norm: ``layer`` (3.1), or ``rms`` (Zhang and Sennrich 2019, arXiv 1910.07467).
        norm_order: where the norm stands: ``post`` as in the paper, or ``pre``.
        final_norm: a norm after each stack; unset means only with ``pre``.
        norm_eps: added to the variance in every norm.
        positions: how positions are told apart.
        decoder_positions: the same in the decoder, when it differs.
        tied: which tables are one: ``all`` three (3.4), ``output`` with target, ``input``s of
            source and target, or ``none``; unset means all, or output when the vocabularies differ.
        embedding_width: width of the tables, when it is not d_model.
        embedding_projection: where a table of another width comes to that of the model: ``first``,
            or ``last``, after positions, segments and norm, as in ALBERT; encoder-only.
        embedding_scale: whether embeddings are multiplied by sqrt(d_model), as in the paper.
        embedding_norm: a norm after the sum of embedding and position, as in BERT.
        output_bias: whether every piece has a bias in the output; not in the paper.
        initialization: first weights: ``xavier`` uniform (Glorot and Bengio 2010); ``depth-scaled``
            (arXiv 1908.11365) and ``deepnorm`` (arXiv 2203.00555) train deep post-norm stacks;
            ``normal`` with std 0.02, as in BERT and GPT-2.
        head: what reads an encoder that stands alone: ``pieces`` fills in masked ones, ``class``
            and ``tags`` classify, ``pooled`` gives one vector, ``none`` the output as it is.
        pooled: whether a layer with tanh comes before the classes, as in BERT.
        segments: kinds of segment with a learned vector each, as in BERT.
        images: pictures instead of text.
        classes: what ``class`` and ``tags`` choose from; set from the data.
        vocabulary: pieces of the source side, or of both when joint; set from the tokenizer.
        target_vocabulary: pieces of the target side when it has a vocabulary of its own.
        padding: id of the padding piece.
        starts_with_padding: targets start with the padding piece, as in Marian and T5; a language
            model reads it like any other, as GPT-2 has none of its own.
        source_before: ids in front of every source, as in BART; unset means none.
        source_after: ids behind every source; unset means the end symbol.
        target_before: ids that every target begins with; unset means the start symbol.

    Raises:
        ConfigError: choices that exclude each other, all at once.
    """

    architecture: Literal["encoder-decoder", "decoder-only", "encoder-only"] = "encoder-decoder"
    layers: Layers = 6
    decoder_layers: Layers | None = None
    d_model: Size = 512
    heads: Size = 8
    kv_heads: Size | None = None
    d_k: Size | None = None
    d_v: Size | None = None
    d_ff: Size = 2048
    multiple_of: Size | None = None
    feedforward: Literal["plain", "gated"] = "plain"
    activation: Literal["relu", "gelu", "gelu_tanh", "silu"] | None = None
    feedforward_bias: bool | None = None
    dropout: Chance = 0.1
    attention_dropout: Chance = 0.0
    feedforward_dropout: Chance = 0.0
    attention: AttentionChoice = Softmax()
    attention_bias: bool = False
    attention_output_bias: bool | None = None
    norm: Literal["layer", "rms"] = "layer"
    norm_order: Literal["post", "pre"] = "post"
    final_norm: bool | None = None
    norm_eps: Annotated[float, Field(gt=0, le=1)] = 1e-6
    positions: Positions = Sinusoidal()
    decoder_positions: Positions | None = None
    tied: Literal["all", "output", "input", "none"] | None = None
    embedding_width: Size | None = None
    embedding_projection: Literal["first", "last"] = "first"
    embedding_scale: bool = True
    embedding_norm: bool = False
    output_bias: bool = False
    initialization: Literal["xavier", "depth-scaled", "deepnorm", "normal"] = "xavier"
    head: Literal["pieces", "class", "tags", "pooled", "none"] = "pieces"
    pooled: bool = True
    segments: Annotated[int, Field(ge=0, le=1_000)] = 0
    images: Images | None = None
    classes: tuple[str, ...] | None = None
    vocabulary: Size | None = None
    target_vocabulary: Size | None = None
    padding: Annotated[int, Field(ge=0)] = 0
    starts_with_padding: bool = False
    source_before: Ids | None = None
    source_after: Ids | None = None
    target_before: Annotated[Ids, Field(min_length=1)] | None = None

    def __post_init__(self) -> None:
        """Check what no single field can."""
        mistakes = impossible_choices(self)
        if mistakes:
            raise ConfigError.together(mistakes)

    @property
    def head_width(self) -> int:
        """Width of a query and key, E."""
        return self.d_model // self.heads if self.d_k is None else self.d_k

    @property
    def inner_width(self) -> int:
        """Inner width of the position-wise networks, N."""
        if self.multiple_of is None:
            return self.d_ff
        return math.ceil(2 * self.d_ff // 3 / self.multiple_of) * self.multiple_of

    @property
    def input_width(self) -> int:
        """Width of what positions are added to."""
        late = self.embedding_projection == "last"
        return self.embedding_width or self.d_model if late else self.d_model

    @property
    def has_final_norm(self) -> bool:
        """Whether each stack ends with a norm of its own."""
        return self.norm_order == "pre" if self.final_norm is None else self.final_norm

    @property
    def has_attention_output_bias(self) -> bool:
        """Whether what joins the heads adds a bias."""
        own = self.attention_output_bias
        return self.attention_bias if own is None else own

    @property
    def has_feedforward_bias(self) -> bool:
        """Whether the position-wise networks add biases."""
        return (
            self.feedforward == "plain" if self.feedforward_bias is None else self.feedforward_bias
        )

    @property
    def target_positions(self) -> Positions:
        """How the decoder tells positions apart."""
        return self.positions if self.decoder_positions is None else self.decoder_positions

    @property
    def attention_scale(self) -> float | None:
        """Factor on the dot products; None is 1 / sqrt(E)."""
        return (
            self.attention.scale if isinstance(self.attention, Softmax | Local | Sparse) else None
        )

    @property
    def added_symbols(self) -> tuple[int, int]:
        """How many ids stand around a source, and before a target."""
        source = len(self.source_before or ()) + (
            1 if self.source_after is None else len(self.source_after)
        )
        return source, 1 if self.target_before is None else len(self.target_before)

    @property
    def max_length(self) -> int | None:
        """The longest input the positions allow, in pieces; None is no limit."""
        both = (self.positions, self.target_positions)
        return min((p.max_length for p in both if isinstance(p, Learned)), default=None)
