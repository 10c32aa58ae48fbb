"""Lines with Arabic, Hebrew and Persian letters: their characters stand where the Unicode Bidirectional Algorithm puts
them, and are read in the order in which they were written.
"""

import unicodedata

import pytest
from bidi import get_display

from inkgate.documents.pdf.glyph import Glyph, is_right_to_left
from inkgate.documents.pdf.text_layer import lines_of

RIGHT = """السلام عليكم ورحمة الله وبركاته
الأسعار والأرقام: 1234 ريال لا غير
السعر هو 1,234.50 ريال سعودي فقط.
بلغت النسبة 50% من الإجمالي في عام 2024
تاريخ الفاتورة 15/01/2024 وتاريخ الاستحقاق 2024-02-28
هاتف: +966 11 234 5678 فاكس
شركة Microsoft للبرمجيات
نظام Windows 11 Pro متوفر الآن
النص (بين قوسين) هنا [ومربعين] أيضا
استخدم (Google Chrome) للتصفح
البريد info@example.com للتواصل
زوروا موقع https://www.example.com/ar/page اليوم
هل تريد المتابعة؟ نعم، بالتأكيد!
قال: «لا إله إلا الله» ثم سكت
الإصدار 2.5.1 من البرنامج
المبلغ $500 أو 450€ تقريبا
١٢٣٤ ريال و٥٠٪ خصم
5 كتب و10 أقلام
رقم الحساب: SA03 8000 0000 6080 1016 7519
A4 ورق أبيض
تم التسليم في 12:30 مساء
سلام دنیا، این یک متن فارسی است.
در سال ۱۴۰۳ به میزان ۵۰٪ رشد کرد
شرکت Google در کالیفرنیا
שלום עולם, זהו מבחן של טקסט בעברית.
המחיר הוא 1,234.50 ש"ח בלבד
תאריך: 15/01/2024 או 2024-02-28
טלפון: 03-1234567 או +972-3-1234567
חברת Microsoft ישראל בע"מ
טקסט (בסוגריים) וגם [מרובעים] כאן
השתמשו ב-Google Chrome לגלישה
סה"כ 117.00 ₪ כולל מע"מ
1. סעיף ראשון
יש לנו 3 ילדים ו-2 כלבים""".splitlines()
LEFT = """The Arabic word مرحبا means hello.
She said שלום עולם to everyone.
Price (سعر): 25 dollars
The name محمد علي is common in Egypt, 2024.""".splitlines()


def shown(text: str, base: str) -> list[Glyph]:
    """`text` as it is shown: characters from left to right, half an em wide, with spaces where pdfium has them."""
    glyphs: list[Glyph] = []
    for number, char in enumerate(str(get_display(text, base_dir=base))):
        x = 100 + 10 * number
        if char != " ":
            glyphs.append(Glyph(char, x + 1, 36, x + 9, 50, x, 50, 1, 0, 20))
    return glyphs


def stored(glyphs: list[Glyph], order: str) -> list[Glyph]:
    """The glyphs in one of the orders in which PDFs have them."""
    if order == "from right":
        return glyphs[::-1]
    if order == "letters first":
        return sorted(glyphs, key=lambda glyph: (not is_right_to_left(glyph.text), -glyph.x))
    if order == "by meaning":
        return [glyph._replace(text=MIRRORED.get(glyph.text, glyph.text)) for glyph in glyphs]
    return glyphs


MIRRORED = {"(": ")", ")": "(", "[": "]", "]": "[", "«": "»", "»": "«"}


@pytest.mark.parametrize("order", ["from left", "from right", "letters first", "by meaning"])
def test_lines_are_read_in_the_order_in_which_they_were_written(order: str) -> None:
    wrong = []
    for base, texts in (("R", RIGHT), ("L", LEFT)):
        for text in texts:
            lines = lines_of(stored(shown(text, base), order))
            found = [line.text for line in lines]
            if found != [text]:
                wrong.append((text, found))
            elif [word.text for word in lines[0].words] != text.split(" "):
                wrong.append((text, [word.text for word in lines[0].words]))
    assert not wrong


def at(char: str, left: float, right: float, x: float, y: float = 50) -> Glyph:
    return Glyph(char, left, 36, right, y, x, 50, 1, 0, 20)


def test_letters_of_one_glyph_are_in_reading_order() -> None:
    wrong = []
    for ligature in ("لا", "لأ", "لإ", "لآ", "لله", "بّ", "في"):
        for given in (ligature[::-1], ligature) if ligature in {"لا", "لأ", "لإ", "لآ", "بّ"} else (ligature[::-1],):
            glyphs = [at("ا", 130, 138, 129), *(at(char, 118, 129, 118) for char in given), at("م", 106, 117, 106)]
            found = [line.text for line in lines_of(glyphs)]
            if found != ["ا" + ligature + "م"]:
                wrong.append((ligature, given, found))
    assert not wrong


def test_presentation_forms_are_spelled_out_in_reading_order() -> None:
    forms = "\ufeb3\ufefc\ufee1"  # initial seen, final lam-alef, isolated meem
    found = [
        line.text
        for line in lines_of([at(char, 130 - 12 * n, 141 - 12 * n, 130 - 12 * n) for n, char in enumerate(forms)])
    ]
    assert found == ["سلام"]


@pytest.mark.parametrize("word", ["سلام", "שלום", "الكتاب"])
def test_text_that_replaces_a_words_glyphs_is_read_whichever_way_it_is_stored(word: str) -> None:
    divided = [at(char, 140 - 10 * n, 150 - 10 * n, 100) for n, char in enumerate(word)]
    assert [line.text for line in lines_of(divided)] == [word]
    if word != "سلام":  # nothing tells that this is turned about
        turned = [at(char, 140 - 10 * n, 150 - 10 * n, 100) for n, char in enumerate(word[::-1])]
        assert [line.text for line in lines_of(turned)] == [word]


def test_vowel_marks_follow_the_letters_that_they_stand_on() -> None:
    word = "كَتَبَ"
    letters = [char for char in word if unicodedata.category(char) != "Mn"]
    glyphs = []
    for number, char in enumerate(letters):
        x = 130 - 12 * number
        mark = Glyph("\u064e", x + 3, 28, x + 8, 31, x - 1, 48, 1, 0, 20)
        letter = at(char, x, x + 12, x)
        glyphs += [mark, letter] if number % 2 else [letter, mark]
    assert [line.text for line in lines_of(glyphs)] == [word]


def test_columns_from_right_to_left_are_lines_of_their_own() -> None:
    left, right = shown("المبلغ", "R"), shown("البيان", "R")
    apart = [glyph._replace(left=glyph.left + 200, right=glyph.right + 200, x=glyph.x + 200) for glyph in right]
    assert [line.text for line in lines_of([*apart, *left])] == ["البيان", "المبلغ"]


def test_the_page_tells_where_a_line_in_two_scripts_begins() -> None:
    english = [glyph._replace(top=96, bottom=110, y=110) for glyph in shown("The invoice of this month", "L")]
    arabic = [glyph._replace(top=96, bottom=110, y=110) for glyph in shown("هذه فاتورة الشهر الحالي", "R")]
    assert next(line.text for line in lines_of([*shown("Invoice / فاتورة", "L"), *english])) == "Invoice / فاتورة"
    assert next(line.text for line in lines_of([*shown("فاتورة / Invoice", "R"), *arabic])) == "فاتورة / Invoice"
