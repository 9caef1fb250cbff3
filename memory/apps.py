from django.apps import AppConfig


class MemoryConfig(AppConfig):
    name = "memory"
    verbose_name = "Memory"

    def ready(self) -> None:
        """Plug into the conversation: its tools, its prompt, its commands, its signals, its search."""
        from django.utils.translation import gettext_lazy as _

        from chat.beside import companions
        from chat.commands import ToolCommand, tool_commands
        from chat.details import ingredients
        from chat.elsewhere import finders
        from chat.prompt import conditions, sections
        from chat.tools import registry
        from memory import glimpses, recall, receipt, receivers, tools  # noqa: F401

        for tool in (tools.SAVE, tools.SEARCH, tools.GET):
            registry.register(tool)
        sections.register("memory", 200, recall.context)
        sections.register("recall", 300, recall.guidelines)
        conditions["memory"] = recall.condition
        companions["memory"] = recall.recalled
        tool_commands["/remember"] = ToolCommand(
            "save_memory", "content", _("Save to memory"), _("I will remember that.")
        )
        ingredients["memory"] = receipt.receipt
        finders["memory"] = glimpses.glimpses
