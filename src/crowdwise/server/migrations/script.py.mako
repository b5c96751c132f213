"""${message}"""

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}


def upgrade() -> None:
    """There."""
    ${upgrades if upgrades else "pass"}


def downgrade() -> None:
    """And back."""
    ${downgrades if downgrades else "pass"}
