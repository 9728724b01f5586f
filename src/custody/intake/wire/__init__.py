"""The JSON of what imports and exports of other tools' claims answer."""
