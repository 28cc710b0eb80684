"""The page at `/`. Nothing lives here yet."""
