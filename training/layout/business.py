"""Names, addresses, numbers and labels of letters, invoices and forms, in the form of each country."""

from training.layout.drawing import Draw

_LABELS_TEXT = """
en|Invoice|Invoice no.|Date|Customer no.|Due date|Your reference|Bill to|Ship to|Description|Qty|Unit price|Amount|VAT|Subtotal|Total|Phone|Bank|Page|Item|Order no.|Dear Sir or Madam,|Kind regards,|Name|Address|Date of birth|Signature|City|Yes|No|Email
de|Rechnung|Rechnungsnummer|Datum|Kundennummer|Fällig am|Ihr Zeichen|Rechnungsadresse|Lieferadresse|Bezeichnung|Menge|Einzelpreis|Betrag|MwSt.|Zwischensumme|Gesamtbetrag|Telefon|Bank|Seite|Pos.|Bestellnummer|Sehr geehrte Damen und Herren,|Mit freundlichen Grüßen|Name|Anschrift|Geburtsdatum|Unterschrift|Ort|Ja|Nein|E-Mail
fr|Facture|Facture n°|Date|N° client|Échéance|Votre référence|Adresse de facturation|Adresse de livraison|Désignation|Qté|Prix unitaire|Montant|TVA|Sous-total|Total TTC|Téléphone|Banque|Page|Réf.|Commande n°|Madame, Monsieur,|Veuillez agréer nos salutations distinguées.|Nom|Adresse|Date de naissance|Signature|Ville|Oui|Non|Courriel
es|Factura|Factura n.º|Fecha|N.º de cliente|Vencimiento|Su referencia|Dirección de facturación|Dirección de envío|Descripción|Cant.|Precio|Importe|IVA|Subtotal|Total|Teléfono|Banco|Página|Ref.|Pedido n.º|Estimados señores:|Atentamente,|Nombre|Dirección|Fecha de nacimiento|Firma|Ciudad|Sí|No|Correo
it|Fattura|Fattura n.|Data|Codice cliente|Scadenza|Vs. riferimento|Intestatario|Destinazione|Descrizione|Q.tà|Prezzo unitario|Importo|IVA|Imponibile|Totale|Telefono|Banca|Pagina|Cod.|Ordine n.|Gentili Signori,|Distinti saluti|Nome|Indirizzo|Data di nascita|Firma|Città|Sì|No|E-mail
pt|Fatura|Fatura n.º|Data|N.º de cliente|Vencimento|Sua referência|Morada de faturação|Morada de entrega|Descrição|Qtd.|Preço unit.|Valor|IVA|Subtotal|Total|Telefone|Banco|Página|Ref.|Encomenda|Exmos. Senhores,|Com os melhores cumprimentos|Nome|Morada|Data de nascimento|Assinatura|Localidade|Sim|Não|E-mail
nl|Factuur|Factuurnummer|Datum|Klantnummer|Vervaldatum|Uw referentie|Factuuradres|Afleveradres|Omschrijving|Aantal|Prijs|Bedrag|Btw|Subtotaal|Totaal|Telefoon|Bank|Pagina|Art.|Ordernummer|Geachte heer, mevrouw,|Met vriendelijke groet,|Naam|Adres|Geboortedatum|Handtekening|Plaats|Ja|Nee|E-mail
pl|Faktura|Faktura nr|Data|Nr klienta|Termin płatności|Numer referencyjny|Nabywca|Odbiorca|Nazwa towaru|Ilość|Cena netto|Wartość|VAT|Razem netto|Do zapłaty|Telefon|Bank|Strona|Lp.|Zamówienie nr|Szanowni Państwo,|Z poważaniem|Imię i nazwisko|Adres|Data urodzenia|Podpis|Miejscowość|Tak|Nie|E-mail
ru|Счёт|Счёт №|Дата|Номер клиента|Срок оплаты|Ваш номер|Плательщик|Получатель|Наименование|Кол-во|Цена|Сумма|НДС|Итого|Всего к оплате|Телефон|Банк|Страница|№|Заказ №|Уважаемые господа!|С уважением|Имя|Адрес|Дата рождения|Подпись|Город|Да|Нет|Почта
zh|发票|发票号码|日期|客户编号|付款期限|参考编号|付款方|收货地址|项目名称|数量|单价|金额|税额|小计|合计|电话|开户银行|页|序号|订单编号|尊敬的先生/女士：|此致敬礼|姓名|地址|出生日期|签名|城市|是|否|邮箱
ja|請求書|請求書番号|発行日|お客様番号|支払期限|参照番号|請求先|納品先|品名|数量|単価|金額|消費税|小計|合計|電話|銀行|ページ|番号|注文番号|拝啓|敬具|氏名|住所|生年月日|署名|市|はい|いいえ|メール
fa|فاکتور|شماره فاکتور|تاریخ|شماره مشتری|سررسید|مرجع شما|خریدار|نشانی تحویل|شرح کالا|تعداد|قیمت واحد|مبلغ|مالیات|جمع|جمع کل|تلفن|بانک|صفحه|ردیف|شماره سفارش|با سلام و احترام|با تشکر|نام|نشانی|تاریخ تولد|امضا|شهر|بله|خیر|ایمیل
ar|فاتورة|رقم الفاتورة|التاريخ|رقم العميل|تاريخ الاستحقاق|مرجعكم|عنوان الفاتورة|عنوان التسليم|الوصف|الكمية|سعر الوحدة|المبلغ|الضريبة|المجموع الفرعي|الإجمالي|الهاتف|المصرف|صفحة|رقم|رقم الطلب|السادة المحترمون،|مع خالص التحية|الاسم|العنوان|تاريخ الميلاد|التوقيع|المدينة|نعم|لا|البريد
"""
_KEYS = [
    "invoice",
    "invoice_no",
    "date",
    "customer_no",
    "due",
    "reference",
    "bill_to",
    "ship_to",
    "description",
    "quantity",
    "price",
    "amount",
    "vat",
    "subtotal",
    "total",
    "phone",
    "bank",
    "page",
    "item",
    "order",
    "dear",
    "regards",
    "name",
    "address",
    "birth",
    "signature",
    "city",
    "yes",
    "no",
    "email",
]
LABELS: dict[str, dict[str, str]] = {
    line.split("|")[0]: dict(zip(_KEYS, line.split("|")[1:], strict=True)) for line in _LABELS_TEXT.strip().splitlines()
}
_PLACES = {
    "en": ("High Street", "Station Road", "Mill Lane", "Church Street", "Park Avenue"),
    "de": ("Hauptstraße", "Bahnhofstraße", "Gartenweg", "Lindenallee", "Schillerplatz"),
    "fr": ("rue de la Gare", "avenue Victor Hugo", "rue des Lilas", "place du Marché"),
    "es": ("Calle Mayor", "Avenida de la Paz", "Calle del Sol", "Plaza Nueva"),
    "it": ("Via Roma", "Via Garibaldi", "Corso Italia", "Piazza Dante"),
    "pt": ("Rua do Comércio", "Avenida da Liberdade", "Rua das Flores"),
    "nl": ("Dorpsstraat", "Stationsweg", "Kerkstraat", "Molenweg"),
    "pl": ("ul. Polna", "ul. Leśna", "ul. Szkolna", "ul. Słoneczna"),
    "ru": ("ул. Ленина", "ул. Садовая", "ул. Мира", "Невский проспект"),
    "zh": ("人民路", "中山路", "解放大道", "建设街"),
    "ja": ("本町", "中央", "桜台", "緑町"),
    "fa": ("خیابان آزادی", "خیابان ولیعصر", "خیابان حافظ"),
    "ar": ("شارع الملك فيصل", "شارع النيل", "شارع الجامعة"),
}
_CITIES = {
    "en": ("Leeds LS1 4AP", "Bristol BS1 5TR", "Portland, OR 97205", "York YO1 7HH"),
    "de": ("10115 Berlin", "70173 Stuttgart", "80331 München", "20095 Hamburg"),
    "fr": ("69003 Lyon", "75011 Paris", "44000 Nantes"),
    "es": ("28013 Madrid", "41001 Sevilla", "46002 Valencia"),
    "it": ("20121 Milano", "50122 Firenze", "10123 Torino"),
    "pt": ("1200-109 Lisboa", "4000-322 Porto"),
    "nl": ("3511 AB Utrecht", "1012 JS Amsterdam", "6511 KT Nijmegen"),
    "pl": ("00-950 Warszawa", "30-001 Kraków", "80-831 Gdańsk"),
    "ru": ("101000 Москва", "190000 Санкт-Петербург", "630099 Новосибирск"),
    "zh": ("北京市朝阳区", "上海市浦东新区", "广州市天河区"),
    "ja": ("東京都港区", "大阪市北区", "名古屋市中区"),
    "fa": ("تهران ۱۴۱۵۵", "اصفهان", "شیراز"),
    "ar": ("القاهرة ١١٥١١", "دبي", "عمّان"),
}
_FIRST = {
    "zh": ("王芳", "李伟", "张敏", "刘洋"), "ja": ("佐藤健", "鈴木花子", "田中一郎"), "fa": ("رضا احمدی", "مریم کریمی"),
    "ar": ("محمد حسن", "ليلى أحمد"), "ru": ("Иван Петров", "Анна Смирнова", "Олег Кузнецов"), "pl": ("Ewa Nowak", "Jan Kowalski"),
    "de": ("Julia Schneider", "Hans Weber", "Karin Vogel"), "fr": ("Claire Dubois", "Luc Moreau"), "es": ("Ana García", "Luis Romero"),
    "it": ("Marco Rossi", "Lucia Bianchi"), "pt": ("João Silva", "Marta Sousa"), "nl": ("Jan de Vries", "Sanne Bakker"),
    "en": ("Thomas Baker", "Emily Carter", "James Wright"),
}  # fmt: skip
_FORMS = {
    "en": ("Ltd", "Inc.", "& Sons"), "de": ("GmbH", "AG", "& Co. KG"), "fr": ("SARL", "SA", "& Fils"), "es": ("S.L.", "S.A."),
    "it": ("S.r.l.", "S.p.A."), "pt": ("Lda.", "S.A."), "nl": ("B.V.", "N.V."), "pl": ("Sp. z o.o.", "S.A."), "ru": ("ООО", "АО"),
    "zh": ("有限公司",), "ja": ("株式会社",), "fa": ("شرکت",), "ar": ("شركة",),
}  # fmt: skip
_CURRENCIES = {
    "en": ("£", "$"),
    "pl": ("zł",),
    "ru": ("₽", "руб."),
    "zh": ("¥", "元"),
    "ja": ("円", "¥"),
    "fa": ("ریال",),
    "ar": ("د.إ",),
}


def label(draw: Draw, key: str) -> str:
    return LABELS[draw.language][key]


def person(draw: Draw) -> str:
    return draw.rng.choice(_FIRST[draw.language])


def company(draw: Draw) -> str:
    name, form = draw.words(1, 2)[:26], draw.rng.choice(_FORMS[draw.language])
    return f"{form} {name}" if draw.language in {"ru", "fa", "ar"} else name + ("" if not draw.spaced else " ") + form


def street(draw: Draw) -> str:
    place, number = draw.rng.choice(_PLACES[draw.language]), draw.rng.randint(1, 190)
    return f"{number} {place}" if draw.language in {"en", "fr"} else f"{place}{' ' if draw.spaced else ''}{number}"


def city(draw: Draw) -> str:
    return draw.rng.choice(_CITIES[draw.language])


def address(draw: Draw, *, firm: bool | None = None) -> list[str]:
    """Three to five lines of an address."""
    lines = [company(draw)] if (draw.chance(0.6) if firm is None else firm) else []
    if not lines or draw.chance(0.4):
        lines.append(person(draw))
    return [*lines, street(draw), city(draw)]


def day(draw: Draw) -> str:
    """A date in the form of the country."""
    d, m, y = draw.rng.randint(1, 28), draw.rng.randint(1, 12), draw.rng.randint(1998, 2026)
    if draw.language == "en":
        return draw.pick(
            f"{m:02}/{d:02}/{y}",
            f"{d} {['January', 'March', 'May', 'June', 'August', 'October'][m % 6]} {y}",
            f"{y}-{m:02}-{d:02}",
        )
    if draw.language in {"zh", "ja"}:
        return draw.pick(f"{y}年{m}月{d}日", f"{y}/{m:02}/{d:02}")
    sign = {"fr": "/", "es": "/", "it": "/", "pt": "/", "nl": "-", "fa": "/", "ar": "/"}.get(draw.language, ".")
    return f"{d:02}{sign}{m:02}{sign}{y}"


def code(draw: Draw) -> str:
    """A number of an invoice, customer or order."""
    n = draw.rng.randint(100, 999999)
    return draw.pick(
        str(n),
        f"{draw.rng.randint(2005, 2026)}-{n % 10000:04}",
        f"{draw.pick('RE', 'INV', 'K', 'A')}{n}",
        f"{n % 1000}/{draw.rng.randint(10, 26)}",
    )


def phone(draw: Draw) -> str:
    return draw.pick(
        f"+{draw.rng.randint(1, 98)} {draw.rng.randint(10, 999)} {draw.rng.randint(10**5, 10**7)}",
        f"0{draw.rng.randint(20, 999)} / {draw.rng.randint(10**4, 10**7)}",
    )


def email(draw: Draw) -> str:
    return f"{draw.pick('info', 'office', 'kontakt', 'sales')}@{draw.pick('nordlicht', 'example', 'keller-bau', 'alpha', 'rivera')}.{draw.pick('com', 'net', 'org', 'eu')}"


def iban(draw: Draw) -> str:
    country = (
        draw.language.upper()
        if draw.language in {"de", "fr", "es", "it", "pt", "nl", "pl"}
        else draw.pick("GB", "CH", "AT")
    )
    digits = "".join(str(draw.rng.randint(0, 9)) for _ in range(20))
    return f"{country}{digits[:2]} " + " ".join(digits[i : i + 4] for i in range(2, 18, 4))


def vat_number(draw: Draw) -> str:
    country = (
        draw.language.upper()
        if draw.language in {"de", "fr", "es", "it", "pt", "nl", "pl"}
        else draw.pick("GB", "EU", "CH")
    )
    return f"{country}{draw.rng.randint(10**8, 10**9 - 1)}"


def money(draw: Draw, amount: str, *, sign: bool) -> str:
    """The amount with its currency."""
    if not sign:
        return amount
    known = _CURRENCIES.get(draw.language, ("€", "EUR"))
    currency = known[int(draw.theme.leading * 100) % len(known)]  # one for the whole page
    return f"{currency}{amount}" if currency in {"£", "$", "¥"} else f"{amount} {currency}"
