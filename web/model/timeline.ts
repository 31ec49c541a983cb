/**
 * Reduces the history and the events of a session to what the chat shows. History only fills what is older: words on
 * the screen are replaced by their stored message at the end of a run, and by nothing else.
 */

import type { Approval, Message, Question, SessionEvent } from './types.ts'
import { type Block, stateOf, textOf, type UserBlock, type Watched } from './blocks.ts'
import { splitAttached } from './workspace-files.ts'
import { appendDelta, dropAfter, updateTool } from './live-blocks.ts'

export type Outcome = {
  readonly runId: string
  readonly kind: 'completed' | 'failed' | 'cancelled'
  readonly error?: string
}

export type RunStatus = {
  readonly state: 'waiting' | 'compressing' | 'recovering' | 'writing'
  /** A kind of failure; the tool whose call is being written. */
  readonly reason: string
  /** When the run goes on. */
  readonly until?: string
  /** The number of the next call. */
  readonly attempt?: number
  /** How many calls there are at most. */
  readonly attempts?: number
  /** Of the call so far, and its end. */
  readonly chars?: number
  readonly text?: string
}

const shownOfCall = 160

export type Timeline = {
  /** Oldest first. */
  readonly messages: readonly Message[]
  /** The cursor of the page before. null: `messages` begins with the first one. */
  readonly older: string | null
  /** The cursor of the page behind `messages`. null: they end with the newest one. */
  readonly newer: string | null
  /** Of runs whose messages are not in `messages` yet. */
  readonly live: readonly Block[]
  readonly watched: Watched
  readonly run: string | undefined
  readonly stopping: boolean
  readonly queued: readonly { readonly runId: string; readonly text: string }[]
  readonly approvals: readonly Approval[]
  readonly questions: readonly Question[]
  /** The state of the run apart from its answer. */
  readonly status: RunStatus | undefined
  readonly ended: Outcome | undefined
}

export const emptyTimeline: Timeline = {
  messages: [],
  older: null,
  newer: null,
  live: [],
  watched: {},
  run: undefined,
  stopping: false,
  queued: [],
  approvals: [],
  questions: [],
  status: undefined,
  ended: undefined,
}

/** Adds stored messages, each once, and drops the live blocks of the runs that have ended with them. */
export function addMessages(timeline: Timeline, added: readonly Message[], endedRun?: string): Timeline {
  const known = new Map(timeline.messages.map((message) => [message.seq, message]))
  for (const message of added) known.set(message.seq, message)
  const messages = [...known.values()].toSorted((one, other) => one.seq - other.seq)
  const live = timeline.live.flatMap((block) => (block.runId === endedRun ? leftOver(block, messages) : [block]))
  const watched = timeline.live.flatMap((block) => {
    if (!('ms' in block) || block.ms === undefined) return []
    const hasColours = block.kind === 'tool' && block.progress.includes('\u001B[')
    return [[block.key, { ms: block.ms, ...(hasColours && { progress: block.progress }) }] as const]
  })
  return { ...timeline, messages, live, watched: { ...timeline.watched, ...Object.fromEntries(watched) } }
}

/** A message that steered a run is part of one of its messages, or the run has ended without it. */
function leftOver(block: Block, messages: readonly Message[]): readonly Block[] {
  if (!isUnread(block)) return []
  const isTaken = messages.some((message) => message.run_id === block.runId && textOf(message).includes(block.text))
  return isTaken ? [] : [{ ...block, state: 'missed' }]
}

/** Shows again what a reload found unsent or unread. A run that is not loaded has most likely read its message. */
export function restoreUnread(timeline: Timeline, kept: readonly UserBlock[]): Timeline {
  const restore = (block: UserBlock): readonly Block[] => {
    if (block.state !== 'joining') return [block]
    const left = leftOver(block, timeline.messages)
    if (block.runId === timeline.run) return left.length ? [block] : []
    return timeline.messages.some(({ run_id: id }) => id === block.runId) ? left : []
  }
  return { ...timeline, live: [...timeline.live, ...kept.flatMap(restore)] }
}

type Sent = Pick<UserBlock, 'key' | 'text' | 'files'> & { readonly images?: readonly string[] }

/** Shows what a person has sent before the server knows of it. */
export const addSent = (timeline: Timeline, { key, images = [], ...sent }: Sent): Timeline => ({
  ...timeline,
  live: [...withoutCommands(timeline.live), { kind: 'user', key, runId: key, ...sent, images, state: 'sending' }],
})

type Answered = { readonly runId: string; readonly text: string; readonly answer: string }

/** Shows a command and its answer until the next message is sent. Neither is a part of the conversation. */
export const addCommand = (timeline: Timeline, { runId, text, answer }: Answered): Timeline => ({
  ...timeline,
  live: [
    ...withoutCommands(timeline.live),
    { kind: 'user', key: `${runId}.command`, runId, text, images: [], state: 'command' },
    { kind: 'text', key: `${runId}.answer`, runId, text: answer, marks: [] },
  ],
})

function withoutCommands(live: readonly Block[]): readonly Block[] {
  const commands = new Set(
    live.flatMap((block) => (block.kind === 'user' && block.state === 'command' ? [block.runId] : [])),
  )
  return live.filter(({ runId }) => !commands.has(runId))
}

/** Names the run of what was sent. An event may have shown it already. `joined`: it goes into a run that goes on. */
export function confirmSent(timeline: Timeline, key: string, { runId, isJoined }: Confirmed): Timeline {
  const isShown = timeline.live.some((block) => block.kind === 'user' && block.runId === runId)
  const isElsewhere =
    timeline.messages.some((message) => message.run_id === runId) || timeline.queued.some((one) => one.runId === runId)
  const live = timeline.live.flatMap((block): readonly Block[] => {
    if (block.key !== key || block.kind !== 'user' || block.state !== 'sending') return [block]
    if (isJoined) return [{ ...block, runId, state: isOver(timeline, runId) ? 'missed' : 'joining' }]
    return isShown || isElsewhere ? [] : [{ ...block, runId, state: 'sent' }]
  })
  return { ...timeline, live }
}
type Confirmed = { readonly runId: string; readonly isJoined?: boolean }

const isOver = ({ run, ended }: Timeline, runId: string): boolean =>
  ended?.runId === runId || (run !== undefined && run !== runId)

/** Messages of a person that are in no run. Only the page has them. */
export const isUnsent = (block: Block): boolean =>
  block.kind === 'user' && (block.state === 'failed' || block.state === 'missed')

/** These, and messages that a run will read. */
export const isUnread = (block: Block): block is UserBlock =>
  block.kind === 'user' && (block.state === 'joining' || isUnsent(block))

/** A message whose run an event has shown meanwhile has arrived. */
export const failSent = (timeline: Timeline, key: string): Timeline => ({
  ...timeline,
  live: timeline.live.map((block) =>
    block.key === key && block.kind === 'user' && block.state === 'sending' ? { ...block, state: 'failed' } : block,
  ),
})

/** Takes back a message that waits for the network elsewhere, unless an event has shown its run. */
export const dropSending = (timeline: Timeline, key: string): Timeline => ({
  ...timeline,
  live: timeline.live.filter((block) => block.key !== key || block.kind !== 'user' || block.state !== 'sending'),
})

export const dropBlock = (timeline: Timeline, key: string): Timeline => ({
  ...timeline,
  live: timeline.live.filter((block) => block.key !== key),
})

type Of<Type extends SessionEvent['type']> = Extract<SessionEvent, { readonly type: Type }>
type Reducers = {
  readonly [Type in SessionEvent['type']]?: (timeline: Timeline, event: Of<Type>) => Timeline
}

const endRun =
  (kind: Outcome['kind']) =>
  (timeline: Timeline, event: Of<'run.completed' | 'run.failed' | 'run.cancelled'>): Timeline => ({
    ...timeline,
    run: undefined,
    stopping: false,
    status: undefined,
    approvals: timeline.approvals.filter(({ run_id: id }) => id !== event.run_id),
    questions: timeline.questions.filter(({ run_id: id }) => id !== event.run_id),
    ended: { runId: event.run_id, kind, ...(event.error !== undefined && { error: event.error }) },
  })

const reducers: Reducers = {
  'run.started': (timeline, { run_id: runId, input = '' }) =>
    showUser(
      {
        ...timeline,
        run: runId,
        stopping: false,
        ended: undefined,
        queued: timeline.queued.filter((one) => one.runId !== runId),
      },
      runId,
      input,
    ),
  'run.queued': (timeline, { run_id: runId, input = '' }) => {
    const { text } = splitAttached(input)
    const sending = findSending(timeline.live, text)
    return {
      ...timeline,
      live: timeline.live.filter((block) => block.runId !== runId && block !== sending),
      queued: [...timeline.queued.filter((one) => one.runId !== runId), { runId, text }],
    }
  },
  'run.dequeued': (timeline, { run_id: runId }) => ({
    ...timeline,
    queued: timeline.queued.filter((one) => one.runId !== runId),
  }),
  'message.delta': (timeline, event) => ({
    ...timeline,
    status: undefined,
    live: appendDelta(timeline.live, 'text', event),
  }),
  'reasoning.delta': (timeline, event) => ({
    ...timeline,
    status: undefined,
    live: appendDelta(timeline.live, 'thinking', event),
  }),
  'tool.generating': (timeline, { tool, chars, delta }) => ({
    ...timeline,
    status: { state: 'writing', reason: tool, chars, text: delta.slice(-shownOfCall) },
  }),
  'tool.started': (timeline, event) => ({
    ...timeline,
    status: undefined,
    live: updateTool(timeline.live, event, (block) => ({
      ...block,
      input: event.input,
      state: 'running',
      startedAt: event.at,
    })),
  }),
  'tool.progress': (timeline, event) => ({
    ...timeline,
    live: updateTool(timeline.live, event, (block) => ({
      ...block,
      progress: (block.progress + event.delta).slice(-8_000),
    })),
  }),
  'tool.completed': (timeline, event) => ({
    ...timeline,
    live: updateTool(timeline.live, event, (block) => ({
      ...block,
      state: stateOf(event.preview, event.failed),
      result: event.preview,
      // A call that waits for a person does no work meanwhile, so its event has no time.
      ms: Math.max(event.duration_ms, Date.parse(event.at) - Date.parse(block.startedAt ?? event.at)),
    })),
  }),
  'approval.request': (timeline, event) => ({
    ...timeline,
    live: updateTool(timeline.live, event, (block) => ({ ...block, input: event.input })),
    approvals: [
      ...timeline.approvals.filter(({ id }) => id !== event.approval_id),
      { ...event, id: event.approval_id },
    ],
  }),
  'approval.responded': (timeline, { approval_id: decided }) => ({
    ...timeline,
    approvals: timeline.approvals.filter(({ id }) => id !== decided),
  }),
  'question.request': (timeline, event) => ({
    ...timeline,
    questions: [
      ...timeline.questions.filter(({ id }) => id !== event.question_id),
      { ...event, id: event.question_id },
    ],
  }),
  'question.answered': (timeline, { question_id: answered }) => ({
    ...timeline,
    questions: timeline.questions.filter(({ id }) => id !== answered),
  }),
  'subagent.start': (timeline, { run_id: runId, subagent_id: id, goal }) => ({
    ...timeline,
    live: [...timeline.live, { kind: 'subagent', key: `sub-${id}`, runId, session: id, goal, state: 'running' }],
  }),
  'subagent.complete': (timeline, { subagent_id: id, status }) => ({
    ...timeline,
    live: timeline.live.map((block) =>
      block.kind === 'subagent' && block.session === id ? { ...block, state: status } : block,
    ),
  }),
  // The texts of other states are for clients of the API.
  status: (timeline, { state, detail = '', until, attempt, attempts }) => ({
    ...timeline,
    status:
      state === 'waiting' || state === 'compressing' || state === 'recovering'
        ? {
            state,
            reason: detail,
            ...(until !== undefined && { until }),
            ...(attempt !== undefined && attempts !== undefined && { attempt, attempts }),
          }
        : undefined,
  }),
  'provider.fallback': (timeline, { run_id: runId, seq, from, to, reason }) => ({
    ...timeline,
    live: [...timeline.live, { kind: 'notice', key: `fallback-${seq}`, runId, text: `${from} → ${to}: ${reason}` }],
  }),
  'turn.restarted': (timeline, { run_id: runId, from_seq: from }) => ({
    ...timeline,
    live: dropAfter(timeline.live, runId, from),
  }),
  'run.steered': (timeline, { run_id: runId, seq, input }) => {
    const { text, files } = splitAttached(input)
    const block = findSending(timeline.live, text, ['sending', 'joining'])
    const sent: Block = {
      kind: 'user',
      key: `steer-${seq}`,
      images: [],
      text,
      files,
      ...block,
      runId,
      state: 'sent',
    } as Block
    const others = timeline.live.filter((one) => one !== block)
    return { ...timeline, live: [...others, sent] }
  },
  'run.completed': endRun('completed'),
  'run.failed': endRun('failed'),
  'run.cancelled': endRun('cancelled'),
}

/** Deltas of a reply that is a message already would show it twice. `step` is the number of that message. */
const isStored = ({ messages }: Timeline, event: SessionEvent): boolean =>
  (event.type === 'message.delta' || event.type === 'reasoning.delta') &&
  event.step !== undefined &&
  messages.some(({ seq }) => seq === event.step)

export function reduce(timeline: Timeline, event: SessionEvent): Timeline {
  if (isStored(timeline, event)) return timeline
  const reducer = reducers[event.type] as ((before: Timeline, one: SessionEvent) => Timeline) | undefined
  return reducer ? reducer(timeline, event) : timeline
}

/** The oldest message on its way with this text. Of a long message an event has the beginning. */
const findSending = (live: readonly Block[], text: string, states: readonly string[] = ['sending']) =>
  live.find(
    (block): block is UserBlock =>
      block.kind === 'user' &&
      states.includes(block.state) &&
      (block.text === text || (text.length >= 2_000 && block.text.startsWith(text))),
  )

/** The event of a run may come before the answer to the request that began it. */
function showUser(timeline: Timeline, runId: string, input: string): Timeline {
  const { text, files } = splitAttached(input)
  const isShown =
    timeline.live.some((block) => block.kind === 'user' && block.runId === runId) ||
    timeline.messages.some((message) => message.run_id === runId)
  if (isShown || !input) return timeline
  const sending = findSending(timeline.live, text)
  if (sending) {
    const live = timeline.live.map((block) =>
      block === sending ? { ...sending, runId, state: 'sent' as const } : block,
    )
    return { ...timeline, live }
  }
  return {
    ...timeline,
    live: [...timeline.live, { kind: 'user', key: `run-${runId}`, runId, text, files, images: [], state: 'sent' }],
  }
}
