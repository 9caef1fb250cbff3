"""The extension point of the chat.

In its AppConfig.ready() an app registers one object with everything that it adds to the chat:

    extensions.register(Extension("dice", tools=[Tool("roll_dice", "Roll a die.", schema, roll)]))

The chat reads the registry each time it needs it, and also runs without any extension. types.py defines the parts of an
extension, registry.py holds the registered ones. hooks.py defines the points at which an extension may change or refuse
what the chat does, and run_hooks.py asks its handlers. memory.py declares what only memory does in a conversation.
Lifecycle signals are in chat/signals.py.
"""

from chat.extensions.hooks import (
    AfterCompaction,
    BeforeAgentStart,
    BeforeCompaction,
    BeforeToolCall,
    ContextFile,
    ContextFiles,
    Hook,
    ToolResultPersist,
    TurnFinished,
)
from chat.extensions.memory import MEMORY_NAME, Memory, NoMemory, install_memory, memory, memory_for
from chat.extensions.registry import (
    field_label,
    find_tool,
    has_memory_command,
    installed,
    installed_for,
    open_work_of,
    optional_tools,
    passages_of_result,
    reader_of_results,
    register,
    tool_heading,
    tool_labels,
    tool_named,
    tool_updates,
    tools_for,
    tools_to_keep,
    unregister,
)
from chat.extensions.run_hooks import HookRun, hooks_at, run_hooks
from chat.extensions.types import (
    COMMAND_CALL_PREFIX,
    MARKS_KEY,
    AnswerLine,
    CallUpdate,
    ContextItem,
    Detail,
    Extension,
    FinishedAnswer,
    FinishedCall,
    Mention,
    MessageContext,
    PendingCall,
    Pick,
    PickingScope,
    PromptSection,
    Quote,
    Remains,
    SearchResult,
    SentPassage,
    SpaceTab,
    Tool,
    ToolCall,
    ToolCommand,
    ToolError,
    ToolResult,
    WaitingItems,
    WordedLine,
)
