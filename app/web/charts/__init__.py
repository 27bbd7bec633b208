"""Figures: numbers in, view objects out. Server-rendered SVG, classes only, a table beside each."""
