"""How migrations run: on the URL that the caller gives, else on DATABASE_URL."""

from alembic import context

from app.settings import Settings
from app.storage import tables  # noqa: F401  (registers the tables)
from app.storage.database import Base, connect

url = context.config.attributes.get("url") or Settings().database_url
engine = connect(url)
try:
    with engine.connect() as connection:
        context.configure(
            connection=connection,
            target_metadata=Base.metadata,
            render_as_batch=True,
            compare_type=True,
            compare_server_default=True,
        )
        with context.begin_transaction():
            context.run_migrations()
        connection.commit()
finally:
    engine.dispose()
