"""The part of the messages target that is the same for all messages, copied as it is."""
