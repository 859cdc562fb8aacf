"""The digest: all of a run that decides, in as few tokens as it may cost."""
