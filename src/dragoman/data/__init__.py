"""Corpora to batches; knows ids and files, no model."""

from typing import Annotated

from pydantic import Discriminator

from dragoman.data.batching import Batch, Batches, Plan, pad_rows, pair_batches
from dragoman.data.corpora import (
    Corpus,
    CsvFile,
    Dataset,
    Files,
    JsonLines,
    Mo,
    OneFile,
    ParallelCorpus,
    Parquet,
    Po,
    QtTs,
    Tmx,
    TsvFile,
    Xliff,
)
from dragoman.data.corpus import (
    Pair,
    PairReport,
    hash_file,
    hash_files,
    open_corpus,
    read_aligned,
    read_pairs,
)
from dragoman.data.corpus_files import (
    corpus_files,
    corpus_name,
    corpus_of_file,
    kind_of,
    matching_files,
)
from dragoman.data.example import Example
from dragoman.data.filtering import Filters, PairFilter
from dragoman.data.framing import Frame
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
from dragoman.data.letter_case import CaseAugmentation
from dragoman.data.lines import decode_lines, is_blank, read_lines
from dragoman.data.masking import FRAME, MaskedBatch, frame, mask_pieces, masked_batches
from dragoman.data.mixing import MixedBatches, Several, Stage, parts_of
from dragoman.data.pair_store import PairStore, open_pair_store
from dragoman.data.planning import Integers, Shapes, group_by_length, plan_batches
from dragoman.data.prefetch import BatchSource, Prefetched, SeekableBatches
from dragoman.data.preparing import LengthLimits, Preparation, prepare_pairs
from dragoman.data.redrawing import Redraw
from dragoman.data.sample import SampleCorpus, sample_corpus
from dragoman.data.sharing import Divisible, placeholder, share
from dragoman.data.store import IdStore
from dragoman.data.stream import StreamBatch, stream_batches, text_stream
from dragoman.data.survey import HoldOut, Survey
from dragoman.data.text import (
    Text,
    TextReport,
    encode_document,
    encode_rest,
    passages,
    read_text,
)
from dragoman.data.training_text import TrainingText

AnyCorpus = Annotated[Files | OneFile | Dataset | Several | Text | ImageFile, Discriminator("kind")]

__all__ = [
    "ADDED_SYMBOLS",
    "FRAME",
    "AnyCorpus",
    "Batch",
    "BatchSource",
    "Batches",
    "CaseAugmentation",
    "ClassBatch",
    "Corpus",
    "CsvFile",
    "Dataset",
    "Divisible",
    "Example",
    "Files",
    "Filters",
    "Frame",
    "HoldOut",
    "IdStore",
    "ImageBatch",
    "ImageFile",
    "ImageReport",
    "Integers",
    "JsonLines",
    "LengthLimits",
    "LengthReport",
    "LengthRule",
    "MaskedBatch",
    "MixedBatches",
    "Mo",
    "OneFile",
    "Origin",
    "Pair",
    "PairFilter",
    "PairReport",
    "PairStore",
    "ParallelCorpus",
    "Parquet",
    "Plan",
    "Po",
    "Prefetched",
    "Preparation",
    "QtTs",
    "Redraw",
    "SampleCorpus",
    "SeekableBatches",
    "Several",
    "Shapes",
    "Stage",
    "StreamBatch",
    "Survey",
    "Text",
    "TextReport",
    "Tmx",
    "TrainingText",
    "TsvFile",
    "Xliff",
    "apply_length_rule",
    "class_batches",
    "corpus_files",
    "corpus_name",
    "corpus_of_file",
    "decode_lines",
    "encode_document",
    "encode_rest",
    "frame",
    "group_by_length",
    "hash_file",
    "hash_files",
    "image_batches",
    "is_blank",
    "kind_of",
    "list_classes",
    "mask_pieces",
    "masked_batches",
    "matching_files",
    "open_corpus",
    "open_pair_store",
    "pad_rows",
    "pair_batches",
    "parts_of",
    "passages",
    "placeholder",
    "plan_batches",
    "prepare_pairs",
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
