"""Learners without accounts: a random token in the browser, its hash here."""

import hashlib
import secrets
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.storage.tables import Learner

TOKEN_BYTES = 32


def new_token() -> str:
    """256 random bits, fit for a cookie."""
    return secrets.token_urlsafe(TOKEN_BYTES)


def hash_token(token: str) -> str:
    """What is stored: a token of 256 random bits needs no salt and no slow hash."""
    return hashlib.sha256(token.encode()).hexdigest()


def find(session: Session, token: str | None) -> int | None:
    """The learner who holds this token, if there is one."""
    if not token:
        return None
    return session.scalar(select(Learner.id).where(Learner.token_hash == hash_token(token)))


def create(session: Session, token: str, now: datetime) -> int:
    """A new learner who holds this token."""
    learner = Learner(token_hash=hash_token(token), created_at=now)
    session.add(learner)
    session.flush()
    return learner.id
