from django.apps import AppConfig


class MemoryConfig(AppConfig):
    name = "memory"
    verbose_name = "Memory"

    def ready(self) -> None:
        """Connect the receivers of signals, and register what memory brings to the platform and to the chat."""
        from chat import extensions
        from memory import invariants, leaving, receivers, wordings  # noqa: F401
        from memory.extension import MEMORY, ConversationMemory
        from memory.forgetting import spaces
        from memory.mcp.gate import McpApplication
        from memory.transfer import account
        from memory.views import palette
        from oneclaw import domains
        from oneclaw.domains import Domain
        from oneclaw.people import roles
        from oneclaw.web.mounted import mounted

        domains.register(
            Domain(
                "memory",
                wordings.WORDINGS,
                invariants.INVARIANTS,
                leaving.REFERENCES,
                space=spaces.PART,
                person=leaving.PART,
                archive=account.PART,
            )
        )
        extensions.register(MEMORY)
        extensions.install_memory(ConversationMemory())
        extensions.register(palette.DOCUMENTS)
        mounted["/mcp"] = McpApplication()
        kinds = ("view_memorydocument", "change_memorydocument", "delete_memorydocument", "view_memoryrevision")
        roles.permit(roles.Role.CURATOR, *(f"memory.{kind}" for kind in kinds))
