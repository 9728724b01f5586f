"""SQL over decisions and stored trust."""
