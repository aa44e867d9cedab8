"""Other formats, run by the libraries they belong to."""
