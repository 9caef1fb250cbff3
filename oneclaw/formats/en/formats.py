"""How English pages write moments; other languages have Django's own formats."""

DATETIME_FORMAT = "j M Y, H:i"
TIME_FORMAT = "H:i"
