"""Letters with accents of languages in Latin script, as their standard spelling has them."""

from __future__ import annotations

from typing import Final

ACCENTS: Final = {
    "ca": frozenset("àçèéíïòóúü"),
    "cs": frozenset("áčďéěíňóřšťúůýž"),
    "cy": frozenset("âêîôûŵŷáéíóúàèìòùäëïöü"),
    "da": frozenset("åéó"),
    "de": frozenset("äöüéàâ"),
    "es": frozenset("áéíñóúü"),
    "et": frozenset("äõöüšž"),
    "fi": frozenset("äöåšž"),
    "fr": frozenset("àâçéèêëîïôùûüÿ"),
    "ga": frozenset("áéíóú"),
    "hr": frozenset("čćšž"),
    "hu": frozenset("áéíóöőúüű"),
    "is": frozenset("áéíóúýö"),
    "it": frozenset("àèéìíîòóùú"),
    "lt": frozenset("ąčęėįšųūž"),
    "lv": frozenset("āčēģīķļņšūž"),
    "nl": frozenset("áàâäçéèêëíïîóòôöúûü"),
    "no": frozenset("åéèêóòôâ"),
    "pl": frozenset("ąćęńóśźż"),
    "pt": frozenset("áâãàçéêíóôõúü"),
    "ro": frozenset("ăâîșțşţ"),
    "sk": frozenset("áäčďéíĺľňóôŕšťúýž"),
    "sl": frozenset("čšž"),
    "sq": frozenset("çë"),
    "sv": frozenset("åäöéàü"),
    "tr": frozenset("çğıöşüâîû"),
}
"""By language (ISO 639-1); with those of words that the language has taken over from its neighbours. Vietnamese is not
among them: a page with its letters is left as it was read. `ı` counts, though it has no base letter by Unicode."""
