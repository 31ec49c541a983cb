/** Renders runs as tasks of A2A, the protocol between agents, in its versions 1.0 and 0.3, and reads its messages. */

import { isJsonObject, type JsonObject } from '#agent/core/parse-json.ts'

export type A2aVersion = '1.0' | '0.3'

/** A task is a run, and a context a session. */
export type TaskIds = { readonly taskId: string; readonly contextId: string }

type TaskState = 'submitted' | 'working' | 'input-required' | 'completed' | 'failed' | 'canceled'

/** The fields of a run that a task shows. */
export type TaskRun = {
  readonly run_id: string
  readonly session_id: string
  readonly status: string
  readonly output?: string | null
  readonly error?: string | null
  readonly started_at?: string | null
  readonly ended_at?: string | null
}

const states: Readonly<Record<string, TaskState>> = {
  queued: 'submitted',
  waiting: 'input-required',
  completed: 'completed',
  failed: 'failed',
  cancelled: 'canceled',
}

const stateOf = (status: string): TaskState => (Object.hasOwn(states, status) ? states[status] : undefined) ?? 'working'

export const hasTaskEnded = ({ status }: TaskRun): boolean => ['completed', 'failed', 'cancelled'].includes(status)

const renderState = (version: A2aVersion, state: TaskState): string =>
  version === '0.3' ? state : `TASK_STATE_${state.toUpperCase().replace('-', '_')}`

/** The states that a task of version 1.0 can have here. */
export const stateNames: ReadonlySet<string> = new Set(
  (['submitted', 'working', 'input-required', 'completed', 'failed', 'canceled'] as const).map((state) =>
    renderState('1.0', state),
  ),
)

const renderText = (version: A2aVersion, text: string): JsonObject => ({
  ...(version === '0.3' && { kind: 'text' }),
  text,
})

export type TaskMessage = { readonly by: 'user' | 'agent'; readonly messageId: string; readonly text: string }

export const renderMessage = (
  version: A2aVersion,
  { taskId, contextId }: TaskIds,
  { by, messageId, text }: TaskMessage,
): JsonObject => ({
  ...(version === '0.3' ? { kind: 'message', role: by } : { role: `ROLE_${by.toUpperCase()}` }),
  messageId,
  taskId,
  contextId,
  parts: [renderText(version, text)],
})

const artifactId = 'answer'
const renderArtifact = (version: A2aVersion, text: string): JsonObject => ({
  artifactId,
  parts: [renderText(version, text)],
})

type Status = {
  readonly state: TaskState
  readonly said?: string | null | undefined
  readonly at?: string | null | undefined
}

const renderStatus = (version: A2aVersion, ids: TaskIds, { state, said, at }: Status): JsonObject => ({
  state: renderState(version, state),
  ...(said && {
    message: renderMessage(version, ids, { by: 'agent', messageId: `${ids.taskId}-status`, text: said }),
  }),
  ...(at && { timestamp: at }),
})

export const idsOf = ({ run_id: taskId, session_id: contextId }: Pick<TaskRun, 'run_id' | 'session_id'>): TaskIds => ({
  taskId,
  contextId,
})

type TaskDetails = {
  /** The question that the run waits with. */
  readonly asked?: string | undefined
  readonly history?: readonly JsonObject[]
}

export function renderTask(version: A2aVersion, run: TaskRun, { asked, history = [] }: TaskDetails = {}): JsonObject {
  const { output, error, status, ended_at: ended, started_at: started } = run
  const state = stateOf(status)
  const ids = idsOf(run)
  return {
    ...(version === '0.3' && { kind: 'task' }),
    id: ids.taskId,
    contextId: ids.contextId,
    status: renderStatus(version, ids, {
      state,
      said: state === 'input-required' ? asked : error,
      at: ended ?? started,
    }),
    ...(output && { artifacts: [renderArtifact(version, output)] }),
    ...(history.length && { history }),
  }
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/** Describes what a run waits for. Another agent answers questions; a call is allowed by people alone. */
export const describeWait = ({ type, question, tool }: JsonObject): string =>
  type === 'question.request'
    ? textOf(question)
    : `The call of ${textOf(tool) || 'a tool'} waits for the approval of a person.`

/** Renders the events of one run as updates of its task. */
export class TaskRenderer {
  readonly #version: A2aVersion
  readonly #ids: TaskIds
  #hasText = false
  /** The task has ended, or waits for an answer. */
  isOver = false

  constructor(version: A2aVersion, ids: TaskIds) {
    this.#version = version
    this.#ids = ids
  }

  render(event: JsonObject): readonly JsonObject[] {
    if (this.isOver) return []
    const { type, delta, output, error, exit_reason: reason } = event
    switch (type) {
      case 'message.delta':
        return this.#addText(textOf(delta))
      case 'turn.restarted':
        this.#hasText = false
        return []
      case 'question.request':
      case 'approval.request':
        return this.#end({ state: 'input-required', said: describeWait(event) })
      case 'run.completed':
        return [...this.#replaceText(textOf(output)), ...this.#end({ state: 'completed' })]
      case 'run.failed':
        return this.#end({ state: 'failed', said: textOf(error) || textOf(reason) || 'The run has failed.' })
      case 'run.cancelled':
        return this.#end({ state: 'canceled' })
      default:
        return []
    }
  }

  #addText(text: string): readonly JsonObject[] {
    if (!text) return []
    const append = this.#hasText
    this.#hasText = true
    return [this.#artifact(text, { append, lastChunk: false })]
  }

  /** Text that was streamed before a tool call is no part of the answer. */
  #replaceText(text: string): readonly JsonObject[] {
    return text ? [this.#artifact(text, { append: false, lastChunk: true })] : []
  }

  #artifact(text: string, more: { readonly append: boolean; readonly lastChunk: boolean }): JsonObject {
    const update = { ...this.#ids, artifact: renderArtifact(this.#version, text), ...more }
    return this.#version === '0.3' ? { kind: 'artifact-update', ...update } : { artifactUpdate: update }
  }

  #end(status: Status): readonly JsonObject[] {
    this.isOver = true
    const update = { ...this.#ids, status: renderStatus(this.#version, this.#ids, status) }
    return [this.#version === '0.3' ? { kind: 'status-update', ...update, final: true } : { statusUpdate: update }]
  }
}

/** A message of another agent. `unsupported`: the kind of a part that is not read. */
export type A2aMessage = {
  readonly messageId: string | undefined
  readonly contextId: string | undefined
  readonly taskId: string | undefined
  readonly text: string
  /** JSON that the agent passes on, such as a mail or a result. Empty when there is none. */
  readonly data: string
  readonly unsupported: string | undefined
}

const optional = (value: unknown): string | undefined => (typeof value === 'string' && value ? value : undefined)

/** Undefined for a value that is no message. */
export function readA2aMessage(value: unknown): A2aMessage | undefined {
  if (!isJsonObject(value) || !Array.isArray(value['parts'])) return undefined
  const { messageId, contextId, taskId, parts } = value
  const read = (parts as readonly unknown[]).map(readPart)
  return {
    messageId: optional(messageId),
    contextId: optional(contextId),
    taskId: optional(taskId),
    text: joinParts(read, 'text'),
    data: joinParts(read, 'data'),
    unsupported: read.find(({ kind }) => kind === 'unsupported')?.text,
  }
}

type Part = { readonly kind: 'text' | 'data' | 'unsupported'; readonly text: string }

const joinParts = (parts: readonly Part[], wanted: Part['kind']): string =>
  parts.flatMap(({ kind, text }) => (kind === wanted ? [text] : [])).join('\n')

/** Links of files are named, so that the agent reads them with its own tools and rules. */
function readPart(part: unknown): Part {
  if (!isJsonObject(part)) return { kind: 'unsupported', text: 'a part that is no object' }
  const { text, data, url, file } = part
  if (typeof text === 'string') return { kind: 'text', text }
  if (data !== undefined) return { kind: 'data', text: JSON.stringify(data) }
  const link = url ?? (isJsonObject(file) ? file['uri'] : undefined)
  return typeof link === 'string'
    ? { kind: 'text', text: link }
    : { kind: 'unsupported', text: 'a file within the message' }
}
