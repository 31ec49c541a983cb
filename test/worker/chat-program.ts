/** A chat program that keeps no headers, models that reply by the words alone, and the expiry of sessions. */

import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test'
import { objectOf } from '../durable/support/object.ts'
import { calls, model, type Reply, says, until } from '../support/scripted-model.ts'
import { adminKey, bindings, call, type ErrorBody, request } from './client.ts'

export type Message = { readonly role: string; readonly content?: unknown; readonly [more: string]: unknown }
type Completion = ErrorBody & { readonly choices: readonly { readonly message: Message }[] }
type Sending = { readonly key?: string; readonly headers?: Record<string, string>; readonly fields?: object }

export const user = (content: unknown): Message => ({ role: 'user', content })
export const assistant = (content: unknown): Message => ({ role: 'assistant', content })
export const write = (path: string, content: string) => ({ name: 'write_file', input: { path, content } })
export const approvalsOf = async (key: string) =>
  (await call<{ data: { id: string }[] }>('GET', '/api/approvals', { key })).body.data

/** A chat program that keeps no headers: it sends all messages, and forgets everything else. */
export function clientOf(modelId: string, { key = adminKey, headers = {}, fields = {} }: Sending = {}) {
  const messages: Message[] = []
  // Tests of a file share the owner's tenant, and often the words.
  const apart = key === adminKey ? { user: crypto.randomUUID() } : {}
  const post = async (given: readonly Message[], more: object = {}, extra: Record<string, string> = {}) => {
    const body = { model: modelId, messages: given, ...apart, ...fields, ...more }
    const answer = await call<Completion>('POST', '/v1/chat/completions', {
      key,
      body,
      headers: { ...headers, ...extra },
    })
    const session = answer.headers.get('x-talaria-session-id') ?? ''
    const run = answer.headers.get('x-talaria-run-id') ?? ''
    return { ...answer, session, run, message: answer.body.choices?.[0]?.message as Message }
  }
  const say = async (content: string, extra: Record<string, string> = {}) => {
    messages.push(user(content))
    const answer = await post(messages, {}, extra)
    messages.push({
      role: 'assistant',
      content: answer.message.content,
      ...(answer.message['tool_calls'] ? { tool_calls: answer.message['tool_calls'] } : {}),
    })
    return answer
  }
  return { messages, post, say }
}

export const fileOf = async (session: string, path: string, key = adminKey) => {
  const answer = await request('GET', `/api/sessions/${session}/files/${path}`, { key })
  const text = await answer.text()
  return answer.status === 200 ? text : answer.status
}
/** Replies to every conversation alike: what is asked decides, not what came before. */
export const alike = (replies: Readonly<Record<string, Reply | ((step: number) => Reply)>>) =>
  model(({ messages }) => {
    const last = messages.findLastIndex(({ role }) => role === 'user')
    const reply = replies[String(messages[last]?.content)] ?? says('Yes.')
    return typeof reply === 'function' ? reply(messages.length - 1 - last) : reply
  }).id
export const writing = (path: string, content: string) => (step: number) =>
  step ? says('Written.') : calls(write(path, content))

export const dayMs = 24 * 3_600_000

/** So much time has gone by since the last turn of the session, and its alarm fires. */
export async function expire(session: string, days: number, tenant = 'default'): Promise<void> {
  const stub = objectOf(session, tenant)
  await runInDurableObject(stub, (_object, { storage: { sql } }) => {
    const at = Date.now() - days * dayMs
    sql.exec("UPDATE step SET entries = json_set(entries, '$.createdAt', ?) WHERE n = 0", at)
    sql.exec("UPDATE step SET turn = json_set(turn, '$.stage.endedAt', ?) WHERE turn IS NOT NULL", at)
  })
  await evictDurableObject(stub)
  await runDurableObjectAlarm(stub)
}

/** Waits until the tenant knows so many conversations: they are recorded beside the first model call. */
export const untilRecorded = (tenant: string, count: number) =>
  until(() =>
    runInDurableObject(bindings.TENANT.getByName(`t/${tenant}`), (_object, { storage: { sql } }) => {
      const [table] = sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'conversation'").toArray()
      return table && sql.exec<{ n: number }>('SELECT count(*) AS n FROM conversation').one().n === count
    }),
  )
