from django.apps import AppConfig


class MemoryConfig(AppConfig):
    name = "memory"
    verbose_name = "Memory"

    def ready(self) -> None:
        """Plug into the conversation: its tools, its prompt, its commands, its signals, its search."""
        from django.utils.translation import gettext_lazy as _

        from chat.context.per_message import companions
        from chat.context.prompt import conditions, sections
        from chat.library.providers import finders
        from chat.rendering.details import ingredients
        from chat.turns.commands import ToolCommand, tool_commands
        from chat.turns.tools import registry
        from memory import receivers, wordings  # noqa: F401
        from memory.prompt import recall, receipt
        from memory.tools import tools
        from memory.views import palette
        from oneclaw import reasons

        reasons.register(wordings.WORDINGS)

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
        finders["memory"] = palette.glimpses
