"""An index of the words of tasks, for the search of the lead's table."""

from alembic import op

revision = "0002"
down_revision = "0001"

# The ids and the values of the fields; a task is never changed or deleted, so the index keeps no copy of the text.
WORDS = "{0}.id || ' ' || (SELECT group_concat(value, ' ') FROM json_each({0}.payload))"
SQLITE = (
    "CREATE VIRTUAL TABLE task_words USING fts5(body, content='', tokenize='unicode61 remove_diacritics 2')",
    f"INSERT INTO task_words (rowid, body) SELECT code, {WORDS.format('task')} FROM task",
    "CREATE TRIGGER task_words_of AFTER INSERT ON task BEGIN "
    f"INSERT INTO task_words (rowid, body) VALUES (new.code, {WORDS.format('new')}); END",
)
POSTGRES = ("CREATE INDEX task_words ON task USING gin (to_tsvector('simple', id || ' ' || payload))",)


def upgrade() -> None:
    """There."""
    for statement in SQLITE if op.get_bind().dialect.name == "sqlite" else POSTGRES:
        op.execute(statement)


def downgrade() -> None:
    """And back."""
    if op.get_bind().dialect.name == "sqlite":
        op.execute("DROP TRIGGER task_words_of")
        op.execute("DROP TABLE task_words")
    else:
        op.execute("DROP INDEX task_words")
