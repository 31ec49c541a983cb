/**
 * Lists the calls of objects that may run twice: those that only read, and those that carry a key or replace a whole
 * value. Calls that are not listed are never repeated once they may have run.
 */

import { type Message, textIn } from '#agent/core/message.ts'
import type { Repeat, RepeatableCalls } from './retry-calls.ts'

type ObjectOf<Namespace> = Namespace extends DurableObjectNamespace<infer Class> ? Class : never
type SessionMethods = ObjectOf<Env['SESSION']>
type TenantMethods = ObjectOf<Env['TENANT']>
type Paths<Class> = {
  [Name in keyof Class & string]: Class[Name] extends (...args: never) => unknown
    ? Name
    : `${Name}.${keyof Class[Name] & string}`
}[keyof Class & string]

const unchanged: Repeat = (args) => args

const listCalls = <Path extends string>(paths: readonly Path[]): RepeatableCalls =>
  Object.fromEntries(paths.map((path) => [path, unchanged]))

type RepeatableSubmission = {
  readonly idempotency: 'none' | 'first' | 'repeat'
  readonly message?: Message | undefined
}

/**
 * A repetition of a submission finds the run of the first try by its id. A slash command without an idempotency key is
 * not repeated: it may have acted before its run was stored.
 */
function repeatSubmission<T extends RepeatableSubmission>(submission: T): T | undefined {
  const { idempotency, message } = submission
  if (idempotency === 'none' && message && textIn(message).trimStart().startsWith('/')) return undefined
  return { ...submission, idempotency: 'repeat' }
}

const repeatSubmit: Repeat = ([submission, ...others]) => {
  const repeated = repeatSubmission(submission as RepeatableSubmission)
  return repeated && [repeated, ...others]
}

/** A stream is requested by GET, or by POST with a submission or the run to follow (session/serve-stream.ts). */
const repeatFetch: Repeat = (args) => {
  const [request, init] = args as [Request | string, RequestInit?]
  const method = init?.method ?? (request instanceof Request ? request.method : 'GET')
  if (method === 'GET') return args
  if (typeof init?.body !== 'string') return undefined
  const body = JSON.parse(init.body) as { readonly command?: RepeatableSubmission }
  const command = body.command && repeatSubmission(body.command)
  if (body.command && !command) return undefined
  return [request, { ...init, body: JSON.stringify({ ...body, ...(command && { command }) }) }]
}

export const repeatableSessionCalls: RepeatableCalls = {
  ...listCalls<Paths<SessionMethods>>([
    'info.get',
    'info.detail',
    'info.status',
    'info.context',
    'info.delete',
    'info.prune',
    'history.messages',
    'history.message',
    'history.attachment',
    'history.events',
    'history.stateAfter',
    'runs.get',
    'runs.wait',
    'runs.waitForSegment',
    'responses.get',
    'responses.locate',
    'responses.item',
    'responses.countTokens',
    'responses.inputItems',
    'openaiConversation.get',
    'openaiConversation.items',
    'openaiConversation.setLabels',
    'files.read',
    'checkpoints.list',
    'checkpoints.diff',
    'goal.get',
    'inbound.submit',
    'inbound.submitWebhook',
    'injected.submit',
    'subagents.status',
    'subagents.tree',
    'subagents.report',
    'transfer.copy',
    'transfer.copyCheckpoints',
    'transfer.export',
    'jobs.outcome',
    'access.change',
    'access.erase',
  ]),
  'runs.submit': repeatSubmit,
  'runs.submitAndWait': repeatSubmit,
  'runs.submitUntilSegment': repeatSubmit,
  fetch: repeatFetch,
}

const readsOfMemory: readonly unknown[] = ['read', 'listAll', 'pending', 'entries', 'versions']
const repeatMemory: Repeat = (args) => (readsOfMemory.includes(args[1]) ? args : undefined)
const repeatFixes: Repeat = (args) => (args[1] === 'find' || args[1] === 'list' ? args : undefined)

export const repeatableTenantCalls: RepeatableCalls = {
  ...listCalls<Paths<TenantMethods>>([
    'snapshot',
    'access.get',
    'access.setStatus',
    'access.watch',
    'access.watchWhileBusy',
    'access.unwatch',
    'access.watchers',
    'access.listSessions',
    'access.forgetSessions',
    'audit.record',
    'billing.check',
    'billing.listUse',
    'billing.settle',
    'billing.release',
    'browsers.claim',
    'browsers.release',
    'chats.setHome',
    'chats.home',
    'chats.addLine',
    'chats.linesSince',
    'chats.resolvePerson',
    'chats.claimDelivery',
    'claims.claim',
    'conversations.record',
    'conversations.find',
    'credentials.list',
    'dataKeys.get',
    'dataKeys.put',
    'deletions.start',
    'imageDescriptions.find',
    'imageDescriptions.add',
    'jobs.get',
    'jobs.list',
    'jobs.runs',
    'jobs.reportEnd',
    'keyHealth.list',
    'keyHealth.suspend',
    'keyHealth.remove',
    'limits.get',
    'limits.set',
    'limits.admitTurn',
    'limits.releaseTurn',
    'limits.settleTurn',
    'limits.setStoredBytes',
    'limits.admitBytes',
    'network.list',
    'pairing.list',
    'pending.set',
    'pending.list',
    'pending.hasQuestionFor',
    'prompt.material',
    'relay.deliver',
    'relay.setAccess',
    'push.getVapid',
    'push.putVapid',
    'push.subscribe',
    'secrets.list',
    'settings.get',
    'settings.patch',
    'skills.list',
    'skills.view',
    'skills.read',
    'windows.list',
    'windows.record',
  ]),
  'fixes.run': repeatFixes,
  'memory.run': repeatMemory,
  fetch: repeatFetch,
}

/** Starting and stopping replace the state of the socket. */
export const repeatableConnectionCalls: RepeatableCalls = listCalls([
  'start',
  'ring',
  'stop',
  'getStatus',
  'admitBot',
  'watchBot',
  'releaseBot',
  'botStatus',
])
