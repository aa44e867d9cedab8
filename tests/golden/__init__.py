"""Expected numbers from outside: every case of a folder runs through the public functions.

``cases/`` holds copies of some small ones. They were computed in float64 by a plain numpy reference
that shares no code with dragoman; never regenerate them with it.
"""
