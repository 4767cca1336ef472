"""Whisper-style encoder-decoders: what surrounds the network of asr_core/models/whisper_network.py."""
