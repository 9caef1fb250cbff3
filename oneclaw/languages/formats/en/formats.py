"""Date and time formats of English pages, in which day and month cannot be confused; other languages have Django's."""

DATE_FORMAT = "j F Y"
MONTH_DAY_FORMAT = "j F"
SHORT_DATE_FORMAT = "j M Y"
MONTH_DAY_FORMAT = "j F"
DATETIME_FORMAT = "j M Y, H:i"
SHORT_DATETIME_FORMAT = "j M Y, H:i"
TIME_FORMAT = "H:i"
