"""From bytes to sound entries: frames, checks, and the search behind damage."""
