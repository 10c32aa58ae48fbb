"""How well the embedded engine reads drawn sentences in many languages: the first of Article 1 of the Universal
Declaration of Human Rights, in print of three sizes.

    python -m benchmarks.languages

Needs the Debian packages fonts-dejavu-core and fonts-noto-cjk. Clean print of one font is the easy case: a language
that is read badly here is read badly everywhere; one that is read well here may still be difficult in a scan.
"""

from __future__ import annotations

import io

from PIL import Image, ImageDraw, ImageFont
from rapidfuzz.distance import Levenshtein

import inkgate

SERIF = "/usr/share/fonts/truetype/dejavu/DejaVuSerif.ttf"
CJK = "/usr/share/fonts/opentype/noto/NotoSerifCJK-Bold.ttc"
SIZES = (22, 28, 40)

SENTENCES = {
    "English": "All human beings are born free and equal in dignity and rights.",
    "German": "Alle Menschen sind frei und gleich an Würde und Rechten geboren.",
    "French": "Tous les êtres humains naissent libres et égaux en dignité et en droits.",
    "Spanish": "Todos los seres humanos nacen libres e iguales en dignidad y derechos. ¿Mañana, señor? ¡Sí!",
    "Portuguese": "Todos os seres humanos nascem livres e iguais em dignidade e em direitos. São razão e consciência.",
    "Italian": "Tutti gli esseri umani nascono liberi ed eguali in dignità e diritti. Perché più libertà è così?",
    "Dutch": "Alle mensen worden vrij en gelijk in waardigheid en rechten geboren. Eén coördinatie.",
    "Swedish": "Alla människor är födda fria och lika i värde och rättigheter. På ö.",
    "Danish": "Alle mennesker er født frie og lige i værdighed og rettigheder. Å, på åen.",
    "Finnish": "Kaikki ihmiset syntyvät vapaina ja tasavertaisina arvoltaan ja oikeuksiltaan.",
    "Polish": "Wszyscy ludzie rodzą się wolni i równi pod względem swej godności i swych praw. "
    "Żółć, gęś, łódź, ćma, ńko.",
    "Czech": "Všichni lidé rodí se svobodní a sobě rovní co do důstojnosti a práv. Příliš žluťoučký kůň úpěl.",
    "Hungarian": "Minden emberi lény szabadon születik és egyenlő méltósága és joga van. Tűzőgép, ősz.",
    "Romanian": "Toate ființele umane se nasc libere și egale în demnitate și în drepturi. Încă, mâine.",
    "Turkish": "Bütün insanlar hür, haysiyet ve haklar bakımından eşit doğarlar. İğne, ılık, çağ.",
    "Lithuanian": "Visi žmonės gimsta laisvi ir lygūs savo orumu ir teisėmis. Ąžuolas, ėjo, įlanka.",
    "Croatian": "Sva ljudska bića rađaju se slobodna i jednaka u dostojanstvu i pravima. Čaša, žuč, ćup.",
    "Vietnamese": "Tất cả mọi người sinh ra đều được tự do và bình đẳng về nhân phẩm và quyền lợi.",
    "Greek": "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα.",
    "Russian": "Все люди рождаются свободными и равными в своем достоинстве и правах.",
    "Chinese": "人人生而自由，在尊严和权利上一律平等。",
    "Chinese, traditional": "人人生而自由，在尊嚴和權利上一律平等。",
    "Japanese": "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。",
    "Korean": "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다.",
}


def picture(sentence: str, size: int) -> bytes:
    """A PNG of the sentence in black on white, in lines of about 40 characters."""
    wide = sentence[0] > "\u1fff"
    font = ImageFont.truetype(CJK if wide else SERIF, size)
    lines = [""]
    for word in sentence if wide else [f"{word} " for word in sentence.split()]:
        if font.getlength(lines[-1] + word) > 24 * size:
            lines.append("")
        lines[-1] += word
    image = Image.new("RGB", (28 * size, (len(lines) + 3) * size * 2), "white")
    draw = ImageDraw.Draw(image)
    for number, line in enumerate(lines):
        draw.text((2 * size, (number * 1.6 + 1.5) * size), line, "black", font)
    data = io.BytesIO()
    image.save(data, "PNG")
    return data.getvalue()


def main() -> None:
    print("| language | CER (%) | read at 28 pixels |\n| --- | --- | --- |")
    with inkgate.Ocr() as ocr:
        for language, sentence in SENTENCES.items():
            read = [ocr.read(picture(sentence, size), task="text").text for size in SIZES]
            truth = "".join(sentence.split())
            edits = sum(Levenshtein.distance(truth, "".join(text.split())) for text in read)
            print(f"| {language} | {100 * edits / len(truth) / len(SIZES):.1f} | {' '.join(read[1].split())} |")


if __name__ == "__main__":
    main()
