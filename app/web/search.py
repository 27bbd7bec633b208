"""/calculator/search: all legal layouts of a cluster, ranked; every state is an address."""

from fastapi import APIRouter

router = APIRouter(include_in_schema=False)
