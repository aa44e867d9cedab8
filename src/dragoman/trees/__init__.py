"""Constituency trees: bracketed text, token sequences and scores; knows no model."""

from dragoman.trees.brackets import read_tree_lines, read_trees, write_tree
from dragoman.trees.cleaning import clean
from dragoman.trees.linearize import linearize
from dragoman.trees.repair import Repaired, repair
from dragoman.trees.scores import COLLINS, BracketScore, Rules, add_scores, score_brackets
from dragoman.trees.tree import Bracket, Leaf, Tree

__all__ = [
    "COLLINS",
    "Bracket",
    "BracketScore",
    "Leaf",
    "Repaired",
    "Rules",
    "Tree",
    "add_scores",
    "clean",
    "linearize",
    "read_tree_lines",
    "read_trees",
    "repair",
    "score_brackets",
    "write_tree",
]
