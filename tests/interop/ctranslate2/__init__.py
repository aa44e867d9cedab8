"""The CTranslate2 format, in and out, held to the library itself."""
