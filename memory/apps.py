from django.apps import AppConfig


class MemoryConfig(AppConfig):
    name = "memory"
    verbose_name = "Memory"

    def ready(self) -> None:
        """Connect the receivers of signals, and register the wordings and the extension of the chat."""
        from chat import extensions
        from memory import leaving, receivers, wordings  # noqa: F401
        from memory.extension import MEMORY
        from memory.forgetting import spaces
        from memory.mcp.gate import McpApplication
        from memory.transfer import account
        from memory.views import palette
        from oneclaw import reasons
        from oneclaw.leaving import archive, parts
        from oneclaw.people import roles
        from oneclaw.spaces import deletion
        from oneclaw.web.mounted import mounted

        reasons.register(wordings.WORDINGS)
        extensions.register(MEMORY)
        extensions.register(palette.DOCUMENTS)
        deletion.register(spaces.PART)
        parts.register(leaving.PART)
        archive.register(account.PART)
        mounted["/mcp"] = McpApplication()
        kinds = ("view_memorydocument", "change_memorydocument", "delete_memorydocument", "view_memoryrevision")
        roles.permit(roles.Role.CURATOR, *(f"memory.{kind}" for kind in kinds))
