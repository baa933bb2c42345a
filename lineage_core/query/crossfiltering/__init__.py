"""Crossfilter: indexed views of one dataset, brushed together (Smoke 6.5.1)."""
