"""Corpora to batches; knows ids and files, no model."""

from typing import Annotated

from pydantic import Discriminator

from dragoman.data.batching import Batch, Batches, Plan, pad_rows, pair_batches
from dragoman.data.corpus import (
    Corpus,
    Files,
    Pair,
    PairReport,
    TsvFile,
    corpus_name,
    decode_lines,
    is_blank,
    open_corpus,
    read_aligned,
    read_lines,
    read_pairs,
)
from dragoman.data.example import Example
from dragoman.data.images import (
    ImageBatch,
    ImageFile,
    ImageReport,
    image_batches,
    read_images,
    read_pixels,
    scale_images,
)
from dragoman.data.labelled import (
    ClassBatch,
    class_batches,
    list_classes,
    read_labelled,
    tag_pieces,
)
from dragoman.data.lengths import (
    ADDED_SYMBOLS,
    LengthReport,
    LengthRule,
    Origin,
    apply_length_rule,
)
from dragoman.data.masking import FRAME, MaskedBatch, frame, mask_pieces, masked_batches
from dragoman.data.planning import Integers, Shapes, group_by_length, plan_batches
from dragoman.data.prefetch import BatchSource, Prefetched
from dragoman.data.sample import SampleCorpus, sample_corpus
from dragoman.data.sharing import Divisible, placeholder, share
from dragoman.data.store import IdStore
from dragoman.data.stream import StreamBatch, stream_batches, text_stream
from dragoman.data.text import (
    Text,
    TextReport,
    encode_document,
    encode_rest,
    passages,
    read_text,
)

AnyCorpus = Annotated[Files | TsvFile | Text | ImageFile, Discriminator("kind")]

__all__ = [
    "ADDED_SYMBOLS",
    "FRAME",
    "AnyCorpus",
    "Batch",
    "BatchSource",
    "Batches",
    "ClassBatch",
    "Corpus",
    "Divisible",
    "Example",
    "Files",
    "IdStore",
    "ImageBatch",
    "ImageFile",
    "ImageReport",
    "Integers",
    "LengthReport",
    "LengthRule",
    "MaskedBatch",
    "Origin",
    "Pair",
    "PairReport",
    "Plan",
    "Prefetched",
    "SampleCorpus",
    "Shapes",
    "StreamBatch",
    "Text",
    "TextReport",
    "TsvFile",
    "apply_length_rule",
    "class_batches",
    "corpus_name",
    "decode_lines",
    "encode_document",
    "encode_rest",
    "frame",
    "group_by_length",
    "image_batches",
    "is_blank",
    "list_classes",
    "mask_pieces",
    "masked_batches",
    "open_corpus",
    "pad_rows",
    "pair_batches",
    "passages",
    "placeholder",
    "plan_batches",
    "read_aligned",
    "read_images",
    "read_labelled",
    "read_lines",
    "read_pairs",
    "read_pixels",
    "read_text",
    "sample_corpus",
    "scale_images",
    "share",
    "stream_batches",
    "tag_pieces",
    "text_stream",
]
