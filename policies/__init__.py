"""The policy pack: judges rendered resources, and shares no code with what renders them."""
