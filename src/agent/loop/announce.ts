/**
 * Derives the events of a commit from the difference between the turn before and after it. So no event exists without
 * a stored change. Only the deltas of a running model call are emitted directly.
 */

import { listApprovalChoices } from '#agent/core/permission/approval.ts'
import type { Event, RunEnded } from '#agent/core/event.ts'
import { maskSecrets, maskSecretsInValue } from '#agent/core/secrets/mask-secrets.ts'
import { type Message, textIn } from '#agent/core/message.ts'
import type { InboxMessage } from '#agent/core/ports.ts'
import { describeElicitation, type PendingRequest, waitsForPerson } from '#agent/core/pending-request.ts'
import {
  type Commit,
  describeRestart,
  isCancelled,
  totalUsage,
  type Stage,
  type ToolCall,
  type Turn,
  warningNote,
} from '#agent/core/turn.ts'
import { nestedEvents } from './nested.ts'

/** `drained`: the inbox messages that the commit drains. `fromSeq`: the last event before the discarded answer. */
export type AnnounceContext = {
  readonly now: number
  readonly drained: readonly InboxMessage[]
  readonly fromSeq: number
}

/** Returns the events in order. Without `before` the turn begins with this commit. */
export function announce(
  before: Turn | undefined,
  commit: Commit,
  { now, drained, fromSeq }: AnnounceContext,
): Event[] {
  const { turn, append = [], summary } = commit
  const events: Event[] = []
  if (!before) events.push({ type: 'run.started', input: lastUserText(append) })
  else events.push(...recoveryEvents(before, turn, fromSeq))
  for (const { mode, message, requestId } of drained)
    events.push({ type: 'run.steered', input: beginningOf(message), mode, ...(requestId && { request_id: requestId }) })
  if (summary !== undefined) events.push({ type: 'context.compressed' })
  events.push(...callEvents(before, commit, now))
  events.push(...segmentEvents(before, turn))
  events.push(...stageEvents(before?.stage, commit))
  return events
}

function recoveryEvents(before: Turn, turn: Turn, fromSeq: number): Event[] {
  const events: Event[] = []
  const wasInterrupted = before.crashes.total !== turn.crashes.total
  if (before.restarts.count !== turn.restarts.count)
    events.push({ type: 'turn.restarted', from_seq: fromSeq, reason: turn.restarts.reason })
  else if (wasInterrupted)
    events.push({ type: 'status', state: 'resumed', detail: `${describeRestart(before)}; the turn goes on` })
  const { fallback } = turn.route
  if (fallback && before.route.model !== turn.route.model) events.push({ type: 'provider.fallback', ...fallback })
  const known = new Set(before.notes)
  for (const note of turn.notes.filter((one) => one.did === warningNote && !known.has(one)))
    events.push({ type: 'status', state: 'warning', detail: note.why })
  const last = turn.notes.findLast(({ did }) => did !== warningNote)
  if (last && !known.has(last) && !(wasInterrupted && last.did === 'go on'))
    events.push({ type: 'status', state: 'recovering', detail: `${last.did} (${last.why})` })
  return events
}

function callEvents(before: Turn | undefined, { turn, append = [], requestId }: Commit, now: number): Event[] {
  const earlier = new Map(callsOf(before).map((call) => [call.id, call]))
  const events: Event[] = []
  for (const call of callsOf(turn)) {
    const old = earlier.get(call.id)
    earlier.delete(call.id)
    events.push(...nestedEvents(call, old, now))
    if (old?.state !== call.state) events.push(...changedCallEvents(call, old, { now, requestId }))
  }
  // A closed batch is no longer part of the turn: the commit appends its results.
  const results = new Map(append.flatMap((message) => (message.role === 'tool' ? [[message.callId, message]] : [])))
  for (const old of earlier.values()) {
    events.push(...nestedEvents(undefined, old, now))
    const result = results.get(old.id)
    if (result && old.state !== 'settled') events.push(...endEvents(old, result, { now, requestId }))
  }
  return events
}

/** `requestId` identifies the request that answered. */
type CommitContext = { readonly now: number; readonly requestId: string | undefined }

function changedCallEvents(call: ToolCall, old: ToolCall | undefined, change: CommitContext): Event[] {
  switch (call.state) {
    case 'planned':
      return old ? answerEvents(old, true, change) : []
    case 'running':
      if (call.continues) return []
      return [{ type: 'tool.started', call_id: call.id, tool: call.name, input: call.input }]
    case 'away':
      return requestEvents(call.id, call.awaits)
    case 'settled':
      return old ? endEvents(old, call.result, change) : []
  }
}

function requestEvents(id: string, awaits: PendingRequest): Event[] {
  if (awaits.kind === 'client')
    return [{ type: 'client_call.request', call_id: id, tool: awaits.tool, input: awaits.input }]
  if (!waitsForPerson(awaits)) return []
  if (awaits.kind === 'question') {
    const { question, choices, multiSelect, elicitation } = awaits
    return [
      {
        type: 'question.request',
        question_id: id,
        question,
        choices,
        multi_select: multiSelect,
        ...describeElicitation(elicitation),
      },
    ]
  }
  const { tool, input, risk, reasons, rule, since } = awaits
  return [
    {
      type: 'approval.request',
      approval_id: id,
      call_id: id,
      tool,
      // Events are stored. Readers who may approve get the exact input from the pending request.
      input: maskSecretsInValue(JSON.parse(input)),
      risk,
      reasons,
      choices: listApprovalChoices(rule),
      ...(rule !== undefined && { rule: maskSecrets(rule) }),
      created_at: since,
    },
  ]
}

/** A part of the run ends with each new entry. */
const segmentEvents = (before: Turn | undefined, { segments = [] }: Turn): Event[] =>
  segments.flatMap(({ waitsFor, usage }, segment): Event[] =>
    segment < (before?.segments?.length ?? 0) ? [] : [{ type: 'run.waiting', segment, waits_for: waitsFor, usage }],
  )

function answerEvents(old: ToolCall, isAllowed: boolean, { requestId }: CommitContext): Event[] {
  if (old.state !== 'away' || !waitsForPerson(old.awaits)) return []
  if (old.awaits.kind === 'question')
    return [{ type: 'question.answered', question_id: old.id, ...(requestId && { request_id: requestId }) }]
  return [{ type: 'approval.responded', approval_id: old.id, decision: isAllowed ? 'allow' : 'deny' }]
}

function endEvents(old: ToolCall, result: Message, change: CommitContext): Event[] {
  if (result.role !== 'tool') return []
  const duration_ms = old.state === 'running' ? Math.max(0, change.now - old.since) : 0
  const preview = textIn(result).slice(0, 200)
  if (old.state === 'away' && old.awaits.kind === 'client')
    return [{ type: 'client_call.completed', call_id: old.id, tool: result.name, failed: result.failed, preview }]
  return [
    ...answerEvents(old, false, change),
    { type: 'tool.completed', call_id: old.id, tool: result.name, failed: result.failed, duration_ms, preview },
  ]
}

function stageEvents(earlier: Stage | undefined, commit: Commit): Event[] {
  const { stage } = commit.turn
  if (earlier?.at === stage.at) return []
  if (stage.at === 'waiting') {
    const [attempt, attempts] = stage.next ?? []
    const counted = attempt !== undefined && attempts !== undefined && { attempt, attempts }
    return [{ type: 'status', state: 'waiting', detail: stage.why, until: stage.until, ...counted }]
  }
  if (stage.at === 'compressing') return [{ type: 'status', state: 'compressing' }]
  return stage.at === 'done' ? [createRunEnded(commit.turn, commit.append ?? [])] : []
}

export function createRunEnded(turn: Turn, messages: readonly Message[]): RunEnded {
  if (turn.stage.at !== 'done') throw new Error('The turn is not over.')
  const { outcome, failure } = turn.stage
  const type = outcome === 'failed' ? 'run.failed' : isCancelled(outcome) ? 'run.cancelled' : 'run.completed'
  const last = messages.findLast((message) => message.role === 'assistant')
  return {
    type,
    output: last ? textIn(last) : '',
    usage: totalUsage(turn),
    exit_reason: failure ? `failed_${failure.kind.replaceAll('-', '_')}` : outcome.replaceAll('-', '_'),
    completed: outcome === 'answered' || outcome === 'delivered',
    ...(failure && { error: failure.message || failure.kind }),
    ...(failure?.retryAfterMs !== undefined && { retry_after: Math.ceil(failure.retryAfterMs / 1_000) }),
  }
}

const callsOf = (turn: Turn | undefined) => (turn?.stage.at === 'tools' ? turn.stage.calls : [])

const lastUserText = (messages: readonly Message[]) => {
  const last = messages.findLast((message) => message.role === 'user')
  return last ? beginningOf(last) : ''
}

/** Truncates a message for an event. The transcript has the whole message. */
const beginningOf = (message: Message): string => textIn(message).slice(0, 2_000)
