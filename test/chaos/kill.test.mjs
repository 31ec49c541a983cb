/**
 * Tests the crash matrix (reliability §4) against a real server: SIGKILL to all processes while turns are stopped at its
 * boundaries, then a start with the same state. Many turns share one kill, each stopped at its own boundary.
 */

import { request as httpRequest } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../e2e/support/client.ts'
import {
  clientTo,
  eventsOf,
  follow,
  isRising,
  newWorld,
  recoveryTimeoutMs,
  countInLog,
  listProblems,
} from './world.mjs'

const world = await newWorld()
const { model } = world
afterAll(() => world.close())

const append = (row, more = '') => `terminal {"command":"echo ${row} >> log${more}"}`
const slow = (row, gap = 10) => `[[slow gap=${gap} nonce=${row}]]`
const askedFor = (row) => model.journal().filter(({ nonce }) => nonce === row)
const answeredFor = (row) => askedFor(row).filter(({ status, cut, ended }) => status === 200 && !cut && ended)

/** Leaves the first matching model request unanswered, so that its turn waits there until the server dies. */
const held = new Map()
function hold(row, isLike) {
  held.set(row, isLike)
}
model.script(({ body, step, tools }) => {
  for (const [row, isLike] of held) {
    if (!JSON.stringify(body.messages).includes(`nonce=${row}]`) || !isLike({ step, tools })) continue
    held.delete(row)
    return { hang: true }
  }
  return undefined
})
const isHeld = (row) =>
  eventually(
    () => held.has(row),
    (still) => !still,
    20_000,
  )

const turns = new Map()
/** Starts a turn without an open request, after its acceptance is durable. */
async function begin(server, row, input, settings = {}) {
  const session = await clientTo(server).newSession({ settings })
  const listener = await follow(server, session)
  const { status, json } = await clientTo(server).post(`/api/sessions/${session}/steer`, { input })
  if (status !== 202) throw new Error(`row ${row}: ${status}`)
  const turn = { row, session, run: json.run_id, listener }
  turns.set(row, turn)
  return turn
}
const heard = ({ listener }, type, count = 1) =>
  eventually(
    () => listener.events.filter((event) => event.type === type).length,
    (found) => found >= count,
    20_000,
  )

/** Checks the invariants of every row, then those of the row itself. */
async function after(server, row) {
  const { session, run } = turns.get(row)
  const client = clientTo(server)
  const events = await eventsOf(server, session, run)
  const messages = await client.messages(session)
  const { json } = await client.get(`/api/sessions/${session}/runs/${run}`)
  const ends = events.filter(({ type }) => /^run\.(completed|failed|cancelled)$/.test(type))
  expect(ends).toHaveLength(1)
  expect(isRising(events.map(({ id }) => id))).toBe(true)
  expect(listProblems(messages)).toEqual([])
  expect(messages.at(-1).content).toBe(json.output)
  expect(Date.parse(json.ended_at)).toBeLessThan(server.readyAt + recoveryTimeoutMs)
  const results = messages.filter(({ role }) => role === 'tool').map(({ content }) => content)
  return {
    run: json,
    messages,
    events,
    results,
    unknown: results.map((content) => /It is unknown whether it took effect/.test(content)),
    roles: messages.map(({ role }) => role).join(' '),
    times: (word = row) => countInLog(client, session, word),
  }
}

const words = (count) => Array.from({ length: count }, (_, n) => `word${n}`).join(' ')
const oneStep = 'user assistant tool assistant'

describe('killed with effects in the air', () => {
  let back
  let redelivery
  let finished

  beforeAll(async () => {
    const places = ['before-model', 'before-tool', 'during-tool', 'after-tool', 'before-final']
    const first = await world.start({ FAILPOINTS: places.map((place) => `${place}=hang@1`).join(',') })
    const client = clientTo(first)
    // Each turn stops at the first failpoint that no earlier turn has used.
    for (const [n, row] of ['5', '11', '12', '15', '8'].entries()) {
      await begin(first, row, `[[call ${append(row)} then text 8]] ${slow(row)}`)
      await first.printed(`FP:${places[n]}`)
    }
    await begin(first, '6', `[[hang times=1 nonce=6]]`)
    await begin(first, '7-first', `[[slow gap=3000 chunks=3 nonce=7-first]]`)
    hold('17', ({ step }) => step === 1)
    await begin(first, '17', `[[call ${append('17')} then text 8]] ${slow('17')}`)
    hold('18', ({ tools }) => !tools)
    await begin(first, '18', `[[tools 5 ${append('18')}]] ${slow('18')}`, { agent: { max_turns: 1 } })
    const writes = [1, 2].map((n) => `write_file {"path":"f${n}","content":"${n}"}`).join(' + ')
    await begin(first, '16', `[[call ${writes} + ${append('16', '; sleep 30')} then text 5]] ${slow('16')}`)
    for (const row of ['25', '26'])
      await begin(first, row, `[[call ${append(row, '; sleep 30')} then text 5]] ${slow(row)}`)
    const session = await client.newSession()
    redelivery = { session, input: '[[slow gap=200 chunks=40 nonce=3]]', headers: { 'idempotency-key': 'row-three' } }
    const lost = client.chat(session, redelivery.input, redelivery.headers).catch(() => undefined)
    await begin(first, '7-mid', `[[slow gap=100 chunks=60 nonce=7-mid]]`)
    await heard(turns.get('7-first'), 'message.delta')
    await Promise.all(['17', '18'].map(isHeld))
    await heard(turns.get('16'), 'tool.completed', 2)
    await Promise.all(['16', '25', '26'].map((row) => heard(turns.get(row), 'tool.started', row === '16' ? 3 : 1)))
    await heard(turns.get('7-mid'), 'message.delta', 3)
    await eventually(() => askedFor('3').length, Boolean, 10_000)
    await client.post(`/api/sessions/${turns.get('25').session}/steer`, { input: 'beacon-25' })
    await client.post(`/api/sessions/${turns.get('26').session}/stop`)
    const said = await client.newSession()
    finished = { session: said, answer: await client.chat(said, '[[text 4]] [[slow gap=5 nonce=19]]') }
    await begin(first, '4', `[[text 6]] ${slow('4')}`)
    await world.kill(first)
    await lost
    back = await world.start()
    // No request reaches the sessions before the model has sent its last replies.
    const answers = { 3: 1, 4: 1, 5: 2, 6: 1, '7-first': 1, '7-mid': 1, 8: 3, 11: 2, 12: 2, 15: 2, 16: 2, 17: 2, 25: 2 }
    const missing = () => Object.entries(answers).filter(([row, count]) => answeredFor(row).length < count)
    await eventually(missing, (rows) => rows.length === 0, recoveryTimeoutMs + 5_000).catch(() => undefined)
    await new Promise((resolve) => setTimeout(resolve, 1_000))
  })
  afterAll(() => back && world.kill(back))

  it('row 3: accepted, no 2xx yet: the turn runs, and what is delivered again is the same turn', async () => {
    const client = clientTo(back)
    const { session, input, headers } = redelivery
    const again = await client.chat(session, input, headers)
    expect(again.status).toBe(200)
    const messages = await client.messages(session)
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant'])
    expect(again.json.output).toBe(messages[1].content)
  })

  it('row 4: after 2xx, before anything else: the watchdog starts it', async () => {
    expect(await after(back, '4')).toMatchObject({ roles: 'user assistant', run: { exit_reason: 'answered' } })
  })

  it('row 5: before the model is asked: it is asked once per step', async () => {
    const end = await after(back, '5')
    expect([end.roles, await end.times(), askedFor('5').length]).toEqual([oneStep, 1, 2])
  })

  it('row 6: the request sent, no byte back: asked again', async () => {
    const end = await after(back, '6')
    expect([end.roles, end.run.output, askedFor('6').length]).toEqual(['user assistant', 'Hello from the model.', 2])
  })

  it.each([
    ['7-first', 3],
    ['7-mid', 60],
  ])('row %s: in the middle of a stream: one answer', async (row, count) => {
    const end = await after(back, row)
    expect(end.run.output.trim()).toBe(words(count))
    expect(end.roles).toBe('user assistant')
    expect(end.events.filter(({ type }) => type === 'turn.restarted')).toHaveLength(1)
  })

  it('row 8: the answer complete, nothing saved: one message', async () => {
    const end = await after(back, '8')
    expect([end.roles, await end.times(), end.run.output.trim()]).toEqual([oneStep, 1, words(8)])
  })

  it('row 11: dispatched, not begun: no effect, and nobody claims one', async () => {
    const end = await after(back, '11')
    expect([end.roles, await end.times(), end.unknown]).toEqual([oneStep, 0, [true]])
  })

  it.each(['12', '15'])('row %s: an effect whose result is lost is unknown and not repeated', async (row) => {
    const end = await after(back, row)
    expect([end.roles, await end.times(), end.unknown]).toEqual([oneStep, 1, [true]])
  })

  it('row 16: two of three done: only the third is in doubt, and the order is that of the calls', async () => {
    const end = await after(back, '16')
    const asked = end.messages[1].tool_calls.map(({ id }) => id)
    expect(end.messages.filter(({ role }) => role === 'tool').map((one) => one.tool_call_id)).toEqual(asked)
    expect(end.unknown).toEqual([false, false, true])
    expect(await end.times()).toBeLessThanOrEqual(1)
  })

  it('row 17: the result saved, the next request lost: goes on', async () => {
    const end = await after(back, '17')
    expect([end.roles, await end.times(), end.unknown, askedFor('17').length]).toEqual([oneStep, 1, [false], 3])
  })

  it('row 18: the steps used up: one grace call, without tools', async () => {
    const end = await after(back, '18')
    expect(end.run).toMatchObject({ exit_reason: 'out_of_budget', status: 'completed' })
    // The message of a grace call may lack the nonce. It is the only request without tools.
    const grace = model.journal().filter(({ tools }) => !tools)
    expect(grace.map(({ status }) => status)).toEqual([undefined, 200])
    expect(askedFor('18').filter(({ tools }) => tools)).toHaveLength(1)
    expect(await end.times()).toBe(1)
  })

  it('row 19: what was answered is there after the kill, once', async () => {
    expect(finished.answer.json).toMatchObject({ exit_reason: 'answered' })
    const messages = await clientTo(back).messages(finished.session)
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant'])
    expect(messages[1].content).toBe(finished.answer.json.output)
    expect(askedFor('19')).toHaveLength(1)
  })

  it('row 25: what was said meanwhile is heard once', async () => {
    const end = await after(back, '25')
    expect(JSON.stringify(end.messages).split('beacon-25')).toHaveLength(2)
    expect(end.events.filter(({ type }) => type === 'run.steered')).toHaveLength(1)
    expect(await end.times()).toBeLessThanOrEqual(1)
  })

  it('row 26: stopped, a tool running: cancelled, and the model is not asked again', async () => {
    const end = await after(back, '26')
    expect(end.run.status).toBe('cancelled')
    expect(askedFor('26')).toHaveLength(1)
    expect(await end.times()).toBeLessThanOrEqual(1)
  })

  it('logs no error on the way back', () => {
    expect(back.log()).not.toMatch(/ERROR|Unexpected error|Uncaught/)
  })
})

describe('killed with calls in the air that can be repeated', () => {
  const places = ['before-tool', 'during-tool', 'after-tool']
  const rows = ['9', '13', '15-keyed']
  let back
  let halfSent
  let halfAnswer

  beforeAll(async () => {
    const first = await world.start({ FAILPOINTS: places.map((place) => `${place}=hang@1`).join(',') })
    for (const [n, row] of rows.entries()) {
      await begin(first, row, `[[call write_file {"path":"log","content":"${row}"} then text 8]] ${slow(row)}`)
      await first.printed(`FP:${places[n]}`)
    }
    const approvals = { mode: 'manual', rules: [{ do: 'ask', tool: 'terminal' }] }
    await begin(first, '10', `[[call ${append('10')} then text 8]] ${slow('10')}`, { approvals })
    await heard(turns.get('10'), 'approval.request')
    halfSent = await clientTo(first).newSession()
    const answer = await half(first, `/api/sessions/${halfSent}/steer`)
    await world.kill(first)
    halfAnswer = await answer.end
    back = await world.start()
    await eventually(
      () => rows.filter((row) => answeredFor(row).length < 2),
      (missing) => missing.length === 0,
      recoveryTimeoutMs + 5_000,
    ).catch(() => undefined)
    await new Promise((resolve) => setTimeout(resolve, 1_000))
  })
  afterAll(() => back && world.kill(back))

  it('row 1: a request of which half has arrived leaves nothing', async () => {
    const client = clientTo(back)
    expect(halfAnswer).toBe('no answer')
    expect(await client.messages(halfSent)).toEqual([])
    expect((await client.get(`/api/sessions/${halfSent}`)).json.status).toBe('idle')
  })

  it('row 10: a call that a person has to allow: still asked about, and allowed it runs once', async () => {
    const client = clientTo(back)
    const { session } = turns.get('10')
    const { json } = await client.get('/api/approvals')
    const asked = json.data.filter((one) => one.session_id === session)
    expect(asked).toHaveLength(1)
    expect(await countInLog(client, session, '10')).toBe(0)
    expect((await client.post(`/api/approvals/${asked[0].id}`, { decision: 'once' })).status).toBe(200)
    const end = await after(back, '10')
    expect([end.roles, await end.times(), end.unknown]).toEqual([oneStep, 1, [false]])
  })

  it.each(rows)('row %s: runs again, and has one result that is known', async (row) => {
    const end = await after(back, row)
    expect([end.roles, await end.times(), end.unknown]).toEqual([oneStep, 1, [false]])
    expect(end.events.filter(({ type }) => type === 'tool.completed')).toHaveLength(1)
  })
})

/** Sends the head and half of the body. */
async function half({ url, key }, path) {
  const body = JSON.stringify({ input: 'never said as a whole' })
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'content-length': body.length }
  const request = httpRequest(`${url}${path}`, { method: 'POST', headers })
  const end = new Promise((resolve) => {
    request.once('response', ({ statusCode }) => resolve(`answer ${statusCode}`))
    request.once('error', () => resolve('no answer'))
  })
  request.write(body.slice(0, 10))
  await new Promise((resolve) => setTimeout(resolve, 300))
  return { end }
}

/**
 * A spin holds the runtime inside one synchronous stretch, whose writes are not committed when the server dies. Nothing
 * else runs meanwhile, so each of these tests has its own kill.
 */
describe('killed in the middle of a stretch of code', () => {
  let back
  let unsaid

  /** Starts a server, reaches the failpoint with `act`, and kills the server there. */
  async function dieAt(place, act) {
    const server = await world.start({ FAILPOINTS: `${place}=spin@1` })
    const acted = act(server)
    await server.printed(`FP:${place}`)
    await world.kill(server)
    return acted
  }

  beforeAll(async () => {
    const calm = await world.start()
    const client = clientTo(calm)
    const sessions = {}
    for (const row of ['2', '7-last', '11-uncommitted', '11-dispatched']) sessions[row] = await client.newSession()
    await world.kill(calm)
    const send = (row, input) => async (server) => {
      const answer = await clientTo(server)
        .post(`/api/sessions/${sessions[row]}/steer`, { input })
        .catch((error) => ({ status: 0, error }))
      turns.set(row, { row, session: sessions[row], run: answer.json?.run_id })
      return answer
    }
    unsaid = { session: sessions['2'], ...(await dieAt('accepted', send('2', `[[text 3]] ${slow('2')}`))) }
    // After the last of three chunks only the end of the answer is missing.
    const last = await world.start({ FAILPOINTS: 'mid-stream=spin@3' })
    await send('7-last', `[[slow gap=50 chunks=3 nonce=7-last]]`)(last)
    await last.printed('FP:mid-stream')
    await world.kill(last)
    await dieAt(
      'before-tool',
      send('11-uncommitted', `[[call ${append('11-uncommitted')} then text 8]] ${slow('11-uncommitted')}`),
    )
    await dieAt(
      'during-tool',
      send('11-dispatched', `[[call ${append('11-dispatched')} then text 8]] ${slow('11-dispatched')}`),
    )
    back = await world.start()
    const wanted = { '7-last': 1, '11-uncommitted': 2, '11-dispatched': 2 }
    const missing = () => Object.entries(wanted).filter(([row, count]) => answeredFor(row).length < count)
    await eventually(missing, (rows) => rows.length === 0, recoveryTimeoutMs + 5_000).catch(() => undefined)
    await new Promise((resolve) => setTimeout(resolve, 1_000))
  })
  afterAll(() => back && world.kill(back))

  it('row 2: written, not committed: no 2xx, no row, and said again it is one turn', async () => {
    const client = clientTo(back)
    expect(unsaid.status).not.toBe(202)
    expect(await client.messages(unsaid.session)).toEqual([])
    const again = await client.chat(unsaid.session, `[[text 3]] ${slow('2')}`)
    expect(again.json).toMatchObject({ exit_reason: 'answered' })
    expect((await client.messages(unsaid.session)).map(({ role }) => role)).toEqual(['user', 'assistant'])
  })

  it('row 7-last: at the last chunk of a stream: one answer', async () => {
    const client = clientTo(back)
    const messages = await client.messages(turns.get('7-last').session)
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant'])
    expect(messages[1].content.trim()).toBe(words(3))
  })

  it.each(['11-uncommitted', '11-dispatched'])(
    'row %s: the effect is there once, and nobody doubts it',
    async (row) => {
      const { session } = turns.get(row)
      const client = clientTo(back)
      const messages = await client.messages(session)
      expect(listProblems(messages)).toEqual([])
      expect(messages.map(({ role }) => role).join(' ')).toBe(oneStep)
      expect(await countInLog(client, session, row)).toBe(1)
      expect(messages[2].content).not.toMatch(/It is unknown whether it took effect/)
    },
  )

  it('logs no error on the way back', () => {
    expect(back.log()).not.toMatch(/ERROR|Unexpected error|Uncaught/)
  })
})
