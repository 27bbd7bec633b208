"""The command line: `meshwright serve | parse | lint | estimate | …`."""

import socket
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from app import cli_authoring, cli_search, cli_verbs
from app.settings import Settings

cli = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
cli_verbs.register(cli)
cli_search.register(cli)
cli_authoring.register(cli)


def fail(message: str, code: int = 1) -> typer.Exit:
    """One clear line on standard error."""
    print(f"meshwright: {message}", file=sys.stderr)
    return typer.Exit(code)


@cli.command()
def serve(reload: Annotated[bool, typer.Option(help="Restart when the code changes.")] = False) -> None:
    """Migrate the database and serve the site; HOST, PORT and DATABASE_URL change where."""
    # Half a second to import, and no other command needs them.
    import uvicorn  # noqa: PLC0415

    from app.storage import migrate  # noqa: PLC0415

    settings = Settings()
    with socket.socket(socket.AF_INET6 if ":" in settings.host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.host, settings.port))
        except OSError as error:
            raise fail(
                f"cannot listen on {settings.host}:{settings.port} ({error.strerror}). "
                f"Stop what runs there, or choose another port: make serve PORT={settings.port + 1}"
            ) from error
    migrate.upgrade(settings.database_url)
    print(f"Meshwright is at http://{settings.host}:{settings.port} (stop with Ctrl-C)", flush=True)
    uvicorn.run(
        "app.main:create_app",
        factory=True,
        host=settings.host,
        port=settings.port,
        reload=reload,
        log_level="warning",
        server_header=False,
    )


@cli.command("check-migrations")
def check_migrations() -> None:
    """Prove that the migrations make exactly the tables that the code declares."""
    from app.storage import migrate  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'check.db'}"
        migrate.upgrade(url)
        if difference := migrate.differences(url):
            raise fail(
                f"the migrations do not make the tables: {difference}. "
                "Write one: .venv/bin/alembic revision --autogenerate"
            )
    print("Migrations make the tables.")


def main() -> None:
    """Entry of the console script."""
    cli()
