"""What this Python knows of characters: see `likelier.data.characters`."""

from likelier.data.characters import characters as characters
