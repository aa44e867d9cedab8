"""HTTP: models answer requests; nothing else in the package knows it."""
