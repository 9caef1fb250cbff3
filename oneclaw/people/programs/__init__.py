"""Programs that act for a person, with an API key or with a sign-in of their own (OAuth): grants.py is what one may
read and write, form.py the choice of it, signing_in.py the sign-in."""
