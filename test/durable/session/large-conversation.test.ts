/** Tests a conversation that is larger than one RPC message (32 MiB). */

import { beforeAll, describe, expect, it } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import type { Entry } from '#agent/core/history.ts'
import { userText } from '#agent/core/message.ts'
import { cancelCopy, type SessionCopy } from '#durable/session/copies/fork.ts'
import { model, says } from '../../support/scripted-model.ts'
import { type Answer, call, applyMigrations, newSession, request } from '../../worker/client.ts'
import { evict, inObject, objectOf } from '../support/object.ts'
import { ownerAuthority } from '../../support/authority.ts'

const rows = 24
/** Characters of a message. */
const length = 900_000

const entry = (seq: number): Entry => ({
  id: `msg_${seq}`,
  seq,
  runId: `run_${Math.ceil(seq / 2)}`,
  at: seq,
  tokens: 1,
  message:
    seq % 2 === 1
      ? userText(String(seq).padEnd(length, '.'))
      : { role: 'assistant', content: [{ type: 'text', text: String(seq) }], stop: 'end' },
})

/** Two messages a row, put under the object while it sleeps. */
async function vast(): Promise<string> {
  const { id } = await newSession({ model: model([says('One more.')]).id })
  await inObject(id, (_object, { storage: { sql } }) => {
    for (let n = 1; n < rows * 2; n += 2)
      sql.exec(
        "INSERT INTO step VALUES (?, ?, 0, 0, NULL, '[]', ?)",
        n,
        entry(n).runId,
        JSON.stringify([entry(n), entry(n + 1)]),
      )
  })
  await evict(id)
  return id
}

type Page = {
  readonly data: readonly { readonly seq: number; readonly content: string }[]
  readonly next_cursor: string | null
}

describe('a vast conversation', () => {
  let id = ''
  beforeAll(async () => {
    await applyMigrations()
    id = await vast()
  })

  const seqs = async (session: string) => {
    const all: number[] = []
    for (let cursor: string | null = ''; cursor !== null;) {
      const path: string = `/api/sessions/${session}/messages?limit=200${cursor && `&cursor=${cursor}`}`
      const { status, body }: Answer<Page> = await call('GET', path)
      expect(status).toBe(200)
      all.unshift(...body.data.map(({ seq }) => seq))
      cursor = body.next_cursor
    }
    return all
  }
  const everything = Array.from({ length: rows * 2 }, (_, i) => i + 1)

  it('is listed in as many pages as it takes', async () => {
    expect(await seqs(id)).toEqual(everything)
  })

  itInTurn('can be forked', async () => {
    const fork = await call<{ id: string }>('POST', `/api/sessions/${id}/fork`, { body: {} })
    expect(fork.status).toBe(201)
    expect(await seqs(fork.body.id)).toEqual(everything)
  })

  itInTurn('gives a branch no more room than it takes', async () => {
    const bytesOf = async (upTo?: string) => {
      const copy = (await objectOf(id).transfer.copy(ownerAuthority(), upTo)) as unknown as SessionCopy
      await cancelCopy(copy)
      return copy.bytes
    }
    const [whole, branch] = [await bytesOf(), await bytesOf('run_2')]
    expect(whole - branch).toBeGreaterThan((rows - 3) * length)
    expect(branch).toBeGreaterThan(2 * length)
  })

  it('is exported whole', async () => {
    const exported = await request('GET', `/api/sessions/${id}/export?format=jsonl`)
    let lines = 0
    for await (const bytes of exported.body ?? []) for (const byte of bytes) if (byte === 10) lines++
    expect(lines).toBe(everything.length + 1)
  })
})
