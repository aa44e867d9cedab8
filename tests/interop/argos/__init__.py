"""Packages of Argos Translate, run by that program where it is installed."""
