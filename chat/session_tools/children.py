"""Begin a sub-session: its row, its first message and its turn, within the limits."""

import datetime as dt
import uuid
from dataclasses import dataclass

from django.conf import settings
from django.db import transaction

from chat import extensions
from chat.conversations import forking, titles, transcript
from chat.conversations.keys import sub_session_key
from chat.conversations.model_choice import answers_without_memory, models_for
from chat.extensions import ToolCall, ToolError
from chat.models import Agent, ChatSession, Message, SubTask, Turn
from chat.session_tools.limits import DAY_MAX_COUNT, RUNNING_MAX_COUNT, TURN_MAX_COUNT
from chat.session_tools.offered import depth_of
from chat.session_tools.wording import task_text
from chat.turns.admission import tokens_of_tree
from chat.turns.slots import TooManyTurnsError, turn_slots
from oneclaw import llm
from oneclaw.locks import hold
from oneclaw.models import User, clock
from oneclaw.reasons import Reason


@dataclass(frozen=True)
class BegunTask:
    """A sub-task with its first message; `turn` and `answer` are None when the call had begun it before."""

    task: SubTask
    prompt: Message
    turn: Turn | None = None
    answer: Message | None = None


@transaction.atomic
def begin(call: ToolCall) -> BegunTask:
    """Store the sub-session that `call` asks for, and the turn that works on its task; the caller runs it.

    A repeated call finds what it began. Raise ToolError when a limit is reached.
    """
    asked_in = Message.objects.select_related("turn__prompt").get(pk=call.message_id or 0)
    assert asked_in.turn is not None, "A call is of an answer, and that of a turn."
    # One at a time for each person, so that two calls at once do not both take the last place.
    hold(f"sub-tasks of person {call.user.pk}")
    known = SubTask.objects.select_related("session").filter(turn=asked_in.turn, tool_use_id=call.id).first()
    if known is not None:
        return BegunTask(known, first_message(known))
    above = SubTask.objects.filter(session=call.session).select_related("root_turn").first()
    root_turn = above.root_turn if above else asked_in.turn
    budget = above.token_budget if above else settings.SPAWN_TOKENS
    refuse_if_over(call.user, asked_in.turn, root_turn, budget)
    session = new_session(call)
    copy_history(call, asked_in.turn, session)
    task = call.input["task"].strip()
    prompt = transcript.append(
        session,
        Message.Role.USER,
        content=[{"type": "text", "text": task_text(str(call.user), task)}],
        text=task,
        meta={"by": "session", "origin": str(call.session.pk), "hops": int(asked_in.turn.prompt.meta.get("hops", 0))},
    )
    turn, answer = transcript.begin_turn(session, prompt, Turn.Kind.SEND, uuid.uuid4())
    made = SubTask.objects.create(
        owner=call.user,
        turn=asked_in.turn,
        answer=asked_in,
        tool_use_id=call.id,
        parent=call.session,
        session=session,
        root_turn=root_turn,
        depth=depth_of(call.session) + 1,
        token_budget=budget,
        deadline=clock.database_now() + dt.timedelta(seconds=settings.TURN_TIMEOUT),
    )
    return BegunTask(made, prompt, turn, answer)


def first_message(task: SubTask) -> Message:
    """Return the message with the task of a sub-session."""
    messages = task.session.messages.filter(role=Message.Role.USER, seq__gt=task.session.copied_seq)
    return messages.order_by("seq").first() or task.session.messages.earliest("seq")


def refuse_if_over(user: User, turn: Turn, root_turn: Turn, budget: int) -> None:
    """Raise ToolError when one more sub-session of `turn` would exceed a limit."""
    own = SubTask.objects.filter(owner=user)
    if own.running().count() >= RUNNING_MAX_COUNT:
        raise refusal("running", f"{RUNNING_MAX_COUNT} sub-sessions run already. Wait for one of them.")
    if own.filter(turn=turn).count() >= TURN_MAX_COUNT:
        raise refusal("turn", f"One answer may begin {TURN_MAX_COUNT} sub-sessions. Do the rest yourself.")
    midnight = dt.datetime.combine(user.day(clock.read_database_time()), dt.time(), user.zone)
    if own.filter(created_at__gte=midnight).count() >= DAY_MAX_COUNT:
        raise refusal("day", f"There were {DAY_MAX_COUNT} sub-sessions today. Do the rest yourself.")
    if tokens_of_tree(root_turn.pk) >= budget:
        raise refusal("tokens", f"The sub-sessions of this answer have used their {budget:,} tokens.")
    try:
        turn_slots.refuse_if_full(user.pk)
    except TooManyTurnsError:
        raise refusal("running", "Too many answers of the person wait. Try again later.") from None


def refusal(limit: str, sentence: str) -> ToolError:
    """Return the error for a call that would exceed `limit`."""
    return ToolError("limit_reached", sentence, Reason(f"sub_session.too_many_{limit}"))


def new_session(call: ToolCall) -> ChatSession:
    """Store an empty sub-session with the agent and the model that `call` names, or those of its conversation.

    Raise ToolError when they are not available.
    """
    parent, pk = call.session, uuid.uuid4()
    agent = agent_for(call)
    model = call.input.get("model") or (parent.model if agent == parent.agent else "")
    # Its task is in the words of a model that may know a memory.
    offered = [each for each in models_for(call.user.pk) if not llm.answers_without_memory(each)]
    if model and model not in offered:
        message = f"There is no model “{model}” for this. There are: {', '.join(offered)}."
        raise ToolError("unknown_model", message, Reason("sub_session.unknown_model"))
    made = ChatSession(
        pk=pk,
        kind=ChatSession.Kind.SUB_SESSION,
        key=sub_session_key(agent.slug, call.user.pk, pk),
        owner=call.user,
        space=parent.space,
        # It reads no more than the conversation that begins it.
        memory=parent.memory,
        agent=agent,
        parent=parent,
        model=model,
        effort=parent.effort,
        # It reads memory, and writes nothing there.
        mode=ChatSession.Mode.CHAT,
        title=titles.first_words(extensions.memory().masked(call.input["task"])),
    )
    if answers_without_memory(made):
        message = f"The model of the agent “{agent.slug}” answers without memory: name another one."
        raise ToolError("unknown_model", message, Reason("sub_session.unknown_model"))
    made.save(force_insert=True)
    return made


def agent_for(call: ToolCall) -> Agent:
    """Return the agent that `call` names, or that of its conversation. Raise ToolError for another one.

    What an agent with a memory of its own knows reaches no other agent, and the other way round.
    """
    own = call.session.agent
    slug = call.input.get("agent")
    if not slug or slug == own.slug:
        return own
    shared = Agent.objects.visible_to(call.user).filter(own_memory=False)
    agent = None if own.own_memory else shared.filter(slug=slug).first()
    if agent is None:
        known = [] if own.own_memory else list(shared.values_list("slug", flat=True)[:30])
        message = f"There is no agent “{slug}” for this. There are: {', '.join(known or [own.slug])}."
        raise ToolError("unknown_agent", message, Reason("sub_session.unknown_agent"))
    return agent


def copy_history(call: ToolCall, turn: Turn, session: ChatSession) -> None:
    """Copy the messages up to that of the person that `turn` answers into the new `session`, if `call` asks for it."""
    if call.input.get("context", "isolated") != "fork":
        return
    messages = [each for each in forking.messages_through(turn.prompt) if not each.is_running]
    copies = forking.copy_messages(messages, session)
    session.last_seq = session.read_seq = session.copied_seq = len(messages)
    # Thinking is bound to the head of the conversation that it was made in.
    session.thinking_after_seq = len(messages)
    session.save(update_fields=["last_seq", "read_seq", "copied_seq", "thinking_after_seq"])
    forking.copy_rounds(call.session, messages, session, copies)
