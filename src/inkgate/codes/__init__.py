"""QR codes and bar codes: found in pixels, and their content read by the standard that it follows."""
