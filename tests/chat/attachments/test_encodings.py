"""A text is read in the encoding that it was written in, or refused: no guess is stored as rubbish."""

import codecs
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.attachments.encodings import EncodingUnknownError, NoTextError, decode_text
from chat.attachments.examine import FileRefusedError, examine_file
from chat.attachments.web_pages import text_of_page
from memory.library.extract import LibraryFileUnreadableError, read_file

TEXTS = {
    "German": "Sehr geehrte Frau Müller,\r\nanbei die Rechnung über 1.200 € – zahlbar bis „Freitag“. Größe: 5 m².",
    "French": "L’été à la plage, c’est déjà fini ; où êtes-vous ? Ça coûte 5 € à Noël.",
    "French and German": "Käse à la crème brûlée, größer und schöner; les élèves français.",
    "Spanish": "¿Dónde está la reunión de mañana? El niño comió piñas. ¡Sí!",
    "Portuguese": "A reunião é amanhã às dez. Não se esqueça das maçãs, dos pães e do café.",
    "Italian": "La riunione è domani alle dieci. Perché non vieni più? Così è la città. Lunedì.",
    "Danish": "Mødet er i morgen klokken ti. Husk også at købe æbler og rødgrød på vejen.",
    "Swedish": "Mötet är i morgon klockan tio. Glöm inte att köpa äpplen på vägen.",
    "Icelandic": "Fundurinn er á morgun klukkan tíu. Það er góð hugmynd að mæta þá.",
    "Polish": "Zażółć gęślą jaźń. Spotkanie jutro o dziesiątej.",
    "Czech": "Příliš žluťoučký kůň úpěl ďábelské ódy. Schůzka je zítra v deset hodin dopoledne.",
    "Hungarian": "Árvíztűrő tükörfúrógép. A megbeszélés holnap tíz órakor lesz, kérem, jöjjön időben.",
    "Romanian": "Întâlnirea este mâine la ora zece. Şi ţara noastră este frumoasă.",
    "Croatian": "Sastanak je sutra u deset sati. Čekam te ispred kuće, donesi ključeve i đačku knjižicu.",
    "Turkish": "Toplantı yarın saat onda. Şişli, İstanbul, ığüşöç",
    "Lithuanian": "Susitikimas rytoj dešimtą valandą. Ąžuolas žydi. Šiandien gražu, ačiū už viską, įdomu, mėnuo.",
    "Russian": "Привет, как дела? Встреча завтра в десять часов.",
    "Ukrainian": "Зустріч завтра о десятій годині. Привіт, як справи? Їжак єдиний.",
    "Greek": "Καλημέρα, τι κάνετε; Η συνάντηση είναι αύριο.",
    "Hebrew": "פגישה מחר בעשר בבוקר, נא להגיע בזמן",
    "Arabic": "الاجتماع غدا في الساعة العاشرة",
    "Thai": "การประชุมพรุ่งนี้สิบโมง",
    "Japanese": "会議の議事録\n出席者：田中、鈴木\n明日の会議は10時からです。カメラをご持参ください。",
    "Japanese names": "氏名,住所\n田中太郎,東京都千代田区\n佐藤花子,大阪府大阪市",
    "Chinese": "姓名,城市,工资\n王伟,北京,9000\n李娜,上海,8000\n这是一个很重要的文件，请大家仔细阅读。",
    "Chinese in Taiwan": "姓名,城市,薪資\n王偉,台北,9000\n李娜,高雄,8000\n這是一個很重要的文件，請大家仔細閱讀。",
    "Korean": "이름,도시,급여\n김철수,서울,9000\n이영희,부산,8000\n이것은 매우 중요한 문서이니 읽어 주시기 바랍니다.",
}
WRITTEN_IN = {
    "cp1252": (
        *("German", "French", "French and German", "Spanish", "Portuguese", "Italian", "Danish", "Swedish"),
        "Icelandic",
    ),
    "cp1250": ("Polish", "Czech", "Hungarian", "Romanian", "Croatian"),
    "iso8859_2": ("Polish", "Czech", "Hungarian"),
    "cp1254": ("Turkish",),
    "cp1257": ("Lithuanian",),
    "cp1251": ("Russian", "Ukrainian"),
    "koi8_u": ("Russian", "Ukrainian"),
    "cp866": ("Russian",),
    "mac_cyrillic": ("Russian",),
    "cp1253": ("Greek",),
    "cp1255": ("Hebrew",),
    "cp1256": ("Arabic",),
    "cp874": ("Thai",),
    "cp932": ("Japanese", "Japanese names"),
    "euc_jp": ("Japanese",),
    "iso2022_jp": ("Japanese",),
    "gb18030": ("Chinese",),
    "cp950": ("Chinese in Taiwan",),
    "cp949": ("Korean",),
    "mac_roman": ("Swedish",),
    "cp850": ("Swedish",),
    "utf-16-le": ("German", "French"),
    "utf-16-be": ("German",),
}


@pytest.mark.parametrize(
    ("encoding", "language"), [(encoding, each) for encoding, languages in WRITTEN_IN.items() for each in languages]
)
@pytest.mark.parametrize("times", [1, 30])
def test_a_text_is_read_in_the_encoding_of_its_language(encoding, language, times):
    data = (TEXTS[language] * times).encode(encoding)
    assert decode_text(data) == data.decode(encoding)


@pytest.mark.parametrize("text", ["会議", "日本語のファイル", "会議の議事録\n出席者"])
def test_a_few_words_in_shift_jis_are_read(text):
    assert decode_text(text.encode("cp932")) == text


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"])))
def test_unicode_is_always_read(text):
    assert decode_text(text.encode()) == text
    assert decode_text(codecs.BOM_UTF8 + text.encode()) == text
    assert decode_text(codecs.BOM_UTF16_BE + text.encode("utf-16-be")) == text
    assert decode_text(codecs.BOM_UTF32_LE + text.encode("utf-32-le")) == text


def test_a_few_damaged_bytes_do_not_make_utf_8_another_encoding():
    assert decode_text("Übergrößen für alle".encode() * 20 + b"\xff.").endswith("alle\ufffd.")
    assert decode_text("Ende: ö".encode() * 60 + b"\xc3").endswith("ö\ufffd")


def test_a_text_of_no_known_encoding_is_refused():
    seeded = random.Random(28)
    noise = [bytes(seeded.choice(range(0x20, 0x100)) for _ in range(80)) for _ in range(200)]
    for data in [b"caf\xe9 \x81\x8d" * 9, *noise]:
        with pytest.raises(EncodingUnknownError):
            decode_text(data)


def test_bytes_that_are_no_text_are_none():
    for data in (bytes(range(256)) * 4, b"MZ\x90\x00\x03", bytes(100)):
        with pytest.raises(NoTextError):
            decode_text(data)


@pytest.mark.parametrize(
    ("name", "encoding", "text"),
    [
        ("people.csv", "cp1252", "Name;Straße;Betrag\nMüller;Hauptstraße 5;1.234,56\nGroß;Ölweg 7;99,00"),
        ("minutes.txt", "cp932", "会議の議事録\n出席者：田中、鈴木"),
        ("minutes.txt", "gb18030", "会议记录\n出席：王先生，李女士\n下周一再开会"),
    ],
)
def test_a_message_and_a_library_read_the_same_text(name, encoding, text):
    data = text.replace("\n", "\r\n").encode(encoding)
    assert examine_file(name, data).text == text
    assert read_file(name, data, print).texts == [text]


def test_a_message_and_a_library_refuse_the_same_text():
    data = b"caf\xe9 \x81\x8d" * 9
    with pytest.raises(FileRefusedError) as refused:
        examine_file("notes.txt", data)
    assert refused.value.code == "encoding"
    with pytest.raises(LibraryFileUnreadableError) as unreadable:
        read_file("notes.txt", data, print)
    assert unreadable.value.code == "encoding"


@pytest.mark.parametrize(
    ("declared", "encoding", "text"),
    [
        ("iso-8859-1", "cp1252", "5 € für Käthe"),
        ("shift_jis", "cp932", "①会議の議事録"),
        ("gb2312", "gb18030", "朱镕基的会议"),
        ("iso-2022-jp", "iso2022_jp", "会議の議事録"),
        # Declared wrongly, or not at all.
        ("iso-8859-1", "utf-8", "für Käthe"),
        ("utf-8", "cp1252", "für Käthe"),
        ("nothing-known", "cp932", "会議の議事録です"),
        ("", "cp1251", "Привет, как дела? Встреча завтра"),
    ],
)
def test_a_page_is_read_as_it_says_or_else_as_it_seems(declared, encoding, text):
    head = f"<meta charset='{declared}'>" if declared else ""
    assert text_of_page(f"<html><head>{head}</head><p>{text}</p></html>".encode(encoding)) == text


def test_a_page_of_no_known_encoding_is_refused():
    with pytest.raises(LibraryFileUnreadableError) as unreadable:
        read_file("a.html", b"<html><p>" + b"caf\xe9 \x81\x8d" * 9, print)
    assert unreadable.value.code == "encoding"


def test_a_letter_of_iso_8859_2_that_is_a_sign_in_windows_1252_is_not_guessed_wrongly():
    text = "Protokół zebrania. Jutro o trzeciej zaczynamy. Uczestniczą Łukasz i Żaneta."
    assert decode_text(text.encode("iso8859_2")) == text
    assert decode_text("Länge 5±1 mm, Fläche 3 m², für 7¼ Stück".encode("cp1252")).endswith("7¼ Stück")
