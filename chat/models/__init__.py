"""The models of the chat: agents, conversations with their turns and messages, ratings, attachments, links, prompts,
imports, rounds, hooks, routes, schedules, sub-sessions, and what members have of shared conversations."""

from chat.models.agents import Agent, DmScope, Effort, MemoryChoice, default_agent
from chat.models.attachments import Attachment, AttachmentQuerySet, MessageFile
from chat.models.conversations import (
    ChatSession,
    ChatSessionQuerySet,
    Folder,
    Message,
    MessageQuerySet,
)
from chat.models.heads import Head
from chat.models.hooks import SwitchedOffHook
from chat.models.imports import ImportJob
from chat.models.links import SharedLink, SharedLinkQuerySet
from chat.models.message_meta import MessageMeta
from chat.models.message_words import MessageWords
from chat.models.presence import Presence
from chat.models.prompts import SavedPrompt
from chat.models.ratings import Rating
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
from chat.models.schedules import Beat, BeatQuerySet, Schedule
from chat.models.sharing.people import ListPosition, SessionMember, placed, position_of
from chat.models.sharing.queue import QueuedMessage
from chat.models.sub_tasks import RelayedMessage, SubTask
from chat.models.turns import Turn, Version, lease_end
