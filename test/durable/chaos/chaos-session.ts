/** Creates a session of a new tenant for chaos tests, sends messages to it, and checks its transcript. */

import { expect } from 'vitest'
import { call, newSession, newTenant } from '../../worker/client.ts'
import type { Run } from '../../worker/listen.ts'
import type { Provider } from './bytes.ts'

export type Line = {
  readonly role: 'user' | 'assistant' | 'tool'
  /** Text, or parts where there are images. */
  readonly content: string | readonly unknown[] | null
  readonly source?: string
  readonly tool_call_id?: string
  readonly tool_calls?: readonly { readonly id: string; readonly function: { readonly arguments: string } }[]
}
export type ChaosSession = { readonly id: string; readonly key: string; readonly tenant: string }

const timeouts = { first_byte_timeout: 5, idle_timeout: 5 }

/** Creates a new tenant each time, because the health of a key is shared by all sessions of a tenant. */
export async function createChaosSession({ id: model }: Provider, settings: object = {}): Promise<ChaosSession> {
  const tenant = await newTenant()
  const agent = { max_wait_seconds: 3, max_turns: 3, ...timeouts, ...(settings as { agent?: object }).agent }
  const { id } = await newSession({ model, settings: { ...settings, agent } }, tenant.key)
  return { id, key: tenant.key, tenant: tenant.id }
}

export async function sendMessage({ id, key }: ChaosSession, input: string): Promise<Run> {
  const { status: code, body } = await call<Run>('POST', `/api/sessions/${id}/chat`, { key, body: { input } })
  expect(code).toBe(200)
  return body
}

export const linesOf = async ({ id, key }: ChaosSession) =>
  (await call<{ data: Line[] }>('GET', `/api/sessions/${id}/messages?limit=200`, { key })).body.data

export const notesIn = (run: Run): readonly string[] => (run['notes'] as { did: string }[]).map(({ did }) => did)

const hasText = (content: Line['content']): boolean =>
  typeof content === 'string' ? /\S/.test(content) : Boolean(content?.length)

/** Checks that roles alternate, that every call is followed by one result, and that the last message is an answer with text. */
export function findTranscriptErrors(all: readonly Line[]): string[] {
  // A summary does not alternate: in requests it is joined with the next message.
  const lines = all.filter(({ source }) => source !== 'summary')
  const trouble: string[] = []
  let open: string[] = []
  let before = 'assistant'
  lines.forEach((line, n) => {
    if (line.role === 'tool') {
      if (open.shift() !== line.tool_call_id) trouble.push(`${n}: a result without a call`)
      return
    }
    if (open.length) trouble.push(`${n}: calls without results: ${open.join(', ')}`)
    const afterResults = lines[n - 1]?.role === 'tool'
    if (line.role === before && !afterResults) trouble.push(`${n}: two of ${line.role} in a row`)
    open = (line.tool_calls ?? []).map(({ id }) => id)
    if (new Set(open).size < open.length) trouble.push(`${n}: an id twice`)
    if (!open.length && !hasText(line.content)) trouble.push(`${n}: no text`)
    if (JSON.stringify(line.content).includes('\uFFFD')) trouble.push(`${n}: a broken character`)
    before = line.role
  })
  const last = lines.at(-1)
  if (last?.role !== 'assistant' || last.tool_calls) trouble.push('the end is no answer')
  return trouble
}

/** Returns usage counts that are not finite and non-negative. */
export const findInvalidCounts = (run: Run) =>
  Object.entries(run['usage'] as object).filter(
    ([name, value]) => name !== 'cost_status' && !(typeof value === 'number' && Number.isFinite(value) && value >= 0),
  )
