"""Learners, item versions, attempts, marks, reports."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "item_versions",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("course", sa.String(length=100), nullable=False),
        sa.Column("lesson", sa.String(length=200), nullable=False),
        sa.Column("item", sa.String(length=200), nullable=False),
        sa.Column("content_hash", sa.String(length=64), nullable=False),
        sa.Column("section", sa.String(length=200), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("prompt", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_item_versions")),
        sa.UniqueConstraint("course", "lesson", "item", "content_hash", name=op.f("uq_item_versions_course")),
    )
    op.create_table(
        "learners",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("token_hash", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_learners")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_learners_token_hash")),
    )
    op.create_table(
        "attempts",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("learner_id", sa.Integer(), nullable=False),
        sa.Column("item_version_id", sa.Integer(), nullable=False),
        sa.Column("lesson_hash", sa.String(length=64), nullable=False),
        sa.Column("action", sa.String(length=20), nullable=False),
        sa.Column("answer", sa.JSON(), nullable=False),
        sa.Column("verdict", sa.String(length=20), nullable=False),
        sa.Column("confidence", sa.String(length=20), nullable=False),
        sa.Column("hints_used", sa.Integer(), nullable=False),
        sa.Column("seed", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.CheckConstraint("hints_used >= 0", name=op.f("ck_attempts_hints_not_negative")),
        sa.ForeignKeyConstraint(
            ["item_version_id"], ["item_versions.id"], name=op.f("fk_attempts_item_version_id_item_versions")
        ),
        sa.ForeignKeyConstraint(
            ["learner_id"], ["learners.id"], name=op.f("fk_attempts_learner_id_learners"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_attempts")),
    )
    op.create_index("ix_attempts_item_version_id", "attempts", ["item_version_id"], unique=False)
    op.create_index("ix_attempts_learner_item", "attempts", ["learner_id", "item_version_id"], unique=False)

    op.create_table(
        "marks",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("learner_id", sa.Integer(), nullable=False),
        sa.Column("course", sa.String(length=100), nullable=False),
        sa.Column("lesson", sa.String(length=200), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("ref", sa.String(length=200), nullable=False),
        sa.Column("done", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["learner_id"], ["learners.id"], name=op.f("fk_marks_learner_id_learners"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_marks")),
    )
    op.create_index("ix_marks_learner_lesson", "marks", ["learner_id", "course", "lesson"], unique=False)

    op.create_table(
        "reports",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("learner_id", sa.Integer(), nullable=False),
        sa.Column("course", sa.String(length=100), nullable=False),
        sa.Column("lesson", sa.String(length=200), nullable=False),
        sa.Column("lesson_hash", sa.String(length=64), nullable=False),
        sa.Column("item", sa.String(length=200), nullable=False),
        sa.Column("anchor", sa.String(length=200), nullable=False),
        sa.Column("content_hash", sa.String(length=64), nullable=False),
        sa.Column("place", sa.Text(), nullable=False),
        sa.Column("seed", sa.Integer(), nullable=False),
        sa.Column("answer", sa.JSON(), nullable=False),
        sa.Column("hints_used", sa.Integer(), nullable=False),
        sa.Column("reason", sa.String(length=40), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("reply", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("changed_at", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["learner_id"], ["learners.id"], name=op.f("fk_reports_learner_id_learners"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_reports")),
    )
    op.create_index("ix_reports_learner_id", "reports", ["learner_id"], unique=False)


def downgrade() -> None:
    op.drop_table("reports")
    op.drop_table("marks")
    op.drop_table("attempts")
    op.drop_table("learners")
    op.drop_table("item_versions")
