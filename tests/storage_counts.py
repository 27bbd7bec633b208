"""How many rows each table has: to prove that nothing was stored."""

from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import func, select

from app.storage.tables import Base


def rows_in(client: TestClient) -> dict[str, int]:
    """Table → number of its rows."""
    app = client.app
    assert isinstance(app, FastAPI)
    with app.state.database.reading() as session:
        return {
            name: session.execute(select(func.count()).select_from(table)).scalar_one()
            for name, table in Base.metadata.tables.items()
        }
