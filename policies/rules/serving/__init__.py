"""Rules about how models are served."""
