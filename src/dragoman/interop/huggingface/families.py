"""All families that are read and written; the first that holds a model is what it is written as."""

from dragoman.interop.huggingface.bert import BERT
from dragoman.interop.huggingface.bloom import BLOOM
from dragoman.interop.huggingface.family import Family
from dragoman.interop.huggingface.gpt2 import GPT2
from dragoman.interop.huggingface.llama import LLAMA, MISTRAL, QWEN2

FAMILIES: tuple[Family, ...] = (GPT2, LLAMA, MISTRAL, QWEN2, BLOOM, BERT)
