"""Sign-in by SAML 2.0. The package python3-saml is an extra: only what is called imports it."""
