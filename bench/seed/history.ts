/** Writes a million messages of a thousand tenants with the product's own statements. */

import type { Entry, Page, SessionRecord } from '#agent/core/history.ts'
import type { Message } from '#agent/core/message.ts'
import { noUsage } from '#agent/core/usage.ts'
import { appendPages } from '#db/append-pages.ts'
import { createTenantDb } from '#db/tenant-db.ts'
import { randomFrom, textOf } from './corpus.ts'
import { openLocalD1 } from './local-d1.ts'

export type Size = {
  readonly tenants: number
  readonly sessions: number
  readonly pages: number
}

/** 1000 · 10 · 25 pages of four messages. */
export const million: Size = { tenants: 1000, sessions: 10, pages: 25 }
export const perPage = 4

const hour = 3_600_000
/** The last pages are from today, so that the weeks that a search reads first are full. */
const firstDay = Date.now() - (million.sessions + 1) * million.pages * 24 * hour

/** A turn with one tool call: question, call, result, answer. */
const messagesOf = (random: () => number, callId: string): Message[] => {
  const text = (): { readonly type: 'text'; readonly text: string } => ({ type: 'text', text: textOf(random, 200) })
  const call = { type: 'call' as const, id: callId, name: 'read_file', input: { path: 'notes.md' } }
  return [
    { role: 'user', content: [text()] },
    { role: 'assistant', content: [text(), call], stop: 'tools' },
    { role: 'tool', callId, name: 'read_file', content: [text()], failed: false },
    { role: 'assistant', content: [text()], stop: 'end' },
  ]
}

const pageOf = (random: () => number, session: string, n: number, at: number): Page => {
  const runId = `run-${session}-${n}`
  const entries: Entry[] = messagesOf(random, `call-${n}`).map((message, place) => {
    const seq = n * perPage + place + 1
    return { id: `${session}-${seq}`, seq, runId, at: at + place, tokens: 60, message }
  })
  return {
    n: n * perPage + 1,
    runId,
    at,
    entries,
    turn: { stage: { at: 'done' } },
    model: 'openai/bench',
    usage: noUsage,
  }
}

const recordOf = (random: () => number, id: string, from: number, to: number): SessionRecord => ({
  id,
  title: textOf(random, 30),
  source: 'api',
  model: 'openai/bench',
  parentId: null,
  createdAt: from,
  updatedAt: to,
  usage: noUsage,
  state: {},
})

/** Tenant 0 has the given name. Yields the number of written messages. */
export async function* seedHistory(path: string, tenant: string, size: Size): AsyncGenerator<number> {
  const d1 = openLocalD1(path)
  let written = 0
  for (let t = 0; t < size.tenants; t++) {
    const random = randomFrom(t + 1)
    const tenantId = t === 0 ? tenant : `bench-${String(t).padStart(4, '0')}`
    const bound = createTenantDb(d1.binding, tenantId)
    for (let s = 0; s < size.sessions; s++) {
      const id = `s-${t}-${s}`
      const start = firstDay + (s * size.pages + Math.floor(random() * size.pages)) * 24 * hour
      const pages = Array.from({ length: size.pages }, (_, n) => pageOf(random, id, n, start + n * hour))
      await appendPages(bound, recordOf(random, id, start, start + size.pages * hour), pages)
      written += size.pages * perPage
    }
    yield written
  }
  d1.close()
}

const wordsIn = (message: Message): string[] =>
  message.content.flatMap((part) => (part.type === 'text' ? part.text.split(' ') : [])).filter((word) => word !== '')

/** Counts the words of tenant 0. Draws the same random numbers as seedHistory. */
export const wordsOfFirstTenant = (size: Size): Map<string, number> => {
  const random = randomFrom(1)
  const counts = new Map<string, number>()
  for (let s = 0; s < size.sessions; s++) {
    random()
    const messages = Array.from({ length: size.pages }, () => messagesOf(random, '')).flat()
    for (const word of messages.flatMap(wordsIn)) counts.set(word, (counts.get(word) ?? 0) + 1)
    textOf(random, 30)
  }
  return counts
}
