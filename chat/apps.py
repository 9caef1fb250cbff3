from django.apps import AppConfig


class ChatConfig(AppConfig):
    name = "chat"
    verbose_name = "Conversations"

    def ready(self) -> None:
        from chat import wordings
        from chat.compaction import planning  # noqa: F401
        from chat.conversations import titles  # noqa: F401
        from chat.library import organise  # noqa: F401
        from chat.live import revocation  # noqa: F401
        from oneclaw import reasons

        reasons.register(wordings.WORDINGS)
