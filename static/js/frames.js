// The types of the frames of docs/protocol.md; no code.

/** @import { Range } from "./pasted.js" */

/**
 * An uploaded file.
 * @typedef {{ id: string, name: string, size: number, kind: string }} AttachedFile
 *
 * How an answer ended.
 * @typedef {"complete" | "stopped" | "interrupted" | "failed"} Ending
 *
 * From the browser.
 * @typedef {{ session: string | null, last_seq: number, person?: string, appends?: boolean }} OpenFields
 * @typedef {{ client_id: string, session: string, text: string, pasted?: Range[], files?: string[], mode?: string, agent?: string, space?: string, model?: string, effort?: string, memory?: string }} SendFields
 * @typedef {{ client_id: string, session: string, text: string, pasted?: Range[], message: string, model?: string, effort?: string, memory?: string }} EditFields
 * @typedef {{ type: "open" } & OpenFields} OpenFrame
 * @typedef {{ type: "send" } & SendFields} SendFrame
 * @typedef {{ type: "edit" } & EditFields} EditFrame
 * @typedef {{ type: "stop", message: string | null }} StopFrame
 * @typedef {{ type: "show", message: string }} ShowFrame
 * @typedef {{ type: "retry" | "continue", message: string, model?: string, effort?: string, memory?: string }} AgainFrame
 * @typedef {{ type: "take_back", client_id: string }} TakeBackFrame
 * @typedef {{ type: "writing" }} WritingFrame
 * @typedef {{ type: "ping" }} PingFrame
 * @typedef {OpenFrame | SendFrame | EditFrame | StopFrame | ShowFrame | AgainFrame | TakeBackFrame | WritingFrame | PingFrame} ClientFrame
 *
 * From the server.
 * @typedef {{ type: "ready", session?: string, seq?: number, reset: boolean }} ReadyFrame
 * @typedef {{ type: "ack", client_id: string, message: string, seq: number, duplicate: boolean }} AckFrame
 * @typedef {{ type: "ended", client_id: string, session: string, reason: "new" | "reset" | "end", next: string | null }} EndedFrame
 * @typedef {{ type: "command", client_id: string, session: string, command: string, text: string }} CommandFrame
 * @typedef {{ type: "message", seq: number, id: string, html: string }} MessageFrame
 * @typedef {{ type: "block", message: string, index: number, revision: number, html: string, base?: number, keep?: number }} BlockFrame
 * @typedef {{ type: "tool", message: string, id: string, name: string, state: "running" | "done" | "failed", html: string }} ToolFrame
 * @typedef {{ type: "done", message: string, status: Ending, final: boolean, usage?: object | null }} DoneFrame
 * @typedef {{ type: "notice", kind: string, html: string }} NoticeFrame
 * @typedef {{ type: "error", code: string, text: string, retry_after?: number | null, client_id?: string, message?: string }} ErrorFrame
 * @typedef {{ type: "queued", client_id: string, session: string }} QueuedFrame
 *
 * A message that waits in a shared conversation, and somebody who has it open.
 * @typedef {{ client_id: string, person: string, name: string, initials: string, text: string, files: number, pasted: Range[] }} WaitingMessage
 * @typedef {{ person: string, name: string, initials: string, writing: boolean }} PresentPerson
 * @typedef {{ type: "queue", waiting: WaitingMessage[] }} QueueFrame
 * @typedef {{ type: "presence", people: PresentPerson[] }} PresenceFrame
 * @typedef {{ type: "pong" }} PongFrame
 * @typedef {QueuedFrame | QueueFrame | PresenceFrame | ReadyFrame | AckFrame | EndedFrame | CommandFrame | MessageFrame | BlockFrame | ToolFrame | DoneFrame | NoticeFrame | ErrorFrame | PongFrame} ServerFrame
 */

export {};
