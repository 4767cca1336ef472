"""What is on the screen: one module a part, one module a tab. No inference and no signal processing in here."""
