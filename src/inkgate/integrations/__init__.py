"""inkgate where people already work: thin parts on the library and the client. Nothing else imports them."""
