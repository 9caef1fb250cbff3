from django.apps import AppConfig


class ChatConfig(AppConfig):
    name = "chat"
    verbose_name = "Conversations"

    def ready(self) -> None:
        from chat import extensions, invariants, wordings
        from chat.compaction import planning  # noqa: F401
        from chat.context.results import CHAT
        from chat.conversations import titles  # noqa: F401
        from chat.conversations.shared import (
            share,  # noqa: F401
            stopping,  # noqa: F401
        )
        from chat.library import organise, spaces  # noqa: F401
        from chat.live import revocation  # noqa: F401
        from chat.schedules.propose import SCHEDULES
        from chat.session_tools import receivers  # noqa: F401
        from chat.session_tools.extension import SESSION_TOOLS
        from chat.transfer import account, leaving
        from oneclaw import domains
        from oneclaw.domains import Domain

        domains.register(
            Domain(
                "chat",
                wordings.WORDINGS,
                invariants.INVARIANTS,
                leaving.REFERENCES,
                space=spaces.PART,
                person=leaving.PART,
                archive=account.PART,
            )
        )
        extensions.register(CHAT)
        extensions.register(SCHEDULES)
        extensions.register(SESSION_TOOLS)
        extensions.register(spaces.SPACES)
