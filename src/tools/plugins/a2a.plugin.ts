/** Calls other agents by A2A 1.0 and 0.3, by JSON-RPC: sends a message, polls the task that it becomes, and cancels it. */

import * as z from 'zod'
import { isJsonObject, type JsonObject, parseJson } from '#agent/core/parse-json.ts'
import type { TaskRequest } from '#agent/core/pending-request.ts'
import type { CallContext } from '#agent/core/tool.ts'
import { assessByRisk } from '#agent/policy/approval/approval.ts'
import { defineTool } from '../define-tool.ts'
import { fail, type ToolAnswer } from '../tool-result.ts'
import { definePlugin, type PluginHost } from './define-plugin.ts'

const toolset = 'a2a'
const maxErrorChars = 300
const maxSkills = 50
const firstPollMs = 500
const maxPollMs = 10_000
/** Polls of a task that fail one after another, before the call ends without its outcome. */
const maxFailedPolls = 5
const defaultWaitSeconds = 300
const maxWaitSeconds = 600

type Agent = { readonly name: string; readonly url: string; readonly secret?: string | undefined }
type Version = '1.0' | '0.3'
/** The interface of an agent that its card names. */
type Endpoint = { readonly agent: Agent; readonly url: string; readonly version: Version }
type Failure = { readonly error: string }
type Task = {
  readonly reply: string
  readonly context_id: string | null
  readonly task_id: string | null
  readonly state: string
}

const agentName = z.string().min(1).max(32).describe('Its name, as a2a_list shows it.')
const taskId = z.string().min(1).max(512)

const listAgents = (host: PluginHost): readonly Agent[] => host.deployment().settings.plugins?.a2a_agents ?? []

function findAgent(host: PluginHost, name: string): Agent | Failure {
  const agents = listAgents(host)
  const found = agents.find((agent) => agent.name === name)
  if (found) return found
  const known = agents.map((agent) => agent.name).join(', ')
  return { error: `There is no agent ${name}. ${known ? `There are: ${known}.` : 'plugins.a2a_agents names none.'}` }
}

type Ask = { readonly agent: Agent; readonly url: string; readonly signal: AbortSignal; readonly json?: JsonObject }

/** The token goes to the origin of the agent's address alone. */
async function ask(host: PluginHost, wish: Ask, version?: Version): Promise<JsonObject | Failure> {
  const { agent, url, signal, json } = wish
  const token = agent.secret === undefined ? '' : await host.secret(agent.secret)
  if (token === undefined)
    return { error: `There is no secret ${agent.secret}, which the agent ${agent.name} needs. Tell the user.` }
  const headers = {
    accept: 'application/json',
    ...(token && { authorization: `Bearer ${token}` }),
    ...(version && { 'a2a-version': version }),
  }
  const sent = json
    ? {
        method: 'POST' as const,
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify(json),
      }
    : { method: 'GET' as const, headers }
  try {
    return readAnswer(agent, await host.request({ url, signal, ...sent }))
  } catch (error) {
    return {
      error: `The agent ${agent.name} cannot be reached: ${error instanceof Error ? error.message : String(error)}`,
    }
  }
}

function readAnswer({ name }: Agent, { status, text }: { status: number; text: string }): JsonObject | Failure {
  const answer = parseJson(text)
  if (status >= 200 && status <= 299 && isJsonObject(answer)) return answer
  return { error: `The agent ${name} answered with status ${status}: ${text.slice(0, maxErrorChars)}` }
}

const cardAddress = (url: string): string =>
  url.endsWith('.json') ? url : `${url.replace(/\/{1,20}$/, '')}/.well-known/agent-card.json`

async function openEndpoint(
  host: PluginHost,
  name: string,
  signal: AbortSignal,
): Promise<(Endpoint & { readonly card: JsonObject }) | Failure> {
  const agent = findAgent(host, name)
  if ('error' in agent) return agent
  const card = await ask(host, { agent, url: cardAddress(agent.url), signal })
  if (isFailure(card)) return card
  const offered = chooseInterface(card)
  if (!offered) return { error: `The agent ${name} offers no JSON-RPC of A2A 1.0 or 0.3.` }
  const url = URL.parse(offered.url, agent.url)
  // A card is foreign: it leads the token of the agent nowhere else.
  if (url?.origin !== new URL(agent.url).origin)
    return { error: `The card of the agent ${name} names an address of another origin, which is not called.` }
  return { agent, url: url.href, version: offered.version, card }
}

const isFailure = (value: JsonObject | Failure | Endpoint): value is Failure =>
  'error' in value && typeof value['error'] === 'string'

const objectsIn = (value: unknown): readonly JsonObject[] => (Array.isArray(value) ? value.filter(isJsonObject) : [])
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/** The newest version first. Cards of 0.3 name one address at their top. */
function chooseInterface(card: JsonObject): { readonly url: string; readonly version: Version } | undefined {
  const offered = objectsIn(card['supportedInterfaces']).filter((one) => one['protocolBinding'] === 'JSONRPC')
  for (const [version, prefix] of [
    ['1.0', '1.'],
    ['0.3', '0.3'],
  ] as const) {
    const found = offered.find((one) => textOf(one['protocolVersion']).startsWith(prefix))
    if (found) return { url: textOf(found['url']), version }
  }
  const { url, preferredTransport = 'JSONRPC' } = card
  return typeof url === 'string' && preferredTransport === 'JSONRPC' ? { url, version: '0.3' } : undefined
}

const olderNames: Readonly<Record<string, string>> = {
  SendMessage: 'message/send',
  GetTask: 'tasks/get',
  CancelTask: 'tasks/cancel',
}

type Rpc = { readonly method: string; readonly params: JsonObject; readonly signal: AbortSignal }

async function call(host: PluginHost, { agent, url, version }: Endpoint, rpc: Rpc): Promise<JsonObject | Failure> {
  const { params, signal } = rpc
  const method = version === '0.3' ? (olderNames[rpc.method] ?? rpc.method) : rpc.method
  const answer = await ask(host, { agent, url, signal, json: { jsonrpc: '2.0', id: 1, method, params } }, version)
  if (isFailure(answer)) return answer
  const { result, error } = answer
  if (isJsonObject(result)) return result
  const { code, message } = isJsonObject(error) ? error : {}
  const reason = textOf(message).slice(0, maxErrorChars) || 'it returned no result.'
  return { error: `The agent ${agent.name} refuses${typeof code === 'number' ? ` (${code})` : ''}: ${reason}` }
}

type Wish = {
  readonly message: string
  readonly context_id?: string | undefined
  readonly task_id?: string | undefined
}

/** An agent that gets an id twice can tell that it has the message. Models number their calls anew: such an id is none. */
function renderParams(version: Version, { message, context_id: contextId, task_id: id }: Wish, messageId: string) {
  const ids = { messageId, ...(contextId && { contextId }), ...(id && { taskId: id }) }
  return version === '0.3'
    ? {
        message: { kind: 'message', role: 'user', ...ids, parts: [{ kind: 'text', text: message }] },
        configuration: { blocking: false },
      }
    : { message: { role: 'ROLE_USER', ...ids, parts: [{ text: message }] }, configuration: { returnImmediately: true } }
}

const renderPart = ({ text, data, url, file }: JsonObject): string => {
  if (typeof text === 'string') return text
  if (data !== undefined) return JSON.stringify(data)
  const link = url ?? (isJsonObject(file) ? file['uri'] : undefined)
  return typeof link === 'string' ? link : '[a file within the answer]'
}
const textIn = (message: unknown): string =>
  isJsonObject(message) ? objectsIn(message['parts']).map(renderPart).join('\n') : ''

/** Reads a task or a message, of both versions. */
function readTask(result: JsonObject): Task {
  const message = isJsonObject(result['message']) ? result['message'] : result
  if (message !== result || result['kind'] === 'message')
    return {
      reply: textIn(message),
      context_id: textOf(message['contextId']) || null,
      task_id: textOf(message['taskId']) || null,
      state: 'completed',
    }
  const task = isJsonObject(result['task']) ? result['task'] : result
  const status = isJsonObject(task['status']) ? task['status'] : {}
  const artifacts = objectsIn(task['artifacts']).map(textIn).filter(Boolean).join('\n\n')
  return {
    reply: artifacts || textIn(status['message']),
    context_id: textOf(task['contextId']) || null,
    task_id: textOf(task['id']) || null,
    state: textOf(status['state']).replace('TASK_STATE_', '').toLowerCase().replaceAll('_', '-') || 'unknown',
  }
}

const isWorking = ({ state, task_id: id }: Task): boolean => id !== null && ['submitted', 'working'].includes(state)

/** A call that waits. It is stored with the call, so that a restart loses no task. */
type Waiting = Pick<Endpoint, 'url' | 'version'> & {
  readonly task: Task
  /** Milliseconds since 1970. */
  readonly until: number
  readonly pollMs: number
  readonly failures: number
}

/** A message that is about to be sent. It is stored with the call first, so that a restart knows of it. */
type Sending = Pick<Waiting, 'url' | 'version' | 'until'> & { readonly at: 'sending'; readonly messageId: string }

type Looking = {
  readonly host: PluginHost
  readonly agent: Agent
  readonly context: Pick<CallContext, 'callId' | 'callKey' | 'signal' | 'reportProgress' | 'kept' | 'mayWaitFor'>
}

/** Waits in the turn, which outlives a restart. A program cannot go on later, so its call waits here. */
async function waitForTask(looking: Looking, waiting: Waiting): Promise<ToolAnswer> {
  const { host, agent, context } = looking
  const { task, until, pollMs } = waiting
  if (isWorking(task) && !context.signal.aborted && host.now() < until) {
    const wakesAt = Math.min(until, host.now() + pollMs)
    if (context.mayWaitFor !== 'nothing') return { later: renderWait(agent, waiting, wakesAt) }
    await host.wait(wakesAt - host.now(), context.signal)
    return lookAgain(looking, waiting)
  }
  context.kept?.delete(keptName(context))
  // The agent learns that nobody waits any more. It is a courtesy: one that cannot be reached goes on.
  if (context.signal.aborted && isWorking(task))
    await call(
      host,
      { agent, ...waiting },
      { method: 'CancelTask', params: { id: task.task_id }, signal: freshSignal() },
    )
  return render(task)
}

const freshSignal = (): AbortSignal => new AbortController().signal

/** A long reply is not stored with each look. */
function renderWait({ name: agent }: Agent, waiting: Waiting, until: number): TaskRequest {
  const workId = String(waiting.task.task_id)
  const cancel = { tool: 'a2a_task', input: JSON.stringify({ agent, task_id: workId, cancel: true }) }
  const state = JSON.stringify({ ...waiting, task: { ...waiting.task, reply: '' } } satisfies Waiting)
  return { kind: 'task', server: agent, workId, state, until, cancel }
}

const keptName = ({ callKey }: Pick<CallContext, 'callKey'>): string => `a2a ${callKey}`

const unsent = 'not sent yet'

/** The message leaves with the next run of the call, in this object. Another one does not know whether it has left. */
function renderSending(agent: string, sending: Sending, until: number, context: CallContext): TaskRequest {
  const { kept, callId } = context
  kept?.set(keptName(context), unsent)
  // Nothing has to end when the turn is stopped here.
  const cancel = { tool: 'a2a_list', input: '{}' }
  return { kind: 'task', server: agent, workId: callId, state: JSON.stringify(sending), until, cancel }
}

/** The reply so far is there unless the object was evicted. */
function readWaiting({ kept, callKey }: CallContext, { task, ...waiting }: Waiting): Waiting {
  const reply = kept?.get(keptName({ callKey }))
  return { ...waiting, task: { ...task, reply: typeof reply === 'string' ? reply : '' } }
}

type CallInput = Wish & { readonly agent: string }

async function goOn(host: PluginHost, input: CallInput, context: CallContext, state: string): Promise<ToolAnswer> {
  const { agent: name } = input
  const stored = JSON.parse(state) as Waiting | Sending
  const agent = findAgent(host, name)
  const isUnsent = context.kept?.get(keptName(context)) === unsent
  if (!('error' in agent) && new URL(agent.url).origin === new URL(stored.url).origin) {
    const looking = { host, agent, context }
    if (!('at' in stored)) return lookAgain(looking, readWaiting(context, stored))
    return isUnsent ? send(looking, input, stored) : findSent(looking, input, stored)
  }
  const gone = `The agent ${name} was removed or has moved.`
  if ('at' in stored) return fail(`${gone} ${isUnsent ? 'Nothing was sent.' : describeLost(stored)}`)
  const { context_id, task_id } = stored.task
  return fail(`${gone} Its task ${task_id} goes on there.`, { context_id, task_id })
}

async function send(
  looking: Looking,
  wish: Wish,
  { url, version, until, messageId }: Omit<Sending, 'at'>,
): Promise<ToolAnswer> {
  const { host, agent, context } = looking
  context.kept?.delete(keptName(context))
  const params = renderParams(version, wish, messageId)
  const sent = await call(host, { agent, url, version }, { method: 'SendMessage', params, signal: context.signal })
  if (isFailure(sent)) return fail(sent.error)
  const task = readTask(sent)
  if (isWorking(task)) showProgress(context, task)
  return waitForTask(looking, { task, url, version, until, pollMs: firstPollMs, failures: 0 })
}

const maxListed = 50
const describeLost = ({ messageId }: Sending): string =>
  `The system restarted while the message was being sent. It is unknown whether it arrived (its messageId is ${messageId}); check before you send it again.`

/** An agent may take a message twice, so it is not sent again. The history of its task has it. Version 0.3 lists none. */
async function findSent(looking: Looking, wish: Wish, sending: Sending): Promise<ToolAnswer> {
  const { host, agent, context } = looking
  const { url, version, until, messageId } = sending
  const { context_id: contextId, task_id: id } = wish
  const { signal } = context
  const [method, params] = id
    ? (['GetTask', { id, historyLength: maxListed }] as const)
    : (['ListTasks', { ...(contextId && { contextId }), pageSize: maxListed, historyLength: maxListed }] as const)
  const found =
    version === '0.3' && !id ? undefined : await call(host, { agent, url, version }, { method, params, signal })
  const tasks = found && !isFailure(found) ? (id ? [found] : objectsIn(found['tasks'])) : []
  const sent = tasks.find(({ history }) => objectsIn(history).some((one) => one['messageId'] === messageId))
  // Lists leave out what a task has made.
  if (sent) return lookAgain(looking, { task: readTask(sent), url, version, until, pollMs: firstPollMs, failures: 0 })
  return fail(describeLost(sending), { context_id: contextId, task_id: id })
}

async function lookAgain(looking: Looking, waiting: Waiting): Promise<ToolAnswer> {
  const { host, agent, context } = looking
  const params = { id: waiting.task.task_id, historyLength: 0 }
  const pollMs = Math.min(maxPollMs, waiting.pollMs * 1.5)
  const found = await call(host, { agent, ...waiting }, { method: 'GetTask', params, signal: context.signal })
  if (isFailure(found)) {
    const failures = waiting.failures + 1
    return failures < maxFailedPolls ? waitForTask(looking, { ...waiting, failures, pollMs }) : render(waiting.task)
  }
  const task = readTask(found)
  showProgress(context, task, waiting.task)
  return waitForTask(looking, { ...waiting, task, pollMs, failures: 0 })
}

function showProgress(context: Looking['context'], now: Task, before?: Task): void {
  const text = describeProgress(now, before)
  if (text) context.reportProgress?.(text)
  context.kept?.set(keptName(context), now.reply)
}

/** The news of a task: its state, and the rest of an answer that grows. */
function describeProgress(now: Task, before?: Task): string {
  const state = before?.state === now.state ? '' : `[task ${now.task_id}: ${now.state}]\n`
  const isGrown = before !== undefined && now.reply.startsWith(before.reply)
  return state + (isGrown ? now.reply.slice(before.reply.length) : now.reply)
}

function render(task: Task): ToolAnswer {
  if (['failed', 'rejected', 'canceled'].includes(task.state))
    return fail(`The task of the agent ended as ${task.state}: ${task.reply || 'it gave no reason.'}`, { ...task })
  const notes: Readonly<Record<string, string>> = {
    working: 'It works on. Look again with a2a_task.',
    submitted: 'It has not begun. Look again with a2a_task.',
    'input-required': 'It asks something. Answer with a2a_call, the task_id and the context_id.',
    'auth-required': 'It needs a sign-in at its side. Tell the user.',
  }
  const note = notes[task.state]
  return { ...task, ...(note && { note }) }
}

const describeSkills = (card: JsonObject) =>
  objectsIn(card['skills'])
    .slice(0, maxSkills)
    .map(({ id, name, description, tags, examples }) => ({ id, name, description, tags, examples }))

const createListTool = (host: PluginHost) =>
  defineTool({
    name: 'a2a_list',
    toolset,
    description: 'Lists the other agents that can be called.',
    input: z.object({}),
    effect: 'pure',
    risk: () => 'read',
    touches: () => 'nothing',
    run: async () => ({ agents: listAgents(host).map(({ name, url }) => ({ name, host: new URL(url).host })) }),
  })

const createDiscoverTool = (host: PluginHost) =>
  defineTool({
    name: 'a2a_discover',
    toolset,
    description: 'Shows what another agent can do: its card with its skills.',
    input: z.object({ agent: agentName }),
    effect: 'pure',
    risk: () => 'net',
    touches: () => 'nothing',
    run: async ({ agent }, { signal }) => {
      const found = await openEndpoint(host, agent, signal)
      if (isFailure(found)) return fail(found.error)
      const { name, description, version } = found.card
      return { name, description, version, protocol: found.version, skills: describeSkills(found.card) }
    },
  })

const createCallTool = (host: PluginHost) =>
  defineTool({
    name: 'a2a_call',
    toolset,
    description:
      'Sends a message to another agent and waits for its answer. It knows nothing of this conversation: say all that it needs. A context_id continues an earlier exchange; with the task_id too it answers what the agent has asked.',
    input: z.object({
      agent: agentName,
      message: z.string().min(1).max(50_000),
      context_id: z.string().max(512).optional(),
      task_id: taskId.optional(),
      wait: z.number().int().min(0).max(maxWaitSeconds).optional().describe('Seconds. Default: 300.'),
    }),
    effect: 'effect',
    risk: () => 'send',
    assess: async ({ agent, message }) => ({
      ...assessByRisk('send', [agent]),
      rule: agent,
      summary: `${agent}\n${message}`,
    }),
    touches: ({ agent }) => [`a2a:${agent}`],
    timeoutMs: ({ wait = defaultWaitSeconds }) => (wait + 60) * 1_000,
    run: async ({ agent, wait = defaultWaitSeconds, ...wish }, context) => {
      if (context.continues) return goOn(host, { agent, ...wish }, context, context.continues.state)
      const endpoint = await openEndpoint(host, agent, context.signal)
      if (isFailure(endpoint)) return fail(endpoint.error)
      const { url, version } = endpoint
      const messageId = crypto.randomUUID()
      const sending = { at: 'sending', url, version, messageId, until: host.now() + wait * 1_000 } as const
      return context.mayWaitFor === 'nothing'
        ? send({ host, agent: endpoint.agent, context }, wish, sending)
        : { later: renderSending(agent, sending, host.now(), context) }
    },
  })

const createTaskTool = (host: PluginHost) =>
  defineTool({
    name: 'a2a_task',
    toolset,
    description: 'Looks at a task of another agent again, or cancels it.',
    input: z.object({ agent: agentName, task_id: taskId, cancel: z.boolean().optional() }),
    effect: 'keyed',
    risk: ({ cancel }) => (cancel ? 'send' : 'net'),
    assess: async ({ agent, cancel }) => ({ ...assessByRisk(cancel ? 'send' : 'net', [agent]), rule: agent }),
    touches: ({ agent }) => [`a2a:${agent}`],
    run: async ({ agent, task_id: id, cancel }, { signal }) => {
      const endpoint = await openEndpoint(host, agent, signal)
      if (isFailure(endpoint)) return fail(endpoint.error)
      const found = await call(host, endpoint, { method: cancel ? 'CancelTask' : 'GetTask', params: { id }, signal })
      if (isFailure(found)) return fail(found.error)
      const task = readTask(found)
      return cancel && task.state === 'canceled' ? { ...task } : render(task)
    },
  })

export default definePlugin({
  name: 'a2a',
  createTools: (host) => [createListTool(host), createDiscoverTool(host), createCallTool(host), createTaskTool(host)],
})
