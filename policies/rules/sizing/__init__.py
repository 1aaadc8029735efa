"""Models that their GPUs cannot hold, cannot share or cannot compute."""
