/** Tests turns whose server is killed twice, or whose runtime alone is killed. `npm run chaos` runs it. */

import { beforeEach, describe, expect, it } from 'vitest'
import { eventually } from '../support/client.ts'
import {
  begin,
  clientTo,
  expectComplete,
  kill,
  model,
  onceOrUnknown,
  patienceMs,
  rolesOf,
  start,
  untilAnswered,
  writes,
  written,
} from '../support/killed-turns.ts'
import { isRunEnd } from '../support/sse.ts'

describe('killed again and again', () => {
  beforeEach(() => model.reset())

  it('while the model does not answer, twice in a row', async () => {
    model.script(() => ({ hang: true }))
    const asked = (count: number) =>
      eventually(
        () => model.journal().length,
        (length) => length >= count,
        patienceMs,
      )
    const first = await start()
    const turn = await begin(first, '[[slow gap=1 chunks=6 nonce=silence]]')
    await asked(1)
    await kill(first)
    await turn.chat
    await eventually(turn.listener.ended, Boolean)
    const next = await start()
    await asked(2)
    await kill(next)
    model.script(undefined)
    const last = await start()
    await untilAnswered(last, turn.session, { nonce: 'silence', answers: 1 })
    await expectComplete(last, turn)
    expect(rolesOf(await clientTo(last).messages(turn.session))).toEqual(['user', 'assistant'])
    await kill(last)
  }, 150_000)

  it('only the runtime, which wrangler restarts', async () => {
    const server = await start()
    const client = clientTo(server)
    const { session, listener, chat } = await begin(server, writes('runtime'))
    await listener.until(({ type }) => type === 'message.delta')
    server.killRuntime()
    await chat
    await eventually(listener.ended, Boolean)
    await untilAnswered(server, session, { nonce: 'runtime', answers: 2 })
    await eventually(
      async () => (await client.post('/api/sessions', {}).catch(() => undefined))?.status,
      (status) => status === 201,
    )
    await listener.reconnect()
    expect((await listener.until(isRunEnd)).type).toBe('run.completed')
    listener.close()
    expect(await written(client, session)).toMatch(onceOrUnknown)
  }, 150_000)

  it('only the runtime, and again while wrangler restarts it: the server says so and ends', async () => {
    const server = await start()
    await server.killRuntimeTwice()
    await server.printed('could not be restarted, so the server ends')
    await eventually(
      async () => server.exitCode(),
      (code) => code !== null,
    )
    expect(server.exitCode()).toBe(1)
  }, 150_000)
})
