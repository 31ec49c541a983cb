/** Converts sessions, runs and messages to the objects of the public API. */

import { listTools } from '#agent/core/facets.ts'
import { type Entry, isCompacted, type SessionRecord } from '#agent/core/history.ts'
import { maskHeaders } from '#agent/core/secrets/provider-headers.ts'
import { argumentsOf, callsIn, textIn, thinkingIn, type UserMessage } from '#agent/core/message.ts'
import { createRunEnded } from '#agent/loop/announce.ts'
import type { TurnOptions } from '#agent/core/turn-options.ts'
import {
  isCancelled,
  isWaitingForSubagents,
  modelCallUse,
  newTurn,
  timesUsed,
  totalUsage,
  type Turn,
} from '#agent/core/turn.ts'
import { toPublicTallies, toPublicUsage } from '#agent/public-api/usage.ts'
import type { AnswerFile } from '#agent/public-api/answer-attachments.ts'
import { isWaitingForCaller } from '#durable/turn/pending-requests.ts'
import type { SessionStatus } from '#durable/turn/pending-requests.ts'
import { type Conversation, isCurrent } from '#durable/storage/conversation-span.ts'
import type { SessionMetadata } from '#durable/storage/session-metadata.ts'

export const iso = (ms: number): string => new Date(ms).toISOString()

export function sessionView(record: SessionRecord, status: SessionStatus) {
  const { settings, expiresAt, pinned = false, archived = false, versions } = record.state as SessionMetadata
  return {
    id: record.id,
    title: record.title,
    source: record.source,
    status,
    model: record.model,
    created_at: iso(record.createdAt),
    updated_at: iso(record.updatedAt),
    parent_id: record.parentId,
    project_id: record.projectId ?? null,
    expires_at: expiresAt === undefined ? null : iso(expiresAt),
    pinned,
    archived,
    has_versions: !!versions?.length,
    ...facetsView(record),
    usage: toPublicUsage(record.usage),
    settings: maskHeaders(settings),
  }
}

function facetsView({ tags = [], facets }: SessionRecord) {
  return {
    message_count: facets?.messages ?? 0,
    tool_call_count: facets?.calls ?? null,
    tools: facets ? listTools(facets) : [],
    tags,
    summary: facets?.line?.text ?? null,
  }
}

export type SessionView = ReturnType<typeof sessionView>

type MessageContext = {
  readonly sessionId: string
  /** The newest one. */
  readonly summary: Entry | undefined
  /** Returns which messages belong to the current conversation. */
  readonly conversation: Conversation
}

export function messageView(
  { id, seq, runId, at, message }: Entry,
  { sessionId, summary, conversation }: MessageContext,
) {
  const thinking = message.role === 'assistant' ? thinkingIn(message) : ''
  return {
    id,
    seq,
    run_id: runId,
    role: message.role,
    content:
      message.role === 'user'
        ? userContent(message, `/api/sessions/${sessionId}/attachments/${id}`)
        : textIn(message) || null,
    ...(message.role === 'assistant' &&
      callsIn(message).length && {
        tool_calls: callsIn(message).map((call) => ({
          id: call.id,
          type: 'function',
          function: { name: call.name, arguments: argumentsOf(call) },
        })),
      }),
    ...(message.role === 'tool' && { tool_call_id: message.callId, name: message.name }),
    ...(thinking && { reasoning: thinking }),
    ...('source' in message && message.source && { source: message.source }),
    created_at: iso(at),
    compacted: !isCurrent(conversation, seq) || isCompacted(seq, summary),
  }
}
export type MessageView = ReturnType<typeof messageView>

/** Returns a string for text alone, else the parts, with images as addresses; stored ones below `attachments`. */
function userContent({ content }: UserMessage, attachments: string) {
  if (content.every((part) => part.type === 'text')) return content.map(({ text }) => text).join('')
  return content.map((part, n) =>
    part.type === 'text'
      ? { type: 'text', text: part.text }
      : {
          type: 'image_url',
          image_url: { url: part.mediaType.endsWith(';url') ? part.data : `${attachments}.${n}` },
        },
  )
}

export function runView(turn: Turn, sessionId: string, entries: readonly Entry[]) {
  const { stage } = turn
  const base = {
    run_id: turn.id,
    session_id: sessionId,
    status: statusOf(turn),
    output: null as string | null,
    usage: toPublicUsage(totalUsage(turn)),
    usage_by_model: toPublicTallies(totalUsage(turn)),
    exit_reason: null as string | null,
    completed: false,
    error: null as string | null,
    activity: activityOf(turn),
    started_at: iso(turn.startedAt) as string | null,
    ended_at: stage.at === 'done' ? iso(stage.endedAt) : null,
    steps: turn.budget.spent,
    attempts: timesUsed(turn, modelCallUse),
    waited_ms: turn.waited,
    notes: turn.notes.map(({ at, did, why }) => ({ at: iso(at), did, why })),
    attachments: [] as readonly AnswerFile[],
  }
  if (stage.at !== 'done') return base
  const end = createRunEnded(
    turn,
    entries.map(({ message }) => message),
  )
  return {
    ...base,
    output: end.output,
    exit_reason: end.exit_reason,
    completed: end.completed,
    error: end.error ?? null,
  }
}
export type RunView = ReturnType<typeof runView> & {
  /** Why parts of the answer were not delivered to the chat. */
  readonly delivery_error?: string
}

/** The view of a run that is queued behind another one. */
export const queuedRun = (
  { runId, options }: { readonly runId: string; readonly options: TurnOptions },
  sessionId: string,
): RunView => ({
  ...runView(newTurn(runId, 0, 0, options), sessionId, []),
  status: 'queued',
  activity: { doing: 'queued', since: null },
  started_at: null,
})

type RunStatus = 'queued' | 'running' | 'waiting' | 'stopping' | 'completed' | 'failed' | 'cancelled'

function statusOf({ stage, stopRequested }: Turn): RunStatus {
  if (stage.at === 'done')
    return stage.outcome === 'failed' ? 'failed' : isCancelled(stage.outcome) ? 'cancelled' : 'completed'
  if (stopRequested) return 'stopping'
  return isWaitingForCaller(stage) ? 'waiting' : 'running'
}

function activityOf({ stage, people }: Turn): {
  readonly doing: string
  readonly since: string | null
  readonly until?: string
} {
  switch (stage.at) {
    case 'calling-model':
    case 'compressing':
      return { doing: stage.at.replace('-', '_'), since: iso(stage.since) }
    case 'tools': {
      const running = stage.calls.filter((call) => call.state === 'running')
      if (isWaitingForSubagents(stage)) return { doing: 'waiting_for_subagents', since: null }
      if (!running.length)
        return { doing: 'waiting_for_a_person', since: people?.since === undefined ? null : iso(people.since) }
      const since = Math.min(...running.map((call) => (call.state === 'running' ? call.since : 0)))
      return { doing: `running ${running.map(({ name }) => name).join(', ')}`, since: iso(since) }
    }
    case 'waiting':
      return { doing: `waiting: ${stage.why}`, since: iso(stage.since), until: iso(stage.until) }
    case 'ready':
      return { doing: 'deciding', since: null }
    case 'done':
      return { doing: 'done', since: iso(stage.endedAt) }
  }
}
