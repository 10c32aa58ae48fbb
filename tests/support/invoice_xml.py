"""A made-up invoice as XML in the form of Factur-X, and its values."""

CII = """<?xml version="1.0" encoding="UTF-8"?>
<rsm:CrossIndustryInvoice xmlns:rsm="urn:un:unece:uncefact:data:standard:CrossIndustryInvoice:100"
  xmlns:ram="urn:un:unece:uncefact:data:standard:ReusableAggregateBusinessInformationEntity:100"
  xmlns:udt="urn:un:unece:uncefact:data:standard:UnqualifiedDataType:100">
 <rsm:ExchangedDocument><ram:ID>RE-2026-7</ram:ID>
  <ram:IssueDateTime><udt:DateTimeString format="102">20260302</udt:DateTimeString></ram:IssueDateTime>
 </rsm:ExchangedDocument>
 <rsm:SupplyChainTradeTransaction>
  <ram:ApplicableHeaderTradeAgreement>
   <ram:SellerTradeParty><ram:Name>Harbour  Supplies GmbH</ram:Name>
    <ram:SpecifiedTaxRegistration><ram:ID schemeID="FC">12/345</ram:ID></ram:SpecifiedTaxRegistration>
    <ram:SpecifiedTaxRegistration><ram:ID schemeID="VA">DE136695976</ram:ID></ram:SpecifiedTaxRegistration>
   </ram:SellerTradeParty>
   <ram:BuyerTradeParty><ram:Name>Ann</ram:Name>
    <ram:SpecifiedTaxRegistration><ram:ID schemeID="VA">ATU13585627</ram:ID></ram:SpecifiedTaxRegistration>
   </ram:BuyerTradeParty>
  </ram:ApplicableHeaderTradeAgreement>
  <ram:ApplicableHeaderTradeSettlement>
   <ram:InvoiceCurrencyCode>EUR</ram:InvoiceCurrencyCode>
   <ram:SpecifiedTradeSettlementPaymentMeans><ram:PayeePartyCreditorFinancialAccount>
     <ram:IBANID>DE89370400440532013000</ram:IBANID></ram:PayeePartyCreditorFinancialAccount>
   </ram:SpecifiedTradeSettlementPaymentMeans>
   <ram:SpecifiedTradeSettlementHeaderMonetarySummation>
    <ram:TaxBasisTotalAmount>100.00</ram:TaxBasisTotalAmount>
    <ram:TaxTotalAmount currencyID="EUR">19.00</ram:TaxTotalAmount>
    <ram:GrandTotalAmount>119.00</ram:GrandTotalAmount>
   </ram:SpecifiedTradeSettlementHeaderMonetarySummation>
  </ram:ApplicableHeaderTradeSettlement>
 </rsm:SupplyChainTradeTransaction>
</rsm:CrossIndustryInvoice>"""
VALUES = {
    "number": "RE-2026-7",
    "date": "2026-03-02",
    "payee_name": "Harbour Supplies GmbH",
    "payer_name": "Ann",
    "payer_vat_id": "ATU13585627",
    "currency": "EUR",
    "iban": "DE89370400440532013000",
    "amount": "100.00",
    "tax": "19.00",
    "total": "119.00",
    "vat_id": "DE136695976",
}


def as_zugferd_1(invoice: str) -> str:
    """The invoice with the names that its parts had in ZUGFeRD 1."""
    names = {
        "CrossIndustryInvoice": "CrossIndustryDocument",
        "rsm:ExchangedDocument": "rsm:HeaderExchangedDocument",
        "rsm:SupplyChainTradeTransaction": "rsm:SpecifiedSupplyChainTradeTransaction",
        "ApplicableHeaderTradeAgreement": "ApplicableSupplyChainTradeAgreement",
        "ApplicableHeaderTradeSettlement": "ApplicableSupplyChainTradeSettlement",
        "SpecifiedTradeSettlementHeaderMonetarySummation": "SpecifiedTradeSettlementMonetarySummation",
    }
    for name, first in names.items():
        invoice = invoice.replace(name, first)
    return invoice
