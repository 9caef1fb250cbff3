"""The recall lab: ask memory a question, see why a line is found or not, and keep questions that must find theirs."""
