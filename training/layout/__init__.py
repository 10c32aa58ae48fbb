"""Pages with exact ground truth of their structure: HTML that Chromium prints, and scans made of the PDFs."""
