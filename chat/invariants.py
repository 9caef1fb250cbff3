"""The invariants of conversations: no message missing or stored twice, and every turn with exactly one outcome."""

from collections.abc import Iterator

from chat.attachments import disk
from chat.attachments.store import small_name
from chat.models import Attachment
from oneclaw.domains import Invariant
from oneclaw.invariants import grace_seconds, violations_by_query

NO_GAP = """
    SELECT format('session %%s counts %%s messages but has %%s, numbered %%s to %%s',
                  session.id, session.last_seq, count(message.id), min(message.seq), max(message.seq))
    FROM chat_chatsession session LEFT JOIN chat_message message ON message.session_id = session.id
    GROUP BY session.id
    HAVING count(message.id) <> session.last_seq OR count(DISTINCT message.seq) <> session.last_seq
        OR coalesce(max(message.seq), 0) <> session.last_seq
"""

STORED_ONCE = """
    SELECT format('session %%s holds client_id %%s %%s times', session_id, client_id, count(*))
    FROM chat_message WHERE client_id IS NOT NULL GROUP BY session_id, client_id HAVING count(*) > 1
"""

# A message and its first attempt are committed together, so every reader sees both.
ACKNOWLEDGED_HAS_ATTEMPT = """
    SELECT format('message %%s of session %%s was acknowledged but has no turn', message.id, message.session_id)
    FROM chat_message message
    WHERE message.role = 'user' AND message.client_id IS NOT NULL
        AND NOT EXISTS (SELECT FROM chat_turn turn WHERE turn.prompt_id = message.id)
"""

ATTEMPTS_IN_ORDER = """
    SELECT format('message %%s has %%s attempts, numbered %%s to %%s',
                  prompt_id, count(*), min(attempt), max(attempt))
    FROM chat_turn GROUP BY prompt_id
    HAVING count(*) <> max(attempt) OR count(DISTINCT attempt) <> max(attempt) OR min(attempt) <> 1
"""

# Answers and tool results alternate; only the last answer has no results after it.
ONE_ANSWER = """
    SELECT format('turn %%s has %%s answers and %%s tool results', turn.id, answers, results)
    FROM chat_turn turn CROSS JOIN LATERAL (
        SELECT count(*) FILTER (WHERE role = 'assistant') AS answers, count(*) FILTER (WHERE role = 'tool') AS results
        FROM chat_message WHERE turn_id = turn.id
    ) AS counted
    WHERE answers = 0 OR answers - results NOT IN (0, 1)
"""

ANSWER_ENDS_AS_TURN = """
    SELECT format('turn %%s is %%s but its last answer, message %%s, is %%s',
                  turn.id, turn.status, answer.id, answer.status)
    FROM chat_turn turn CROSS JOIN LATERAL (
        SELECT id, status FROM chat_message WHERE turn_id = turn.id AND role = 'assistant' ORDER BY seq DESC LIMIT 1
    ) AS answer
    WHERE turn.status <> 'running' AND answer.status <> turn.status
"""

NOTHING_RUNS_ALONE = """
    SELECT format('message %%s is running but ', message.id)
        || coalesce('turn ' || turn.id || ' is ' || turn.status, 'belongs to no turn')
    FROM chat_message message LEFT JOIN chat_turn turn ON turn.id = message.turn_id
    WHERE message.status = 'running' AND turn.status IS DISTINCT FROM 'running'
    UNION ALL
    SELECT format('turn %%s is running with %%s running messages', turn.id, count(message.id))
    FROM chat_turn turn LEFT JOIN chat_message message ON message.turn_id = turn.id AND message.status = 'running'
    WHERE turn.status = 'running' GROUP BY turn.id HAVING count(message.id) <> 1
"""

ONE_RUNNING_TURN = """
    SELECT format('session %%s has %%s running turns', session_id, count(*))
    FROM chat_turn WHERE status = 'running' GROUP BY session_id HAVING count(*) > 1
"""

FINISHED_AT_IFF_ENDED = """
    SELECT format('turn %%s is %%s and %%s a time at which it ended',
                  id, status, CASE WHEN finished_at IS NULL THEN 'lacks' ELSE 'has' END)
    FROM chat_turn WHERE (status = 'running') <> (finished_at IS NULL)
    UNION ALL
    SELECT format('message %%s is %%s and %%s a time at which it ended',
                  id, status, CASE WHEN finished_at IS NULL THEN 'lacks' ELSE 'has' END)
    FROM chat_message WHERE turn_id IS NOT NULL AND (status = 'running') <> (finished_at IS NULL)
"""

LEASES_KEPT = """
    SELECT format('turn %%s still runs, %%s s past its lease', id, round(extract(epoch FROM now() - lease_until)))
    FROM chat_turn WHERE status = 'running' AND lease_until < now() - make_interval(secs => %(grace)s)
"""

CALLS_ARE_STORED = """
    SELECT format('turn %%s has ended, and %%s of its calls of models are not rows of spend',
                  id, jsonb_array_length(unstored_calls))
    FROM chat_turn
    WHERE unstored_calls IS NOT NULL AND status <> 'running'
        AND finished_at < now() - make_interval(secs => %(grace)s)
"""

# The results of an answer's calls are in the next tool message of the turn. While that message is running, results may
# be missing.
TOOL_USES_HAVE_RESULTS = """
    WITH uses AS (
        SELECT answer.id, answer.turn_id, results.id AS results_id, results.status, results.content,
            jsonb_path_query(answer.content, '$[*] ? (@.type == "tool_use").id') AS use
        FROM chat_message answer LEFT JOIN LATERAL (
            SELECT id, status, content FROM chat_message
            WHERE turn_id = answer.turn_id AND role = 'tool' AND seq > answer.seq ORDER BY seq LIMIT 1
        ) AS results ON true
        WHERE answer.role = 'assistant' AND answer.status <> 'running'
            AND answer.content @> '[{"type": "tool_use"}]'
    )
    SELECT format('tool use %%s of message %%s has %%s results', use #>> '{}', id, found)
    FROM uses CROSS JOIN LATERAL (
        SELECT count(*) AS found
        FROM jsonb_path_query(content, '$[*] ? (@.type == "tool_result").tool_use_id') AS result WHERE result = use
    ) AS counted
    WHERE status IS DISTINCT FROM 'running' AND found <> 1
"""

RESULTS_HAVE_TOOL_USES = """
    SELECT format('message %%s holds a result of %%s, which the answer before it did not call', id, result #>> '{}')
    FROM (
        SELECT results.id, answer.content,
            jsonb_path_query(results.content, '$[*] ? (@.type == "tool_result").tool_use_id') AS result
        FROM chat_message results LEFT JOIN LATERAL (
            SELECT content FROM chat_message
            WHERE turn_id = results.turn_id AND role = 'assistant' AND seq < results.seq ORDER BY seq DESC LIMIT 1
        ) AS answer ON true
        WHERE results.role = 'tool'
    ) AS found
    WHERE NOT EXISTS (
        SELECT FROM jsonb_path_query(content, '$[*] ? (@.type == "tool_use").id') AS use WHERE use = result
    )
"""

ONE_SESSION = """
    SELECT format('message %%s of session %%s follows message %%s of session %%s',
                  message.id, message.session_id, parent.id, parent.session_id)
    FROM chat_message message JOIN chat_message parent ON parent.id = message.parent_id
    WHERE parent.session_id <> message.session_id
    UNION ALL
    SELECT format('message %%s of session %%s was written by turn %%s of session %%s',
                  message.id, message.session_id, turn.id, turn.session_id)
    FROM chat_message message JOIN chat_turn turn ON turn.id = message.turn_id
    WHERE turn.session_id <> message.session_id
    UNION ALL
    SELECT format('turn %%s of session %%s answers message %%s of session %%s',
                  turn.id, turn.session_id, prompt.id, prompt.session_id)
    FROM chat_turn turn JOIN chat_message prompt ON prompt.id = turn.prompt_id
    WHERE prompt.session_id <> turn.session_id
    UNION ALL
    SELECT format('attachment %%s of session %%s was sent with message %%s of session %%s',
                  attachment.id, attachment.session_id, message.id, message.session_id)
    FROM chat_attachment attachment JOIN chat_message message ON message.id = attachment.message_id
    WHERE attachment.session_id IS DISTINCT FROM message.session_id
        AND (attachment.session_id IS NOT NULL OR message.author_id IS NULL)
"""

# When another version is shown, the shown branch is found by following `parent_id`.
SHOWN_IS_ONE_BRANCH = """
    SELECT format('message %%s of session %%s is shown after message %%s but follows message %%s',
                  id, session_id, before, parent_id)
    FROM (
        SELECT id, session_id, parent_id, lag(id) OVER (PARTITION BY session_id ORDER BY seq, id) AS before
        FROM chat_message WHERE active
    ) AS shown
    WHERE parent_id IS DISTINCT FROM before AND NOT EXISTS (
        SELECT FROM chat_message parent WHERE parent.id = shown.parent_id AND parent.session_id <> shown.session_id
    )
"""

ONE_OWNER = """
    SELECT format('session %%s of person %%s comes from session %%s of person %%s',
                  session.id, session.owner_id, parent.id, parent.owner_id)
    FROM chat_chatsession session JOIN chat_chatsession parent ON parent.id = session.parent_id
    WHERE parent.owner_id <> session.owner_id
    UNION ALL
    SELECT format('session %%s of person %%s sees the own space %%s of person %%s',
                  session.id, session.owner_id, space.id, space.owner_id)
    FROM chat_chatsession session JOIN oneclaw_space space ON space.id = session.space_id
    WHERE space.kind IN ('own', 'agent') AND space.owner_id <> session.owner_id
    UNION ALL
    SELECT format('session %%s of person %%s is answered by agent %%s of person %%s',
                  session.id, session.owner_id, agent.id, agent.owner_id)
    FROM chat_chatsession session JOIN chat_agent agent ON agent.id = session.agent_id
    WHERE agent.owner_id <> session.owner_id
    UNION ALL
    SELECT format('person %%s was last in session %%s of person %%s', presence.user_id, session.id, session.owner_id)
    FROM chat_presence presence JOIN chat_chatsession session ON session.id = presence.session_id
    WHERE session.owner_id <> presence.user_id AND session.shared_at IS NULL AND session.shared_seq = 0
    UNION ALL
    SELECT format('attachment %%s of person %%s was sent in session %%s of person %%s',
                  attachment.id, attachment.owner_id, session.id, session.owner_id)
    FROM chat_attachment attachment JOIN chat_chatsession session ON session.id = attachment.session_id
    WHERE session.owner_id <> attachment.owner_id
"""

SUB_TASKS_END = """
    SELECT format('sub-task %%s runs, but its session %%s has no running turn', task.id, task.session_id)
    FROM chat_subtask task
    WHERE task.state = 'running' AND NOT EXISTS (
        SELECT FROM chat_turn turn WHERE turn.session_id = task.session_id
            AND (turn.status = 'running' OR turn.finished_at > now() - make_interval(secs => %(grace)s))
    )
"""

NAMED_FILES_ARE_THERE = """
    SELECT format('message %%s names attachment %%s, which its person does not have', message.id, reference ->> 'id')
    FROM chat_message message JOIN chat_chatsession session ON session.id = message.session_id
    CROSS JOIN LATERAL jsonb_path_query(message.content, '$[*] ? (@.type == "attachment")') AS reference
    WHERE message.role = 'user' AND message.content @> '[{"type": "attachment"}]' AND NOT EXISTS (
        SELECT FROM chat_attachment
        WHERE id = (reference ->> 'id')::uuid AND owner_id IN (session.owner_id, message.author_id)
    )
"""


def missing_files() -> Iterator[str]:
    """Yield a sentence for each attachment whose file is missing or has another size than its row says."""
    for file in Attachment.objects.only("owner", "size", "small_size").iterator(chunk_size=1000):
        for name, size in ((str(file.pk), file.size), (small_name(file.pk), file.small_size)):
            found = disk.size(file.owner_id, name)
            # An attachment that was removed since the query has no row any more.
            if size and found != size and Attachment.objects.filter(pk=file.pk).exists():
                yield f"the file {name} of person {file.owner_id} has {found} bytes, and {size} by its row"


# A conversation is the current one of at most one route by a unique constraint.
ROUTE_HAS_ITS_CONVERSATION = """
    SELECT format('route %%s leads to conversation %%s, which is %%s', route.id, session.id,
                  CASE WHEN session.route_id IS DISTINCT FROM route.id THEN 'of another route'
                       WHEN session.deleted_at IS NOT NULL THEN 'deleted' ELSE 'of another agent' END)
    FROM chat_sessionroute route JOIN chat_chatsession session ON session.id = route.session_id
    WHERE session.route_id IS DISTINCT FROM route.id OR session.deleted_at IS NOT NULL
        OR session.agent_id <> route.agent_id
"""

ROUTE_WAITS_TO_BE_CHECKED = """
    SELECT format('route %%s was begun at %%s and is not checked for a reset', id, started_at)
    FROM chat_sessionroute
    WHERE (started_at IS NULL) <> (check_at IS NULL) OR (started_at IS NULL) <> (last_person_at IS NULL)
        OR last_person_at < started_at
"""

INVARIANTS = [
    Invariant("a route leads to a conversation of its own", violations_by_query(ROUTE_HAS_ITS_CONVERSATION)),
    Invariant("a route in use is checked for resets", violations_by_query(ROUTE_WAITS_TO_BE_CHECKED)),
    Invariant("messages are numbered without a gap", violations_by_query(NO_GAP)),
    Invariant("a message is stored once", violations_by_query(STORED_ONCE)),
    Invariant("an acknowledged message has an attempt at an answer", violations_by_query(ACKNOWLEDGED_HAS_ATTEMPT)),
    Invariant("attempts are numbered without a gap", violations_by_query(ATTEMPTS_IN_ORDER)),
    Invariant("an attempt has one answer", violations_by_query(ONE_ANSWER)),
    Invariant("an answer ends as its turn does", violations_by_query(ANSWER_ENDS_AS_TURN)),
    Invariant("a running turn has one running message, any other none", violations_by_query(NOTHING_RUNS_ALONE)),
    Invariant("a session has one running turn at most", violations_by_query(ONE_RUNNING_TURN)),
    Invariant("what has ended has the time of its end", violations_by_query(FINISHED_AT_IFF_ENDED)),
    Invariant("no turn is past its lease", violations_by_query(LEASES_KEPT, grace=grace_seconds("chat-sweep"))),
    Invariant("an ended turn is paid for", violations_by_query(CALLS_ARE_STORED, grace=grace_seconds("chat-sweep"))),
    Invariant("a sub-task ends with its turn", violations_by_query(SUB_TASKS_END, grace=grace_seconds("chat-sweep"))),
    Invariant("a tool use has one result", violations_by_query(TOOL_USES_HAVE_RESULTS)),
    Invariant("a result has its tool use", violations_by_query(RESULTS_HAVE_TOOL_USES)),
    Invariant("an attachment has its file", missing_files),
    Invariant("a message has the files that it names", violations_by_query(NAMED_FILES_ARE_THERE)),
    Invariant("what is shown is one branch", violations_by_query(SHOWN_IS_ONE_BRANCH)),
    Invariant("what belongs together is of one session", violations_by_query(ONE_SESSION)),
    Invariant("what belongs together is of one person", violations_by_query(ONE_OWNER)),
]
