"""SQL over decisions and stored trust; may touch ``store``."""
