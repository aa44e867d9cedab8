"""The embedded corpus of ``quickstart``: German and English from a small synchronous grammar."""

from dragoman.data.sample.corpus import SampleCorpus, draw_sentence, sample_corpus

__all__ = ["SampleCorpus", "draw_sentence", "sample_corpus"]
