"""Tokenscope's inference core: Parakeet models in MLX, from audio to aligned tokens with confidence."""
