/** What a turn of a long conversation reads of it. */

import { beforeAll, expect, it } from 'vitest'
import type { Entry } from '../../../src/agent/model/history.ts'
import { userText } from '../../../src/agent/model/message.ts'
import { model, says, until } from '../../support/scripted-model.ts'
import { call, migrated, newSession } from '../../worker/client.ts'
import { messagesOf, say } from '../../worker/listen.ts'
import { alarmOf, billedRows, evict, inObject } from '../support/object.ts'

beforeAll(migrated)

const entry = (seq: number): Entry => ({
  id: `msg_${seq}`,
  seq,
  runId: `run_${seq}`,
  at: seq,
  tokens: 10,
  message: userText('It was said long ago. '.repeat(10)),
})

it('reads few rows once the conversation is in memory, however long it is', async () => {
  const { id } = await newSession({ model: model([says('One.'), says('Two.')]).id })
  await inObject(id, (_object, { storage: { sql } }) => {
    for (let n = 1; n <= 1_000; n++)
      sql.exec("INSERT INTO step VALUES (?, ?, 0, 0, NULL, '[]', ?)", n, `run_${n}`, JSON.stringify([entry(n)]))
  })
  await evict(id)
  await say(id, 'first')
  // History gets what was put under the object, and all of it is read once for that.
  await until(async () => (await alarmOf(id)) === null)
  const before = (await billedRows(id)).session.read
  const run = await say(id, 'second')
  expect((await call('GET', `/api/sessions/${id}/runs/${run.run_id}`)).body['output']).toBe('Two.')
  const listed = (await call<{ data: object[] }>('GET', `/api/sessions/${id}/messages?limit=2`)).body.data
  expect((await billedRows(id)).session.read - before).toBeLessThan(40)
  expect(listed).toEqual((await messagesOf<object>(id)).slice(-2))
})
