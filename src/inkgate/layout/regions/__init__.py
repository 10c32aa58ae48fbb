"""What a page's pixels show: regions, figures, ink, stamps, boxes to tick."""
