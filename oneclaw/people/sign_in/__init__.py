"""How people come in: passwords and their limits, second factors, single sign-on, invitations and sign-up."""
