/** Defines the metadata of a session: everything but its messages and events. It is stored as JSON in one row. */

import type { ChatOrigin, ReplyHandle } from '#agent/core/delivery.ts'
import type { FileMarksRecord, Marks } from '#agent/core/marks.ts'
import type { BackendKind } from '#agent/core/backend.ts'
import type { PromptRecord } from '#agent/core/prompt-layer.ts'
import type { MemoryProject } from '#agent/core/recall/memory.ts'
import type { Todo } from '#agent/core/tool.ts'
import type { ShellState } from '#agent/core/tool.ts'
import type { Authority } from '#agent/core/permission/authority.ts'
import type { EarlierRights } from '#agent/core/permission/contribution.ts'
import type { Settings } from '#agent/core/settings.ts'
import type { Goal } from '#agent/schedule/goal/goal.ts'
import type { Heartbeat, Loop } from '#agent/schedule/recurring/recurring.ts'
import { noUsage, type Usage } from '#agent/core/usage.ts'
import type { ChannelSettings, ProgressMode, VoiceMode } from '#channels/settings.ts'
import type { HostRecord } from '#backends/host/host-port.ts'
import type { Conversations } from './conversation-span.ts'

/** The backend that has the files of a session. Without it they are in the session's object. */
export type WorkspaceLocation = {
  readonly kind: BackendKind
  /** Backends that may still have files of this session. */
  readonly been: readonly BackendKind[]
  /** The records by which rented hosts are found again. */
  readonly memories?: Readonly<Partial<Record<BackendKind, HostRecord>>>
  /** Files that did not move when the session left a backend. They are there again when it comes back. */
  readonly left?: Readonly<Partial<Record<BackendKind, readonly string[] | undefined>>> | undefined
  /** A note about the last move of the files, for the output of the next command. */
  readonly note?: string | undefined
}

export type NewSession = {
  readonly subagent?: SubagentLink | undefined
  readonly title?: string | null | undefined
  readonly source?: string | undefined
  readonly model?: string | null | undefined
  readonly parentId?: string | null | undefined
  readonly settings?: Settings | undefined
  readonly tags?: readonly string[] | undefined
  readonly projectId?: string | undefined
  /** The chat that the session belongs to. */
  readonly origin?: ChatOrigin | undefined
  /** The run of a job that the session belongs to. */
  readonly jobRun?: string | undefined
  /** The session deletes itself after its answer. */
  readonly ephemeral?: boolean | undefined
  /** The session expires unless something continues it (docs/design/continuity.md). */
  readonly oneShot?: boolean | undefined
  /** Of the files that the session gets from its parent. */
  readonly fileMarks?: FileMarksRecord | undefined
}

/** A call that was allowed for the session, as `tool: rule`. `holder`: for whom the turn acted that asked (turn-authority.ts). */
export type SessionGrant = { readonly holder: string; readonly call: string }

/** The rights of somebody who has contributed to a conversation, from the message with this seq on. */
export type Contribution = {
  readonly seq: number
  readonly rights: EarlierRights
  /** They have put a file into the workspace. */
  readonly isFile?: boolean
}

/** The last numbers that were assigned to messages and events. */
export type LastNumbers = { readonly message: number; readonly event: number }

/** The place of a subagent in its tree, stored with its session. */
export type SubagentLink = {
  /** The run that works on the goal. */
  readonly runId: string
  /** 1 for a subagent of a conversation. */
  readonly depth: number
  /** The files of the parent are here. */
  readonly hasFiles?: true
  /** The contribution of its conversation's project. */
  readonly project?: string
  /** Messages that came too late. */
  readonly missed?: readonly string[]
}

/** `id`: of the question in the session that asks. */
export type SessionAsker = { readonly sessionId: string; readonly id: string; readonly runId: string }

/** A link under which everybody reads the conversation up to a message. */
export type Share = {
  readonly id: string
  readonly createdAt: number
  /** The last message that is shared. */
  readonly through: number
  /** Absent: it does not expire. */
  readonly expiresAt?: number
}

/** How somebody rates an answer. */
export type Rating = {
  readonly seq: number
  readonly value: 'good' | 'bad'
  readonly note?: string
  readonly at: number
  /** Of who has rated it. */
  readonly authority: Authority
  /** A review has read it. */
  readonly isReviewed?: true
}

/** The rows of a part of the conversation that was replaced, and who has contributed to them. */
export type ReplacedVersion = {
  /** The last row before it. 0: it began the conversation. */
  readonly after: number
  readonly rows: readonly number[]
  readonly contributions: readonly Contribution[]
}

/** The project of a session, with what the session has from it (session/core/project.ts). */
export type ProjectLink = {
  readonly id: string
  /** The version of the project that the session has. Absent: none yet. */
  readonly version?: number | undefined
  /** The text for the next prompt. */
  readonly text?: string
  /** The rights of everybody who has written the instructions. */
  readonly by?: readonly EarlierRights[]
  /** The hashes of its copied files, by their paths in the project. */
  readonly files?: Readonly<Record<string, string>>
}

export type ForeignChange = 'created' | 'changed' | 'deleted'

export type KnownFile = {
  /** The agent has read or written it. */
  readonly isSeen?: true
  /** On a host: of the bytes that the agent has seen. */
  readonly hash?: number
  /** On a host: when the file was last changed, by the clock of the host. */
  readonly modified?: number | undefined
  /** On a host: the name there, when the record has another form of it. */
  readonly name?: string
  /** By somebody else, since the agent has seen the file. */
  readonly change?: ForeignChange
  /** A turn has been told of the change. */
  readonly isTold?: true
}

export type CommandPeriod = { readonly from: number; readonly to: number }

export type KnownFilesRecord = {
  readonly files: Readonly<Record<string, KnownFile>>
  /** On a host: when commands of the agent ran that may have changed files. */
  readonly commands?: readonly CommandPeriod[]
}

export type SessionMetadata = Conversations & {
  /** The key or person that has created the session, as `holderOf` names it. Absent in sessions that are older than this field. */
  readonly owner?: string
  readonly subagent?: SubagentLink
  /** Sessions that wait for the answer of a run here. */
  readonly askers?: readonly SessionAsker[]
  /** Questions to other sessions, one after another, since a person has written. */
  readonly questionRounds?: number
  readonly id: string
  readonly tenantId: string
  readonly title: string | null
  readonly source: string
  readonly model: string | null
  readonly parentId: string | null
  readonly createdAt: number
  readonly settings: Settings
  /** The rights of everybody who has set the settings. */
  readonly settingsBy?: readonly EarlierRights[] | undefined
  /** The rights of everybody who has contributed to the conversations (session/core/contributions.ts). */
  readonly contributions?: readonly Contribution[]
  /** The settings passed the check of policy. Absent in sessions that are older than the check. */
  readonly isPolicyChecked?: true
  /** The system prompt: built when the first turn starts, then sent unchanged. */
  readonly prompt?: string | undefined
  /** Describes `prompt`. Absent in sessions that are older than layers. */
  readonly promptRecord?: PromptRecord | undefined
  /** The findings of the memory service for the next turn of this person, fenced. */
  readonly prefetched?: { readonly owner: string; readonly text: string } | undefined
  /** Folders whose context file a result has brought. */
  readonly hintedFolders?: readonly string[]
  /** The host of the operator, as it was found when it was asked. Empty: it did not answer the question. */
  readonly hostProbe?: string
  readonly todos: readonly Todo[]
  readonly shell?: ShellState
  /** The metadata that a client has given the session as a conversation. */
  readonly labels?: Readonly<Record<string, string>>
  /** The last event that was reported for outgoing webhooks. */
  readonly hooksThrough?: number
  /** Calls that were allowed for this session. */
  readonly grants?: readonly SessionGrant[]
  readonly machine?: WorkspaceLocation
  /**
   * The marks of what the run has read (turn/tools/mark-log.ts), and how often it has sent something without a question, by host, since
   * it holds both marks.
   */
  readonly exposure?: Marks & { readonly runId: string; readonly sent?: Readonly<Record<string, number>> }
  /** Absent in sessions that are older than marks: every file may be foreign. */
  readonly fileMarks?: FileMarksRecord
  /** Hashes of a model and an image that it has refused (workspace/refused-images.ts). */
  readonly refusedImages?: readonly string[]
  /** Files that the agent has read or written, and changes by others since (workspace/known-files.ts). */
  readonly knownFiles?: KnownFilesRecord | undefined
  /** The last seq of the history that a client repeated in its request. It was said elsewhere, so it is not searched. */
  readonly repeatedThrough?: number
  /** The usage of turns that are not in the rows: of a fork's parent, or of a rebuilt session. */
  readonly usageBefore: Usage
  /** Usage that was billed to a run after its end. */
  readonly after?: { readonly run: string; readonly usage: Usage } | undefined
  /** The goal of the session, and the prompts that come again while it is idle (self-started.ts). */
  readonly goal?: Goal | undefined
  readonly heartbeat?: Heartbeat | undefined
  readonly loop?: Loop | undefined
  /** The run whose model was told to ask how it went (turn/how-it-went.ts). */
  readonly askedHow?: string
  /** Messages up to this seq were looked at by a review (learning/start-review.ts). */
  readonly reviewedThrough?: number
  /** Runs up to this row were kept as trajectories (copies/trajectories.ts). */
  readonly trajectoriesThrough?: number | undefined
  /** Also after they were switched off. */
  readonly hasTrajectories?: true | undefined
  /** Messages from this seq on were undone, but history still has them. */
  readonly retractedFrom?: number | undefined
  /** Runs that were undone and are back: history counts their usage with their messages again. */
  readonly restoredRuns?: readonly string[] | undefined
  /** Parts of the conversation that another answer or another message has replaced (core/versions.ts). */
  readonly versions?: readonly ReplacedVersion[] | undefined
  /** The links under which the conversation is read by everybody. */
  readonly shares?: readonly Share[]
  /** How people rate answers. Absent: nobody has. */
  readonly ratings?: readonly Rating[]
  /** Only in the copy of history: a rebuilt session continues after these numbers. */
  readonly given?: LastNumbers
  /** The chat that gets every answer. */
  readonly origin?: ChatOrigin
  /** Lines of the group up to this number have been part of a turn (tenant/chats.ts). */
  readonly groupThrough?: number
  /** When the last message that waits was confirmed. */
  readonly busyNoticeAt?: number
  /** That of the last message, where nothing can be sent without one. */
  readonly lastHandle?: ReplyHandle
  /** How much of the running turn the chat shows. Absent: as the channel is set. */
  readonly progress?: ProgressMode | undefined
  /** The answers that the chat also gets as voice messages. Absent: none. */
  readonly voice?: VoiceMode | undefined
  /** The effect of a message of the chat while a turn runs. Absent: as the channel is set. */
  readonly busyMode?: ChannelSettings['busy_mode'] | undefined
  /** Answers to the chat end with model, size of the context and cost. */
  readonly hasFooter?: true | undefined
  /** A fork whose files are still being copied: it does not exist for callers yet. */
  readonly arriving?: true
  /** The run of a job that the session belongs to. */
  readonly jobRun?: string
  /** When the API changed a file the last time: a backup reads the session again. */
  readonly filesChangedAt?: number
  /** Set by a person, for lists. */
  readonly pinned?: boolean | undefined
  readonly archived?: boolean | undefined
  readonly tags?: readonly string[] | undefined
  readonly project?: ProjectLink | undefined
  /** The project of the channel, as the session has followed it. */
  readonly channelProject?: string | undefined
  readonly ephemeral?: boolean
  /** The session expires unless a second run keeps it. A change by the API removes this. */
  readonly oneShot?: boolean | undefined
  /** Only in the copy of history: when the session expires. */
  readonly expiresAt?: number | undefined
}

/** The contribution of a project to the session, or to the conversation that it works for. */
export const projectTextOf = ({ project, subagent }: SessionMetadata): string | undefined =>
  project?.text ?? subagent?.project

/** Everybody who may write in a channel has its project. */
export const memoryProjectOf = ({ project, channelProject }: SessionMetadata): MemoryProject | undefined =>
  project && { id: project.id, isGiven: project.id === channelProject }

export const createMetadata = (
  { id, tenantId }: Pick<SessionMetadata, 'id' | 'tenantId'>,
  spec: NewSession,
  { owner, now }: { readonly owner: string; readonly now: number },
): SessionMetadata => ({
  id,
  owner,
  tenantId,
  title: spec.title ?? null,
  source: spec.source ?? 'api',
  model: spec.model ?? null,
  parentId: spec.parentId ?? null,
  createdAt: now,
  settings: spec.settings ?? {},
  isPolicyChecked: true,
  todos: [],
  fileMarks: spec.fileMarks ?? {},
  usageBefore: noUsage,
  ...givenFields(spec),
})

const givenFields = ({
  origin,
  tags,
  projectId,
  ephemeral,
  oneShot,
  subagent,
  jobRun,
}: NewSession): Partial<SessionMetadata> => ({
  ...(origin && { origin }),
  ...(tags?.length && { tags }),
  ...(projectId !== undefined && { project: { id: projectId } }),
  ...(ephemeral && { ephemeral }),
  ...(oneShot && { oneShot }),
  ...(subagent && { subagent }),
  ...(jobRun !== undefined && { jobRun }),
})
