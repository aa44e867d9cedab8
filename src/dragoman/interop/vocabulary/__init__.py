"""Vocabularies of other toolkits in, ours out; reads text and JSON only, and runs nothing."""

from dragoman.interop.vocabulary.reading import read_vocabulary

__all__ = ["read_vocabulary"]
