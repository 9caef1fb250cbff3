"""Round numbers of tokens for people, who compare sizes and need no digits."""


def in_thousands(tokens: int) -> float:
    """Return `tokens` in thousands: whole ones from 10 on, else with one decimal."""
    thousands = tokens / 1000
    return round(thousands) if thousands >= 10 else round(thousands, 1)
