from django.apps import AppConfig


class MemoryConfig(AppConfig):
    name = "memory"
    verbose_name = "Memory"

    def ready(self) -> None:
        """Plug into the conversation: its tools."""
        from chat.tools import registry
        from memory import tools

        for tool in (tools.SAVE, tools.SEARCH, tools.GET):
            registry.register(tool)
