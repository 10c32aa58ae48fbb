"""Fields of invoices and receipts, found by measures of what stands around each value and by trees fitted to them."""
