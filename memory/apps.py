from django.apps import AppConfig


class MemoryConfig(AppConfig):
    name = "memory"
    verbose_name = "Memory"

    def ready(self) -> None:
        """Connect the receivers of signals, and register the wordings and the extension of the chat."""
        from chat import extensions
        from memory import leaving, receivers, wordings  # noqa: F401
        from memory.extension import MEMORY, ConversationMemory
        from memory.forgetting import spaces
        from memory.transfer import account
        from memory.views import palette
        from oneclaw import reasons
        from oneclaw.leaving import archive, parts
        from oneclaw.people import roles
        from oneclaw.spaces import deletion

        reasons.register(wordings.WORDINGS)
        extensions.register(MEMORY)
        extensions.install_memory(ConversationMemory())
        extensions.register(palette.DOCUMENTS)
        deletion.register(spaces.PART)
        parts.register(leaving.PART)
        archive.register(account.PART)
        kinds = ("view_memorydocument", "change_memorydocument", "delete_memorydocument", "view_memoryrevision")
        roles.permit(roles.Role.CURATOR, *(f"memory.{kind}" for kind in kinds))
