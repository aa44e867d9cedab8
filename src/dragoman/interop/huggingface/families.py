"""All families that are read and written; the first that holds a model is what it is written as."""

from dragoman.interop.huggingface.albert import ALBERT
from dragoman.interop.huggingface.bart import BART, MBART
from dragoman.interop.huggingface.bert import BERT
from dragoman.interop.huggingface.bloom import BLOOM
from dragoman.interop.huggingface.family import Family
from dragoman.interop.huggingface.gpt2 import GPT2
from dragoman.interop.huggingface.llama import LLAMA, MISTRAL, QWEN2
from dragoman.interop.huggingface.marian import MARIAN
from dragoman.interop.huggingface.pegasus import PEGASUS
from dragoman.interop.huggingface.t5 import MT5, T5, T5_1_1

FAMILIES: tuple[Family, ...] = (
    MARIAN,
    PEGASUS,
    BART,
    MBART,
    T5,
    T5_1_1,
    MT5,
    GPT2,
    LLAMA,
    MISTRAL,
    QWEN2,
    BLOOM,
    BERT,
    ALBERT,
)
