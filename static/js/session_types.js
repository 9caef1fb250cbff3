// What the state of a conversation's page (session_state.js) is made of, as types: nothing here runs.

/** @import { Range } from "./pasted.js" */
/** @import { AckFrame, AgainFrame, AttachedFile, ClientFrame, CommandFrame, DoneFrame, EndedFrame, ErrorFrame, QueuedFrame, ReadyFrame } from "./frames.js" */

/**
 * A message as this browser keeps it until the server has acknowledged it. `edits` is the message that it says anew.
 * @typedef {{ client_id: string, session: string, text: string, pasted?: Range[], files?: AttachedFile[], edits?: string, mode?: string, agent?: string, space?: string, model?: string, effort?: string, memory?: string }} Message
 *
 * A message that is not acknowledged: sent (or to be sent as soon as the server can be reached), queued until an answer
 * ends or those before it are acknowledged, or refused by the server with a sentence.
 * @typedef {{ message: Message, stage: "said" | "queued" | "refused", refusal: string }} Pending
 *
 * A message in this browser's storage; `refused` is the sentence of its refusal, or "".
 * @typedef {{ message: Message, refused: string }} Kept
 *
 * @typedef {object} State
 * @property {string} session
 * @property {boolean} isNew whether only this browser knows the conversation, until its first message has arrived
 * @property {boolean} isReady whether the server has opened the session on this socket; until then messages wait
 * @property {boolean} isLost whether the page shows that there is no connection
 * @property {number} failures sockets that ended in a row without having opened the session
 * @property {boolean} isPolling whether frames go by plain requests
 * @property {boolean} doesPollingWork whether the last plain request came through
 * @property {boolean} isTaking whether the stored list is being fetched, because the one that is shown is out of date
 * @property {ReadonlyMap<string, Pending>} pending messages that are not acknowledged by their client_id, in the order in which they were written
 * @property {string | null} stopping a message of the turn that is to stop
 * @property {string | null} showing the version that is to be shown and could not be asked for yet
 * @property {AgainFrame | null} wanted what is to be answered again and is not yet
 *
 * What the page shows and this browser's storage has.
 * @typedef {object} Shown
 * @property {boolean} isRunning whether an answer grows
 * @property {string | null} runningId a message of the running turn
 * @property {boolean} isSocketOpen
 * @property {boolean} isShared whether several people write here, so that messages wait in the server's queue
 * @property {(message: string) => boolean} isLast whether nothing runs and this is the last stored message
 * @property {(message: string) => number} seqOf
 * @property {(client_id: string) => boolean} isKept whether this browser's store still has the message
 * @property {() => Kept[]} kept the stored messages of this conversation, oldest first
 *
 * @typedef {"connectionLost" | "openAgain" | "sayWanted" | "sendQueued"} Timer each sends the event of its name
 *
 * @typedef {(
 *   | { type: "socketOpened" | "socketClosed" | "signedOut" | "offline" | "online" | "pollingBack" | "restored" | "blockMissed" | Timer }
 *   | { type: "polled", works: boolean }
 *   | { type: "found", kept: Kept[] }
 *   | { type: "stored", isTaken: boolean }
 *   | { type: "send", message: Message } | { type: "edit", message: Message }
 *   | { type: "takeBack", client_id: string }
 *   | { type: "stop" }
 *   | { type: "show", message: string }
 *   | { type: "again", wanted: AgainFrame }
 *   | { type: "message", lacksNews: boolean }
 *   | ReadyFrame | QueuedFrame | AckFrame | EndedFrame | CommandFrame | DoneFrame | ErrorFrame
 * )} Event
 *
 * @typedef {"again" | "running"} Kind
 *
 * @typedef {(
 *   | { do: "say", frame: ClientFrame }
 *   | { do: "open" | "takeStored" | "startPolling" | "stopPolling" | "becomeKnown" | "chooseAnew" }
 *   | { do: "leave", next: string | null }
 *   | { do: "scrollToEnd" | "showRunning" | "tellRead" | "leaveSignedOut" }
 *   | { do: "start", timer: Timer, milliseconds: number } | { do: "cancel", timer: Timer }
 *   | { do: "keep", message: Message, isNew: boolean } | { do: "forget", client_id: string }
 *   | { do: "keepRefusal", client_id: string, text: string } | { do: "keepHomeless", client_id: string, text: string }
 *   | { do: "confirm", client_id: string, message: string, seq: number }
 *   | { do: "leaveFrom", message: string } | { do: "allowAgain", message: string, isAllowed: boolean }
 *   | { do: "tell", word: "notSent" | "running", kind: Kind } | { do: "hush", kind: Kind }
 *   | { do: "tellError", text: string } | { do: "announce", text: string }
 *   | { do: "tellCommand", command: string, text: string }
 * )} Effect
 *
 * The arguments of a transition: a copy of the state that may be changed, what the page shows, and a function that adds
 * effects.
 * @typedef {{ state: State & { pending: Map<string, Pending> }, shown: Shown, act: (...effects: Effect[]) => void }} Step
 */

export {};
