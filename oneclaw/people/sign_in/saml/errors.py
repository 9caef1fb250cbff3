"""What can go wrong between OneClaw and an identity provider."""


class SamlError(Exception):
    """A sign-in or sign-out by SAML cannot go on."""


class IdentityProviderError(SamlError):
    """What the identity provider publishes cannot be read, or does not say what is needed."""


class RefusedMessageError(SamlError):
    """A message of the identity provider does not count. `reason` is a code of REASONS in single_sign_on.py."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(detail or reason)
        self.reason = reason
