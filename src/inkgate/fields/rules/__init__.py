"""Fields by rules: candidates of each kind, scored by labels, place, repetition and arithmetic. No templates."""
