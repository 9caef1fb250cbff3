"""The pages of further model servers: form.py has their form, saving.py stores them, pages.py shows them."""
