"""Made-up invoices in seven languages and several layouts, with what is printed on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from random import Random

from inkgate_client.types import Line, PageResult

WORDS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "en": {
        "title": ("INVOICE", "Tax Invoice"),
        "net": ("Net total", "Subtotal", "Total excl. VAT", "Amount before tax", "Net amount", "Taxable amount"),
        "tax": ("VAT {r} %", "Tax ({r}%)", "Plus VAT {r}%", "VAT @ {r}%", "Total VAT"),
        "gross": ("Total", "Total incl. VAT", "Gross total", "Grand total", "Invoice total", "Gross amount"),
        "number": ("Invoice number", "Invoice no.", "Invoice #"),
        "date": ("Invoice date", "Date", "Date of issue"),
        "due_date": ("Due date", "Payable by"),
        "order": ("Order number", "PO number"),
        "customer": ("Customer number", "Customer no."),
        "paid": ("Deposit", "Amount paid", "Less deposit"),
        "due": ("Amount due", "Balance due", "Remaining balance"),
        "discount": ("Discount 10 %", "Less discount"),
        "shipping": ("Shipping", "Freight and handling"),
        "item": ("Consulting in May", "Repair of a pump", "Work at the harbour"),
        "columns": ("Description", "Amount"),
    },
    "de": {
        "title": ("RECHNUNG", "Rechnung"),
        "net": ("Summe netto", "Nettobetrag", "Zwischensumme", "Gesamt netto", "Rechnungsbetrag netto", "Warenwert"),
        "tax": ("Umsatzsteuer {r} %", "MwSt. {r}%", "zzgl. {r} % USt", "{r} % Mehrwertsteuer", "Summe MwSt."),
        "gross": (
            "Gesamtsumme", "Gesamtbetrag", "Rechnungsbetrag", "Gesamt brutto", "Summe brutto",
            "Gesamtbetrag inkl. MwSt.", "Endbetrag",
        ),
        "number": ("Rechnungsnummer", "Rechnungs-Nr.", "Rechnung Nr."),
        "date": ("Rechnungsdatum", "Datum", "Belegdatum"),
        "due_date": ("Zahlbar bis", "Fällig am"),
        "order": ("Auftragsnummer", "Bestell-Nr."),
        "customer": ("Kundennummer", "Kunden-Nr."),
        "paid": ("Anzahlung", "Bereits bezahlt", "abzgl. Anzahlung"),
        "due": ("Restbetrag", "Noch zu zahlen", "Zahlbetrag"),
        "discount": ("Rabatt 10 %", "Nachlass"),
        "shipping": ("Versandkosten", "Versand und Verpackung"),
        "item": ("Beratung im Mai", "Reparatur einer Pumpe", "Arbeiten am Hafen"),
        "columns": ("Bezeichnung", "Betrag"),
    },
    "fr": {
        "title": ("FACTURE", "Facture"),
        "net": ("Total HT", "Montant HT", "Sous-total", "Total hors taxes", "Base HT", "Total H.T."),
        "tax": ("TVA {r} %", "TVA ({r}%)", "Montant TVA", "Total TVA"),
        "gross": ("Total TTC", "Montant TTC", "Total toutes taxes comprises", "Total T.T.C.", "Net à payer"),
        "number": ("Facture n°", "Numéro de facture", "N° de facture"),
        "date": ("Date de facture", "Date", "Date d'émission"),
        "due_date": ("Date d'échéance", "Échéance"),
        "order": ("Commande n°", "Numéro de commande"),
        "customer": ("Client n°", "Numéro client"),
        "paid": ("Acompte versé", "Déjà réglé", "Acompte"),
        "due": ("Reste à payer", "Solde dû", "Solde à payer"),
        "discount": ("Remise 10 %", "Remise commerciale"),
        "shipping": ("Frais de port", "Livraison"),
        "item": ("Conseil en mai", "Réparation d'une pompe", "Travaux au port"),
        "columns": ("Désignation", "Montant"),
    },
    "es": {
        "title": ("FACTURA", "Factura"),
        "net": ("Base imponible", "Subtotal", "Total sin IVA", "Importe neto", "Total neto", "Suma"),
        "tax": ("IVA {r} %", "I.V.A. ({r}%)", "Cuota IVA", "Total IVA"),
        "gross": ("Total", "Total factura", "Total con IVA", "Importe total", "Total (IVA incluido)", "TOTAL A PAGAR"),
        "number": ("Factura nº", "Número de factura", "Nº factura"),
        "date": ("Fecha de factura", "Fecha", "Fecha de emisión"),
        "due_date": ("Fecha de vencimiento", "Vencimiento"),
        "order": ("Pedido nº", "Número de pedido"),
        "customer": ("Nº de cliente", "Cliente nº"),
        "paid": ("Anticipo", "Pagado a cuenta", "Importe pagado"),
        "due": ("Pendiente de pago", "Saldo pendiente", "Resto a pagar"),
        "discount": ("Descuento 10 %", "Dto. comercial"),
        "shipping": ("Gastos de envío", "Portes"),
        "item": ("Asesoría en mayo", "Reparación de una bomba", "Trabajos en el puerto"),
        "columns": ("Descripción", "Importe"),
    },
    "it": {
        "title": ("FATTURA", "Fattura"),
        "net": ("Totale imponibile", "Imponibile", "Totale netto", "Subtotale", "Totale IVA esclusa", "Importo netto"),
        "tax": ("IVA {r} %", "Imposta {r}%", "Totale IVA", "Totale imposta"),
        "gross": (
            "Totale fattura", "Totale", "Totale documento", "Totale IVA inclusa", "Totale lordo", "Totale a pagare",
        ),
        "number": ("Fattura n.", "Numero fattura", "N. fattura"),
        "date": ("Data fattura", "Data", "Data di emissione"),
        "due_date": ("Scadenza", "Data di scadenza"),
        "order": ("Ordine n.", "Numero ordine"),
        "customer": ("Codice cliente", "Cliente n."),
        "paid": ("Acconto", "Acconto versato", "Già pagato"),
        "due": ("Saldo", "Residuo da pagare", "Saldo dovuto"),
        "discount": ("Sconto 10 %", "Sconto"),
        "shipping": ("Spese di spedizione", "Trasporto"),
        "item": ("Consulenza di maggio", "Riparazione di una pompa", "Lavori al porto"),
        "columns": ("Descrizione", "Importo"),
    },
    "nl": {
        "title": ("FACTUUR", "Factuur"),
        "net": ("Subtotaal", "Totaal excl. btw", "Bedrag exclusief BTW", "Netto bedrag", "Totaal netto"),
        "tax": ("BTW {r}%", "{r} % btw", "Btw-bedrag", "Totaal BTW"),
        "gross": (
            "Totaal", "Totaal incl. btw", "Totaalbedrag", "Bedrag inclusief BTW", "Te betalen", "Totaal te voldoen",
        ),
        "number": ("Factuurnummer", "Factuurnr.", "Factuur nr."),
        "date": ("Factuurdatum", "Datum"),
        "due_date": ("Vervaldatum", "Te betalen voor"),
        "order": ("Ordernummer", "Bestelnummer"),
        "customer": ("Klantnummer", "Debiteurnummer"),
        "paid": ("Aanbetaling", "Reeds voldaan", "Voorschot"),
        "due": ("Nog te betalen", "Openstaand bedrag", "Restant"),
        "discount": ("Korting 10 %", "Korting"),
        "shipping": ("Verzendkosten", "Bezorgkosten"),
        "item": ("Advies in mei", "Reparatie van een pomp", "Werk aan de haven"),
        "columns": ("Omschrijving", "Bedrag"),
    },
    "pt": {
        "title": ("FATURA", "Fatura"),
        "net": ("Total sem IVA", "Subtotal", "Base tributável", "Valor líquido", "Total ilíquido", "Incidência"),
        "tax": ("IVA {r} %", "IVA ({r}%)", "Total IVA", "Valor do IVA"),
        "gross": ("Total", "Total com IVA", "Total da fatura", "Total a pagar", "Valor total"),
        "number": ("Fatura n.º", "Número da fatura", "Fatura nº"),
        "date": ("Data da fatura", "Data", "Data de emissão"),
        "due_date": ("Data de vencimento", "Vencimento"),
        "order": ("Encomenda n.º", "Número da encomenda"),
        "customer": ("Cliente n.º", "N.º de cliente"),
        "paid": ("Adiantamento", "Já pago", "Sinal"),
        "due": ("Valor em dívida", "Saldo a pagar", "Em falta"),
        "discount": ("Desconto 10 %", "Desconto comercial"),
        "shipping": ("Portes de envio", "Transporte"),
        "item": ("Consultoria em maio", "Reparação de uma bomba", "Trabalhos no porto"),
        "columns": ("Descrição", "Valor"),
    },
}  # fmt: skip
_RATES = {"en": "20", "de": "19", "fr": "20", "es": "21", "it": "22", "nl": "21", "pt": "23"}
_LOW = {"en": "5", "de": "7", "fr": "10", "es": "10", "it": "10", "nl": "9", "pt": "6"}
_NUMBERS = ("RE-1012", "2025/0417", "80101911", "F2025-77", "INV-000123", "A 4711/25")
_CENT = Decimal("0.01")


@dataclass(slots=True)
class MadeInvoice:
    """An invoice: texts with the place of their left edge (column in characters, row), and what they say."""

    name: str
    pieces: list[tuple[float, float, str]] = field(default_factory=list)
    truth: dict[str, str] = field(default_factory=dict)
    _row: float = 0.0

    def row(self, *cells: tuple[float, str]) -> None:
        """Adds a row of texts at their columns."""
        self.pieces.extend((at, self._row, text) for at, text in cells if text)
        self._row += 1

    def skip(self) -> None:
        """Leaves a row empty."""
        self._row += 1

    def page(self) -> PageResult:
        """As a page whose letters are 10 wide and 20 high."""
        lines = []
        for column, row, text in self.pieces:
            left, top = 20.0 + 10 * column, 20.0 + 32 * row
            right = left + 10 * len(text)
            lines.append(Line(text, ((left, top), (right, top), (right, top + 20), (left, top + 20)), 0.98))
        return PageResult(0, lines=tuple(lines))


class InvoiceWriter:
    """Writes one invoice."""

    def __init__(self, language: str, layout: str, head: str, random: Random) -> None:
        self.words, self.random, self.head = WORDS[language], random, head
        self.language = language
        self.rate, self.low = Decimal(_RATES[language]), Decimal(_LOW[language])
        self.made = MadeInvoice(f"{language} {layout} {head}")
        style = (
            ["{} EUR", "{} €", "€ {}", "EUR {}", "{}"] if language != "en" else ["${}", "£{}", "{} EUR", "{}", "€{}"]
        )
        self.style, self.point = random.choice(style), language == "en"
        self.thousands = random.choice(("", "," if self.point else "."))

    def word(self, name: str) -> str:
        return self.random.choice(self.words[name]).replace("{r}", str(self.rate))

    def money(self, amount: Decimal) -> str:
        text = f"{amount:,.2f}" if self.thousands else f"{amount:.2f}"
        if not self.point:
            text = text.translate(str.maketrans(",.", ".,"))
        return self.style.format(text)

    def date(self, day: int, month: int, year: int = 2025) -> str:
        forms = ("{d:02}/{m:02}/{y}", "{d:02}.{m:02}.{y}", "{y}-{m:02}-{d:02}")
        form = self.random.choice(forms if self.language != "de" else forms[1:])
        return form.format(d=day, m=month, y=year)

    @classmethod
    def of(cls, language: str, head: str, seed: int) -> InvoiceWriter:
        """For an invoice whose sums the caller writes."""
        return cls(language, "", head, Random(seed))

    def write(self, sums: Callable[[InvoiceWriter], None]) -> MadeInvoice:
        """The invoice, with the sums that the function adds."""
        made = self.made
        made.row((0, "Northern Pumps Ltd" if self.language == "en" else "Muster Werke GmbH"))
        made.row((0, "Harbour Road 7"))
        made.row((0, "20457 Hamburg"))
        made.skip()
        made.row((0, self.word("title")))
        self._head()
        made.skip()
        self._items()
        sums(self)
        return made

    def _head(self) -> None:
        number, day = self.random.choice(_NUMBERS), self.random.randrange(13, 28)
        month = self.random.randrange(1, 10)
        order, customer = str(self.random.randrange(10_000, 99_999)), str(self.random.randrange(1000, 9999))
        if self.head.startswith("slash"):
            number = number if number.isdigit() or "-" in number else "80101911"
        date, due = self.date(day, month), self.date(day, month + 2)
        self.made.truth |= {"invoice_number": number, "date": f"2025-{month:02}-{day:02}"}
        labels = {name: self.word(name) for name in ("order", "number", "customer", "date", "due_date")}
        values = {"order": order, "number": number, "customer": customer, "date": date, "due_date": due}
        colon = self.random.choice((":", " :", ""))
        _HEADS[self.head](self, labels, values, colon)

    def head_lines(self, labels: Mapping[str, str], values: Mapping[str, str], colon: str) -> None:
        names = list(labels)
        self.random.shuffle(names)
        apart = self.random.random() < 0.5
        for name in names:
            if apart:
                self.made.row((0, labels[name] + colon), (30, values[name]))
            else:
                self.made.row((0, f"{labels[name]}{colon} {values[name]}"))

    def head_one_row(self, labels: Mapping[str, str], values: Mapping[str, str], colon: str) -> None:
        names = ["order", "number", "customer"]
        self.random.shuffle(names)
        cells = [(34.0 * at, f"{labels[name]}{colon} {values[name]}") for at, name in enumerate(names)]
        self.made.row(*cells)
        self.made.row(
            (0, f"{labels['date']}{colon} {values['date']}"), (50, f"{labels['due_date']}{colon} {values['due_date']}")
        )

    def head_above(self, labels: Mapping[str, str], values: Mapping[str, str], _: str) -> None:
        names = list(labels)
        self.random.shuffle(names)
        self.made.row(*((26.0 * at, labels[name]) for at, name in enumerate(names)))
        self.made.row(*((26.0 * at, values[name]) for at, name in enumerate(names)))

    def _slashed(self, labels: Mapping[str, str], values: Mapping[str, str]) -> tuple[str, str]:
        mark = self.random.choice(("/", " / "))
        label = self.words["date"][1 if self.language != "nl" else -1]
        return f"{labels['number'].rstrip('.')}{mark}{label}", f"{values['number']}{mark}{values['date']}"

    def head_slash(self, labels: Mapping[str, str], values: Mapping[str, str], colon: str) -> None:
        label, value = self._slashed(labels, values)
        apart = self.random.random() < 0.5
        self.made.row((0, f"{labels['customer']}{colon} {values['customer']}"))
        self.made.row(*([(0, label + colon), (40, value)] if apart else [(0, f"{label}{colon} {value}")]))
        self.made.row((0, f"{labels['order']}{colon} {values['order']}"))

    def head_slash_above(self, labels: Mapping[str, str], values: Mapping[str, str], _: str) -> None:
        label, value = self._slashed(labels, values)
        self.made.row((0, labels["order"]), (30, label), (80, labels["customer"]))
        self.made.row((0, values["order"]), (30, value), (80, values["customer"]))

    def _items(self) -> None:
        count = self.random.choice((1, 2, 3))
        amounts = [Decimal(self.random.randrange(2000, 200_000)) / 100 for _ in range(count)]
        self.amounts = amounts
        if self.random.random() < 0.7:
            self.made.row((0, self.words["columns"][0]), (70, self.words["columns"][1]))
        for amount, item in zip(amounts, self.words["item"], strict=False):
            self.made.row((0, item), (70, self.money(amount)))
        self.net = sum(amounts, Decimal(0))
        self._sum_up(self.net)

    def _sum_up(self, taxed: Decimal) -> None:
        self.tax = (taxed * self.rate / 100).quantize(_CENT)
        self.gross = taxed + self.tax
        self.made.truth |= {"subtotal": f"{self.net:.2f}", "tax": f"{self.tax:.2f}", "total": f"{self.gross:.2f}"}

    def _of_sums(self, names: Sequence[str] = ("net", "tax", "gross")) -> Iterator[tuple[str, str]]:
        values = {"net": self.net, "tax": self.tax, "gross": self.gross}
        for name in names:
            yield self.word(name), self.money(values[name])

    def stacked(self, names: Sequence[str] = ("net", "tax", "gross")) -> None:
        for label, value in self._of_sums(names):
            self.made.row((44, label), (70, value))

    def inline(self) -> None:
        colon = self.random.choice((":", " :", ""))
        for label, value in self._of_sums():
            self.made.row((0, f"{label}{colon} {value}"))

    def total_first(self) -> None:
        self.stacked(self.random.choice((("gross", "tax", "net"), ("gross", "net", "tax"), ("tax", "net", "gross"))))

    def deposit(self) -> None:
        self.stacked()
        paid = (self.gross * Decimal(self.random.choice((2, 3, 5))) / 10).quantize(_CENT)
        sign = self.random.choice(("", "-"))
        self.made.row((44, self.word("paid")), (70, sign + self.money(paid)))
        self.made.row((44, self.word("due")), (70, self.money(self.gross - paid)))

    def above(self) -> None:
        cells = list(self._of_sums())
        self.made.row(*((30.0 * at, label) for at, (label, _) in enumerate(cells)))
        self.made.row(*((30.0 * at + self.random.choice((0, 4)), value) for at, (_, value) in enumerate(cells)))

    def row(self) -> None:
        self.made.row(*((34.0 * at, f"{label} {value}") for at, (label, value) in enumerate(self._of_sums())))

    def _by_rate(self) -> list[tuple[Decimal, Decimal, Decimal]]:
        other = Decimal(self.random.randrange(2000, 90_000)) / 100
        self.made.row((0, self.words["item"][0]), (70, self.money(other)))
        taxes = [(self.net * self.rate / 100).quantize(_CENT), (other * self.low / 100).quantize(_CENT)]
        parts = [(self.rate, self.net, taxes[0]), (self.low, other, taxes[1])]
        self.net, self.tax = self.net + other, sum(taxes, Decimal(0))
        self.gross = self.net + self.tax
        self.made.truth |= {"subtotal": f"{self.net:.2f}", "tax": f"{self.tax:.2f}", "total": f"{self.gross:.2f}"}
        return parts

    def rates(self) -> None:
        parts = self._by_rate()
        words = self.words
        heads = (words["tax"][0].replace("{r}", "").strip(" %"), words["net"][0], words["tax"][-1], words["gross"][-2])
        self.made.row(*((22.0 * at, text) for at, text in enumerate(heads)))
        for rate, net, tax in parts:
            cells = (f"{rate} %", self.money(net), self.money(tax), self.money(net + tax))
            self.made.row(*((22.0 * at, text) for at, text in enumerate(cells)))
        self.stacked()

    def rows_of_rates(self) -> None:
        parts = self._by_rate()
        self.made.row((44, self.word("net")), (70, self.money(self.net)))
        label = self.random.choice([each for each in self.words["tax"] if "{r}" in each])
        for rate, _, tax in parts:
            self.made.row((44, label.replace("{r}", str(rate))), (70, self.money(tax)))
        self.made.row((44, self.word("gross")), (70, self.money(self.gross)))

    def beside(self) -> None:
        beside = ("IBAN: DE89 3704 0044 0532 0130 00", "BIC: COBADEFFXXX", "www.example.com")
        for text, (label, value) in zip(beside, self._of_sums(), strict=True):
            self.made.row((0, text), (44, label), (70, value))

    def adjusted(self) -> None:
        self.made.row((44, self.word("net")), (70, self.money(self.net)))
        taxed = self.net
        for name, share in (("discount", Decimal("-0.1")), ("shipping", Decimal("0.05"))):
            if self.random.random() < 0.7:
                amount = (self.net * share).quantize(_CENT)
                taxed += amount
                sign = "-" if amount < 0 and self.random.random() < 0.7 else ""
                self.made.row((44, self.word(name)), (70, sign + self.money(abs(amount))))
        self._sum_up(taxed)
        self.stacked(("tax", "gross"))


_LAYOUTS: Mapping[str, Callable[[InvoiceWriter], None]] = {
    "stacked": InvoiceWriter.stacked,
    "inline": InvoiceWriter.inline,
    "total_first": InvoiceWriter.total_first,
    "deposit": InvoiceWriter.deposit,
    "above": InvoiceWriter.above,
    "rates": InvoiceWriter.rates,
    "beside": InvoiceWriter.beside,
    "adjusted": InvoiceWriter.adjusted,
    "rows_of_rates": InvoiceWriter.rows_of_rates,
    "row": InvoiceWriter.row,
}
LAYOUTS = tuple(_LAYOUTS)
"""Where the sums stand: labels left of the values; in one line with them; the total first; with a deposit; labels
above; a table by tax rate; beside the bank account; with a discount and shipping; a row a rate and no sum of the taxes;
all in one row.
"""
_HEADS = {
    "lines": InvoiceWriter.head_lines,
    "one_row": InvoiceWriter.head_one_row,
    "above": InvoiceWriter.head_above,
    "slash": InvoiceWriter.head_slash,
    "slash_above": InvoiceWriter.head_slash_above,
}
HEADS = tuple(_HEADS)
"""Where number and date stand: a line each, in one row with other numbers, below their labels, as 8010/26.06.2025."""


def _of(language: str, layout: str, head: str, random: Random) -> MadeInvoice:
    return InvoiceWriter(language, layout, head, random).write(_LAYOUTS[layout])


def made_invoices(
    languages: Sequence[str], layouts: Sequence[str], heads: Sequence[str], seed: int
) -> Iterator[MadeInvoice]:
    """An invoice for each language and layout, with the heads in turn."""
    random = Random(seed)
    for at, language in enumerate(languages):
        for place, layout in enumerate(layouts):
            yield _of(language, layout, heads[(at + place) % len(heads)], random)
