"""SQL over replayed states and over the origins of lines that other stores sent."""
