"""The words of messages, which a database trigger derives from them."""

from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models

from chat.models.conversations import Message


class MessageWords(models.Model):
    """The words of a finished message, for search. Written by a database trigger (migration 0001)."""

    message = models.OneToOneField(Message, on_delete=models.CASCADE, primary_key=True, related_name="words")
    # The words in lower case, each as OWNER:WORD, so that a search reads only the words of one person.
    words = SearchVectorField()

    class Meta:
        indexes = [GinIndex(fields=["words"], name="message_words", fastupdate=False)]

    def __str__(self) -> str:
        return f"words of message {self.message_id}"
