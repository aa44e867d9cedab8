"""Constituency trees: bracketed text, token sequences and scores; knows no model."""

from dragoman.trees.brackets import read_tree_lines, read_trees, write_tree
from dragoman.trees.classes import KnownWords, word_class
from dragoman.trees.cleaning import clean
from dragoman.trees.fragments import draw_fragments
from dragoman.trees.linearize import LeafForm, linearize
from dragoman.trees.repair import Repaired, repair
from dragoman.trees.scores import COLLINS, BracketScore, Rules, add_scores, score_brackets
from dragoman.trees.sentence import (
    Parsed,
    escaped,
    leaves_of,
    restore,
    right_branching,
    with_tags_of,
)
from dragoman.trees.tree import Bracket, Leaf, Tree

__all__ = [
    "COLLINS",
    "Bracket",
    "BracketScore",
    "KnownWords",
    "Leaf",
    "LeafForm",
    "Parsed",
    "Repaired",
    "Rules",
    "Tree",
    "add_scores",
    "clean",
    "draw_fragments",
    "escaped",
    "leaves_of",
    "linearize",
    "read_tree_lines",
    "read_trees",
    "repair",
    "restore",
    "right_branching",
    "score_brackets",
    "with_tags_of",
    "word_class",
    "write_tree",
]
