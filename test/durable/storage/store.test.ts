/** Tests how many rows a turn of a long conversation reads. */

import { beforeAll, expect, it } from 'vitest'
import type { Entry } from '#agent/core/history.ts'
import { userText } from '#agent/core/message.ts'
import { model, says, until } from '../../support/scripted-model.ts'
import { call, applyMigrations, newSession } from '../../worker/client.ts'
import { listMessages, send } from '../../worker/listen.ts'
import { alarmOf, billedRows, evict, inObject } from '../support/object.ts'

beforeAll(applyMigrations)

const entry = (seq: number): Entry => ({
  id: `msg_${seq}`,
  seq,
  runId: `run_${seq}`,
  at: seq,
  tokens: 10,
  message: userText('It was said long ago. '.repeat(10)),
})

it('reads few rows of a conversation in memory, regardless of its length', async () => {
  const { id } = await newSession({ model: model([says('One.'), says('Two.')]).id })
  await inObject(id, (_object, { storage: { sql } }) => {
    for (let n = 1; n <= 1_000; n++)
      sql.exec("INSERT INTO step VALUES (?, ?, 0, 0, NULL, '[]', ?)", n, `run_${n}`, JSON.stringify([entry(n)]))
  })
  await evict(id)
  await send(id, 'first')
  // The projection reads all of the inserted rows once.
  await until(async () => (await alarmOf(id)) === null)
  const before = (await billedRows(id)).session.read
  const run = await send(id, 'second')
  expect((await call('GET', `/api/sessions/${id}/runs/${run.run_id}`)).body['output']).toBe('Two.')
  const listed = (await call<{ data: object[] }>('GET', `/api/sessions/${id}/messages?limit=2`)).body.data
  expect((await billedRows(id)).session.read - before).toBeLessThan(45)
  expect(listed).toEqual((await listMessages<object>(id)).slice(-2))
})
