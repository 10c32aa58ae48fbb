"""Simulates the autoscaling of model servers over a day: the chart's values, Kubernetes' formula, inkgate's metric."""
