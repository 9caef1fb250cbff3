"""The models of the chat: agents, conversations with their turns and messages, attachments, links, prompts, imports,
rounds, hooks, routes."""

from chat.models.agents import Agent, DmScope, Effort, default_agent
from chat.models.attachments import Attachment, AttachmentQuerySet, MessageFile
from chat.models.conversations import (
    ChatSession,
    ChatSessionQuerySet,
    Folder,
    Message,
    MessageQuerySet,
    MessageWords,
    Presence,
    Turn,
)
from chat.models.heads import Head
from chat.models.hooks import SwitchedOffHook
from chat.models.imports import ImportJob
from chat.models.links import SharedLink, SharedLinkQuerySet
from chat.models.prompts import SavedPrompt
from chat.models.rounds import ContextRound
from chat.models.routes import (
    RESET_MAX_MINUTES,
    IdentityCode,
    IdentityLink,
    IdentityLinkQuerySet,
    Reset,
    ResetChoice,
    ResetFields,
    SessionRoute,
    SessionRouteQuerySet,
)
from chat.models.versions import Version
