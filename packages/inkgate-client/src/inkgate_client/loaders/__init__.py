"""Documents for retrieval programs: what the loaders of LangChain and LlamaIndex share. Knows neither of them."""
