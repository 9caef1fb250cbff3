"""Email addresses from outside: of forms, files, commands and directories."""

from django.core.validators import MaxLengthValidator, validate_email

# What a row holds, and about what a mail server takes: RFC 5321, 4.5.3.1.3, has 256 with the brackets around it.
EMAIL_MAX_CHARS = 254

validate_length = MaxLengthValidator(EMAIL_MAX_CHARS)


def check_email(email: str) -> None:
    """Raise ValidationError unless `email` is an email address that a row can hold. Pure."""
    validate_email(email)
    validate_length(email)
