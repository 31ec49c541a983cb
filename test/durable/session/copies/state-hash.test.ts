/** Tests the hash of a session's state: it is read in pieces, and its value is that of the whole. */

import { expect, it } from 'vitest'
import { hashState } from '#durable/session/copies/state-hash.ts'
import { sha256Base64 } from '#durable/platform/hash.ts'
import type { Session } from '#durable/session/session.ts'

type File = readonly [path: string, text: string]

/** A session with one message a row, whose turns have the run `run`. */
function sessionWith(texts: readonly string[], files: readonly File[] = []): Session {
  const rows = texts.map((_, n) => ({ n: n + 1, run: 'run' }))
  const entryOf = (text: string) => ({ message: { role: 'user', content: [{ type: 'text', text }] } })
  async function* snapshot() {
    for (const [path, text] of files) yield { path, kind: 'file', bytes: new TextEncoder().encode(text) }
  }
  const backend = { capabilities: { root: '/workspace' }, checkpoints: async () => undefined, snapshot }
  const journal = { listRows: () => rows, row: (n: number) => ({ row: { entries: [entryOf(texts[n - 1] ?? '')] } }) }
  const store = { current: () => ({ id: 'run', stage: { at: 'waiting' } }) }
  return { journal, store, toolRuntime: { backend } } as unknown as Session
}

async function hashOfWhole(texts: readonly string[], files: readonly File[] = []) {
  const messages = texts.map((text) => JSON.stringify(['user', [{ type: 'text', text }]]))
  const hashed = files.map(async ([path, text]) => `${path}\n${await sha256Base64(text)}`)
  return sha256Base64(JSON.stringify([messages, (await Promise.all(hashed)).toSorted()]))
}

it.each<[string, readonly string[], readonly File[]]>([
  ['nothing', [], []],
  [
    'messages and files',
    ['one', 'two "quoted"'],
    [
      ['/workspace/b', 'b'],
      ['/workspace/a', 'a'],
    ],
  ],
  ['more than a piece', Array.from({ length: 40 }, (_, n) => `${n} ä€😀`.repeat(4_000)), []],
])('of %s is that of the whole', async (_, texts, files) => {
  expect(await hashState(sessionWith(texts, files), 'run')).toBe(await hashOfWhole(texts, files))
})

it('changes with every message and file, and is missing for more than 64 MB', async () => {
  const texts = Array.from({ length: 3 }, (_, n) => `${n}`.repeat(300_000))
  const whole = await hashState(sessionWith(texts), 'run')
  expect(await hashState(sessionWith([...texts.slice(0, 2), `${texts[2]}.`]), 'run')).not.toBe(whole)
  expect(await hashState(sessionWith(texts, [['/workspace/a', '']]), 'run')).not.toBe(whole)
  const large = 'x'.repeat(1_000_000)
  expect(await hashState(sessionWith(Array.from({ length: 70 }, () => large)), 'run')).toBeUndefined()
})
