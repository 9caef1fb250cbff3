"""Why a document was changed, why a model makes no vectors, and what memory's tools said on their cards become codes with
parameters, where sentences were stored."""

import re

from django.db import migrations, models

from chat.migrations._sentences import CHECK_NOW, convert, convert_cards, english, parse, parse_or_other

CHANGES = [
    ("change.edited", "Edited on the memory page"),
    ("change.line_deleted", "Deleted a line on the memory page"),
    ("change.file_deleted", "Its file was deleted in the folder"),
    ("change.file_changed", "Changed in the folder"),
    ("change.file_new", "A new file in the folder"),
    ("change.last_messages", "The last messages before a new conversation"),
    ("change.folder_imported", "Imported"),
    ("change.forgotten", "Something was forgotten"),
    ("change.saved", "Saved in a conversation"),
    ("change.kept_new", "Kept the new of two lines that contradicted each other"),
    ("change.kept_old", "Kept the old of two lines that contradicted each other"),
    ("change.saved_as_said", "Saved as it was said, with its secret"),
    ("change.line_removed", "Removed a line from which a secret was left out"),
    ("change.admin_edited", "Edited in the admin"),
    ("change.admin_deleted", "Deleted in the admin"),
    ("change.api_written", "Written by a program"),
    ("change.api_added", "Added by a program"),
    ("change.restored", "Restored change %(number)d"),
    ("change.taken_back", "Took change %(number)d back"),
    ("change.notes", "Notes of “%(title)s”"),
    # Such a sentence was cut after 200 characters.
    ("change.notes", "Notes of “%(title)s"),
    ("change.summary", "Summary of “%(title)s”"),
    ("change.summary", "Summary of “%(title)s"),
    ("change.imported", "Imported from %(name)s"),
    ("change.both_changed", "%(path)s was changed here and in the folder, in the same lines"),
]
SERVER = [
    ("embedding.several_widths", "The embedding server answered with vectors of several widths."),
    ("embedding.several_widths", "The embedding server answers with vectors of several widths."),
    ("embedding.endless", "The embedding server's answer does not end."),
    ("embedding.unreachable", "The embedding server cannot be reached (%(error)s)."),
    ("embedding.refused", "The embedding server answered %(status)d: %(said)s"),
    ("embedding.no_vectors", "The embedding server answered with something that is no vectors."),
]
REFUSED = [
    (
        "memory.line_forgotten",
        "Nothing was saved: the person has had this forgotten. If they want it remembered again, they can write it "
        "into MEMORY.md themselves, on the memory page.",
    ),
    ("memory.too_long", "Parameter 'content' must be %(most)d characters or less."),
    ("memory.not_stored", "Failed to save memory: the database did not take it."),
    (
        "memory.document_too_large",
        "Failed to save memory: %(path)s would have %(size)d bytes; at most %(most)d are possible.",
    ),
    (
        "memory.unstorable",
        "Failed to save memory: %(path)s cannot hold this text: it contains NUL or half a surrogate pair.",
    ),
    ("memory.missing", "There is no memory file “%(path)s”."),
]
# What a tool said of itself was stored in the language of the person who asked.
FOUND = [
    ("memory.already_known", "Already known: %(path)s"),
    ("memory.already_known", "Schon bekannt: %(path)s"),
    ("memory.already_known", "Ya estaba en %(path)s"),
    ("memory.already_known", "Déjà connu : %(path)s"),
    ("memory.already_known", "すでに覚えています：%(path)s"),
    ("memory.already_known", "已经知道：%(path)s"),
    ("memory.found_nothing", "Found nothing"),
    ("memory.found_nothing", "Nichts gefunden"),
    ("memory.found_nothing", "Sin resultados"),
    ("memory.found_nothing", "Rien trouvé"),
    ("memory.found_nothing", "見つかりませんでした"),
    ("memory.found_nothing", "没有找到"),
    ("memory.found", "Found %(number)d passages"),
    ("memory.found", "Found %(number)d passage"),
    ("memory.found", "%(number)d Stelle gefunden"),
    ("memory.found", "%(number)d Stellen gefunden"),
    ("memory.found", "%(number)d pasaje encontrado"),
    ("memory.found", "%(number)d pasajes encontrados"),
    ("memory.found", "%(number)d passage trouvé"),
    ("memory.found", "%(number)d passages trouvés"),
    ("memory.found", "%(number)d件見つかりました"),
    ("memory.found", "找到 %(number)d 个段落"),
    ("memory.read", "Read %(path)s, lines %(first)d–%(last)d"),
    ("memory.read", "%(path)s gelesen, Zeilen %(first)d–%(last)d"),
    ("memory.read", "%(path)s, líneas %(first)d–%(last)d"),
    ("memory.read", "%(path)s lu, lignes %(first)d à %(last)d"),
    ("memory.read", "%(path)sの%(first)d〜%(last)d行目を読みました"),
    ("memory.read", "已读取 %(path)s 第 %(first)d–%(last)d 行"),
    ("memory.length", "%(path)s has %(count)d lines"),
    ("memory.length", "%(path)s has %(count)d line"),
    ("memory.length", "%(path)s hat %(count)d Zeile"),
    ("memory.length", "%(path)s hat %(count)d Zeilen"),
    ("memory.length", "%(path)s tiene %(count)d línea"),
    ("memory.length", "%(path)s tiene %(count)d líneas"),
    ("memory.length", "%(path)s a %(count)d ligne"),
    ("memory.length", "%(path)s a %(count)d lignes"),
    ("memory.length", "%(path)sは%(count)d行です"),
    ("memory.length", "%(path)s 有 %(count)d 行"),
]
LINES = [
    ("memory.contradicted", "Line %(line)d says otherwise: %(text)s"),
    ("memory.contradicted", "Zeile %(line)d sagt etwas anderes: %(text)s"),
    ("memory.contradicted", "La línea %(line)d dice otra cosa: %(text)s"),
    ("memory.contradicted", "La ligne %(line)d dit autre chose : %(text)s"),
    ("memory.contradicted", "%(line)d行目と食い違います：%(text)s"),
    ("memory.contradicted", "第 %(line)d 行说法不同：%(text)s"),
    ("memory.secret_left_out", "Left out: a %(kinds)s. Is it meant to be kept?"),
    ("memory.secret_left_out", "Ausgelassen: %(kinds)s. Soll das gespeichert werden?"),
    ("memory.secret_left_out", "Se ha omitido: %(kinds)s. ¿Quieres conservarlo?"),
    ("memory.secret_left_out", "Laissé de côté : %(kinds)s. Faut-il le garder ?"),
    ("memory.secret_left_out", "%(kinds)sを除きました。残しておくものでしたか？"),
    ("memory.secret_left_out", "已略去：%(kinds)s。确实要保留吗？"),
]
# The longer ones first: a private key is a key.
KINDS = {
    **dict.fromkeys(["private key", "privater Schlüssel", "clave privada", "clé privée", "秘密鍵", "私钥"], "private key"),
    **dict.fromkeys(["password", "Passwort", "contraseña", "mot de passe", "パスワード", "密码"], "password"),
    **dict.fromkeys(["token", "Token", "jeton", "トークン", "令牌"], "token"),
    **dict.fromkeys(["key", "Schlüssel", "clave", "clé", "キー", "密钥"], "key"),
}
KIND = re.compile("|".join(map(re.escape, KINDS)))

# A revision is final but for this migration.
NOT_FINAL = """
DROP TRIGGER revision_is_final ON memory_memoryrevision;
"""
FINAL = """
CREATE TRIGGER revision_is_final BEFORE UPDATE OF
    id, space_id, document_id, number, kind, source, reason, hunks, content_hash, operation_key, created_at
    ON memory_memoryrevision FOR EACH ROW EXECUTE FUNCTION memory_revision_is_final();
"""
# As in 0006_forgetting, but for what becomes of a reason that says what was forgotten.
FORGETTABLE = """
CREATE OR REPLACE FUNCTION memory_revision_is_final() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (NEW.id, NEW.space_id, NEW.document_id, NEW.number, NEW.kind, NEW.source, NEW.created_at)
            = (OLD.id, OLD.space_id, OLD.document_id, OLD.number, OLD.kind, OLD.source, OLD.created_at)
        AND {reason}
        AND (NEW.operation_key IS NULL OR NEW.operation_key = OLD.operation_key)
        AND EXISTS (
            SELECT FROM memory_forgetting
            WHERE space_id = OLD.space_id AND transaction = pg_current_xact_id()::text::bigint
        )
        AND NOT EXISTS (
            SELECT line FROM jsonb_array_elements(NEW.hunks) AS hunk,
                jsonb_array_elements((hunk -> 'removed') || (hunk -> 'added')) AS line
            WHERE line <> '""'
            EXCEPT
            SELECT line FROM jsonb_array_elements(OLD.hunks) AS hunk,
                jsonb_array_elements((hunk -> 'removed') || (hunk -> 'added')) AS line
        )
    THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'A revision is never edited.' USING ERRCODE = 'integrity_constraint_violation';
END $$;
"""
REASON_IS_JSON = FORGETTABLE.format(reason="(NEW.reason IS NULL OR NEW.reason = OLD.reason)")
REASON_IS_TEXT = FORGETTABLE.format(reason="NEW.reason IN (OLD.reason, '')")


def summary_to_code(card):
    """A failed call's words are a code or, where nobody has one for them, kept as they are."""
    summary = card.get("summary", "")
    if not isinstance(summary, str):
        return card
    if card.get("state") == "failed":
        return {**card, "summary": parse_or_other(REFUSED, summary) or ""}
    return {**card, "summary": parse(FOUND, summary) or summary}


def line_to_code(line):
    found = parse(LINES, line) if isinstance(line, str) else None
    if found is None:
        return line
    if "kinds" in found["params"]:
        kinds = list(dict.fromkeys(KINDS[kind] for kind in KIND.findall(found["params"]["kinds"])))
        found["params"] = {"kinds": kinds}
    return found


def card_to_code(card):
    # The first line of what was saved is the person's own.
    first, *more = card.get("lines", []) or [""]
    return summary_to_code({**card, "lines": [first, *map(line_to_code, more)]} if more else card)


def line_to_sentence(line):
    if isinstance(line, str):
        return line
    params = {name: " and ".join(value) if name == "kinds" else value for name, value in line["params"].items()}
    return english(LINES, {"code": line["code"], "params": params})


def card_to_sentence(card):
    summary = card.get("summary", "")
    if not isinstance(summary, str) and not summary["code"].startswith("call."):
        summary = english([*REFUSED, *FOUND], summary)
    return {**card, "summary": summary, "lines": [line_to_sentence(line) for line in card.get("lines", [])]}


def each(apps, change_revision, change_model, change_card):
    Revision, Model = apps.get_model("memory", "MemoryRevision"), apps.get_model("memory", "EmbeddingModel")
    Message = apps.get_model("chat", "Message")
    convert(Revision.objects.only("reason", "reason_text"), change_revision, ["reason", "reason_text"])
    convert(Model.objects.only("error", "error_text"), change_model, ["error", "error_text"])
    results = Message.objects.filter(role="tool", meta__has_key="cards").only("meta")
    convert(results, lambda message: convert_cards(message, change_card), ["meta"])


def to_codes(apps, schema_editor):
    def revision_to_code(revision):
        revision.reason = parse_or_other(CHANGES, revision.reason_text)
        return bool(revision.reason)

    def model_to_code(model):
        model.error = parse_or_other(SERVER, model.error_text)
        return bool(model.error)

    each(apps, revision_to_code, model_to_code, card_to_code)


def to_sentences(apps, schema_editor):
    def revision_to_sentence(revision):
        revision.reason_text = english(CHANGES, revision.reason)[:200]
        return bool(revision.reason)

    def model_to_sentence(model):
        model.error_text = english(SERVER, model.error)
        return bool(model.error)

    each(apps, revision_to_sentence, model_to_sentence, card_to_sentence)


class Migration(migrations.Migration):

    dependencies = [
        ("chat", "0015_reasons"),
        ("memory", "0016_jobs"),
    ]

    operations = [
        migrations.RunSQL(NOT_FINAL, FINAL),
        migrations.RenameField("memoryrevision", "reason", "reason_text"),
        migrations.RenameField("embeddingmodel", "error", "error_text"),
        migrations.AddField("memoryrevision", "reason", models.JSONField(blank=True, null=True)),
        migrations.AddField("embeddingmodel", "error", models.JSONField(blank=True, null=True)),
        migrations.RunSQL(migrations.RunSQL.noop, CHECK_NOW),
        migrations.RunPython(to_codes, to_sentences),
        migrations.RunSQL(CHECK_NOW, migrations.RunSQL.noop),
        migrations.RemoveField("memoryrevision", "reason_text"),
        migrations.RemoveField("embeddingmodel", "error_text"),
        migrations.RunSQL(REASON_IS_JSON, REASON_IS_TEXT),
        migrations.RunSQL(FINAL, NOT_FINAL),
    ]
