"""Texts and images in, classes, tags and missing pieces out; knows no training."""

from dragoman.classifier.classifier import TEXT_LIMIT, Classifier
from dragoman.classifier.results import Classification, Filling, TaggedWord, Tagging

__all__ = [
    "TEXT_LIMIT",
    "Classification",
    "Classifier",
    "Filling",
    "TaggedWord",
    "Tagging",
]
