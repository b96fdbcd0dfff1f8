"""The same as the command ``afterload``, for an interpreter that is named itself: ``python -m afterload``."""

from afterload.cli import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
