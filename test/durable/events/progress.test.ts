/** Tests that clients see what a running command or program prints, and that nothing of it is stored. */

import { beforeAll, expect, it } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import { calls, model, type Reply, says, until } from '../../support/scripted-model.ts'
import { applyMigrations, newSession, request } from '../../worker/client.ts'
import { readEvents, sendAndStream, subscribe, subscribeBySocket } from '../../worker/listen.ts'
import { evict } from '../support/object.ts'

beforeAll(applyMigrations)

/** Prints, and ends when the test has created the file `go`. */
const command = 'echo first; echo TOKEN=abcdefgh12345678; while [ ! -e go ]; do sleep 0.02; done; echo last'

async function start(reply: Reply, settings: object = {}) {
  const scripted = model([reply, says('Done.')])
  const { id } = await newSession({ model: scripted.id, settings })
  const release = () => request('PUT', `/api/sessions/${id}/files/go`, { body: 'x' })
  return { id, scripted, release }
}

it('a command shows what it prints, with secrets masked, to streams and sockets, also to those that join', async () => {
  const { id, release } = await start(calls({ id: 'c1', name: 'terminal', input: { command } }))
  const socket = await subscribeBySocket(id)
  const stream = await sendAndStream(id, { input: 'go' })
  const progress = await stream.waitFor('tool.progress')
  expect(progress).toMatchObject({ call_id: 'c1', tool: 'terminal', delta: expect.stringContaining('first\n') })
  await socket.waitFor('tool.progress')
  const started = await stream.waitFor('tool.started')
  const joined = await subscribe(id, started.seq)
  expect(await joined.waitFor('tool.progress')).toEqual(progress)
  await release()
  await stream.waitForClose()
  const seen = JSON.stringify([stream.events, socket.events, joined.events].map((all) => all.slice(2)))
  expect(seen).toContain('TOKEN=***')
  expect(JSON.stringify(stream.events.filter(({ type }) => type === 'tool.progress'))).not.toContain('abcdefgh12345678')
  const order = stream.types.filter((type) => type.startsWith('tool.'))
  expect([order[0], order.at(-1)]).toEqual(['tool.started', 'tool.completed'])
  expect(stream.seqs).toEqual(stream.seqs.toSorted((one, other) => one - other))
  joined.close()
  socket.close()
})

it('progress is not stored: a later subscriber and a woken object have none, and numbers go on', async () => {
  const { id, release } = await start(calls({ id: 'c1', name: 'terminal', input: { command } }))
  const stream = await sendAndStream(id, { input: 'go' })
  await stream.waitFor('tool.progress')
  await release()
  await stream.waitForClose()
  await evict(id)
  const later = await subscribe(id, 0)
  const end = await later.waitFor('run.completed')
  expect(later.types).not.toContain('tool.progress')
  expect(end).toEqual(stream.events.at(-1))
  later.close()
})

it('a program shows what it prints', async () => {
  const code = `console.log('first'); for (;;) { try { await read_file('go'); break } catch {} await new Promise((r) => setTimeout(r, 50)) }`
  const { id, release } = await start(calls({ id: 'c1', name: 'execute_code', input: { code } }))
  const stream = await sendAndStream(id, { input: 'go' })
  expect(await stream.waitFor('tool.progress')).toMatchObject({ call_id: 'c1', tool: 'execute_code', delta: 'first\n' })
  await release()
  await stream.waitForClose()
  expect(stream.types.at(-1)).toBe('run.completed')
})

it('a command of a program names the call of the program', async () => {
  const code = `await terminal(${JSON.stringify(command)})`
  const { id, release } = await start(calls({ id: 'c1', name: 'execute_code', input: { code } }))
  const stream = await sendAndStream(id, { input: 'go' })
  expect(await stream.waitFor('tool.progress')).toMatchObject({
    call_id: 'c1.1',
    parent_call_id: 'c1',
    tool: 'terminal',
  })
  await release()
  await stream.waitForClose()
})

itInTurn('a chat completion has the output in hermes.tool.progress', async () => {
  const scripted = model([
    calls({ name: 'terminal', input: { command: 'echo first; sleep 1; echo last' } }),
    says('Ok'),
  ])
  const body = { model: scripted.id, stream: true, messages: [{ role: 'user', content: 'go' }] }
  const stream = readEvents(await request('POST', '/v1/chat/completions', { body }))
  await until(() => stream.isClosed)
  const frames = stream.frames.filter((frame) => frame.startsWith('event: hermes.tool.progress\n'))
  expect(frames.some((frame) => frame.includes('"status":"running","output":"first\\n"'))).toBe(true)
})
