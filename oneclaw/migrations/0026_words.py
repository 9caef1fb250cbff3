"""The functions by which every search folds letters and cuts text into words (oneclaw/words.py)."""

from django.db import migrations

# Between words: controls, ASCII punctuation except the letters and digits, Latin-1 signs, general and CJK punctuation.
SEPARATORS = r"\u0001-/:-@\[-`{-\u00a9\u00ab-\u00b4\u00b6-\u00b9\u00bb-\u00bf\u00d7\u00f7\u05be\u05c0\u05c3\u060c\u061b\u061f\u066a-\u066d\u06d4\u0964\u0965\u2000-\u206f\u20a0-\u20cf\u2e00-\u2e7f\u3000-\u3004\u3008-\u3030\u303d\u30fb\ufe00-\ufe0f\ufe10-\ufe6f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"
# Emoji and other symbols: each is a word.
SYMBOLS = r"\u2190-\u2bff\U0001f000-\U0001faff"
# Scripts without spaces, and Hangul.
UNSPACED = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3031-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"

FUNCTIONS = rf"""
CREATE FUNCTION oneclaw_folded(body text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN body !~ '[^\u0001-\u007f]' THEN lower(body) ELSE
        replace(replace(replace(translate(lower(normalize(regexp_replace(
            normalize(body, NFKD), '[\u0300-\u036f\u0591-\u05c7\u064b-\u0652\u0670]', '', 'g'
        ), NFKC)), 'øłđıς’', 'oldiσ'''), 'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe') END
$$;
CREATE FUNCTION oneclaw_cut(folded text) RETURNS SETOF text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN run[1] IS NULL THEN left(coalesce(run[2], run[3]), 60) ELSE substr(run[1], at, 2) END
    FROM regexp_matches(
        folded, '([{UNSPACED}]+)|([{SYMBOLS}])|([^{SEPARATORS}{SYMBOLS}{UNSPACED}]+)', 'g'
    ) AS run, generate_series(1, coalesce(length(run[1]), 1)) AS at
$$;
CREATE FUNCTION oneclaw_words(body text) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(array_agg(word), ARRAY[]::text[]) FROM (
        SELECT oneclaw_cut(oneclaw_folded(body)) AS word
        UNION SELECT oneclaw_cut(regexp_replace(regexp_replace(oneclaw_folded(
            regexp_replace(body, '([a-z0-9])([A-Z])', '\1 \2', 'g')
        ), '([a-z])([0-9])', '\1 \2', 'g'), '([0-9])([a-z])', '\1 \2', 'g'))
            WHERE body ~ '[a-z0-9][A-Z]|[a-zA-Z][0-9]|[0-9][a-z]'
    ) AS cut
$$;
"""
NO_FUNCTIONS = """
DROP FUNCTION oneclaw_words(text);
DROP FUNCTION oneclaw_cut(text);
DROP FUNCTION oneclaw_folded(text);
"""


class Migration(migrations.Migration):
    dependencies = [("oneclaw", "0025_tools_on")]

    operations = [migrations.RunSQL(FUNCTIONS, NO_FUNCTIONS)]
