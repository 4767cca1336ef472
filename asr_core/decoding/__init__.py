"""How an encoder's output becomes hypotheses."""
