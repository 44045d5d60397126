"""Search: records by content, header, offset or time, in damaged bytes too."""
