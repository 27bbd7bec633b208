"""Devices, links and models as data files, every entry with its source; loaded once and passed in."""

from app.catalog.loading import Catalog, GpuEntry, LinkEntry, ModelEntry, load_catalog

__all__ = ["Catalog", "GpuEntry", "LinkEntry", "ModelEntry", "load_catalog"]
