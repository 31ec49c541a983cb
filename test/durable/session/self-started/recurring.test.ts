/** Tests the heartbeat and the loop of a session with a clock that the test moves. */

import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { replaceClock } from '#durable/platform/clock.ts'
import { createChat, getSessionId, receiveMessage, settleDeliveries } from '#test/support/chat.ts'
import { createSkippingClock } from '#test/support/clock.ts'
import {
  Gate,
  hangs,
  listTexts,
  model,
  type ModelRequest,
  type Reply,
  says,
  until,
} from '#test/support/scripted-model.ts'
import { applyMigrations, call, newSession, request } from '#test/worker/client.ts'
import { type Run, send } from '#test/worker/listen.ts'
import { alarmOf, fireAlarm, kill } from '../../support/object.ts'

beforeAll(applyMigrations)
afterEach(() => replaceClock())

const minute = 60_000

async function session(...replies: readonly Reply[]) {
  const clock = createSkippingClock()
  replaceClock(clock)
  const scripted = model(replies)
  const { id } = await newSession({ model: scripted.id })
  return { id, scripted, clock }
}
const chat = async (id: string, input: string) =>
  (await call<Run>('POST', `/api/sessions/${id}/chat`, { body: { input } })).body.output ?? ''
const isIdle = async (id: string) => (await call('GET', `/api/sessions/${id}`)).body['status'] === 'idle'
/** Fires the alarm until the model has been asked so often and the session rests. */
const asks = (id: string, scripted: { readonly requests: readonly unknown[] }, count: number) =>
  until(async () => {
    await fireAlarm(id)
    return scripted.requests.length === count && (await isIdle(id))
  })

describe('/heartbeat', () => {
  it('sends its prompt after its interval, once for all times that were missed', async () => {
    const { id, scripted, clock } = await session(says('All well.'), says('Still well.'))
    expect(await chat(id, '/heartbeat every 5m Look at the queue')).toContain('The heartbeat, every 5m, sent 0 times')
    await fireAlarm(id)
    expect(scripted.requests).toHaveLength(0)
    clock.pass(17 * minute)
    await asks(id, scripted, 1)
    await fireAlarm(id)
    expect(listTexts(scripted.requests[0] as ModelRequest).at(-1)).toContain('Look at the queue')
    expect(scripted.requests).toHaveLength(1)
    expect(await alarmOf(id)).toBeGreaterThan(clock.now() + 4 * minute)
    clock.pass(5 * minute)
    await asks(id, scripted, 2)
  })

  it('waits while a turn runs, and survives a death', async () => {
    const gate = new Gate()
    const { id, scripted, clock } = await session(hangs(gate), says('Well.'))
    await chat(id, '/heartbeat every 1m Look')
    const busy = send(id, 'long work')
    await gate.waitUntilReached()
    clock.pass(2 * minute)
    gate.open()
    await busy
    await kill(id)
    await asks(id, scripted, 2)
    expect(await chat(id, '/heartbeat')).toContain('sent 1 times')
  })

  it('without a prompt works on HEARTBEAT.md, and asks no model while that is empty', async () => {
    const { id, scripted, clock } = await session(says('[SILENT]'), says('Sent.'))
    const put = (text: string) => request('PUT', `/api/sessions/${id}/files/HEARTBEAT.md`, { body: text })
    expect(await chat(id, '/heartbeat every 5m')).toContain('HEARTBEAT.md')
    for (const text of [undefined, '# Tasks\n\n<!-- later: all -->\n- \n']) {
      if (text !== undefined) await put(text)
      clock.pass(6 * minute)
      await fireAlarm(id)
      expect(scripted.requests).toHaveLength(0)
    }
    await put('# Tasks\n- Look at the queue\n')
    clock.pass(6 * minute)
    await asks(id, scripted, 1)
    const texts = listTexts(scripted.requests[0] as ModelRequest)
    expect(texts.at(-2)).toBe('assistant: → read_file')
    expect(texts.at(-1)).toContain('Look at the queue')
  })

  it('is paused, resumed and cleared', async () => {
    const { id, scripted, clock } = await session()
    expect(await chat(id, '/heartbeat')).toBe('There is no heartbeat. /help heartbeat says how to set one.')
    expect(await chat(id, '/heartbeat every 10s Look')).toBe(
      'A heartbeat comes at most every 1m and at least every 30d.',
    )
    expect(await chat(id, '/heartbeat Look')).toContain('Usage: /heartbeat')
    await chat(id, '/heartbeat every 1h Look')
    expect(await chat(id, '/heartbeat pause')).toContain('Paused: A person has paused it.')
    clock.pass(120 * minute)
    await fireAlarm(id)
    expect(scripted.requests).toHaveLength(0)
    expect(await chat(id, '/heartbeat resume')).toContain('Next: ')
    clock.pass(61 * minute)
    await asks(id, scripted, 1)
    expect(await chat(id, '/heartbeat clear')).toBe('The heartbeat is cleared.')
    await until(async () => {
      await fireAlarm(id)
      return (await alarmOf(id)) === null
    })
  })

  it('says nothing in its chat when nothing needs attention', async () => {
    const clock = createSkippingClock()
    replaceClock(clock)
    const fixture = await createChat([says('[SILENT]'), says('The disk is full.')])
    const id = await getSessionId(fixture)
    await receiveMessage(fixture, '/heartbeat every 2m Look at the disk')
    await settleDeliveries(id)
    clock.pass(2 * minute)
    await asks(id, fixture.scripted, 1)
    clock.pass(3 * minute)
    await asks(id, fixture.scripted, 2)
    await settleDeliveries(id)
    const texts = fixture.api.callsOf('sendMessage').map(({ body }) => (body as { text: string }).text)
    expect(texts.slice(1)).toEqual(['The disk is full.'])
  })
})

describe('/loop', () => {
  it('goes on at the pace that the model chooses until it is done', async () => {
    const { id, scripted, clock } = await session(says('Half.\n[NEXT 2m]'), says('All.\n[DONE]'))
    await chat(id, '/loop Count the files')
    await asks(id, scripted, 1)
    await fireAlarm(id)
    expect(await alarmOf(id)).toBeLessThanOrEqual(clock.now() + 2 * minute)
    clock.pass(2 * minute)
    await asks(id, scripted, 2)
    await until(async () => {
      await fireAlarm(id)
      return (await chat(id, '/loop')).includes('Ended: The model said that it is done.')
    })
    clock.pass(60 * minute)
    await fireAlarm(id)
    expect(scripted.requests).toHaveLength(2)
  })

  it('with an interval keeps it, and ends with a stop', async () => {
    const { id, scripted, clock } = await session(says('One.'), says('Two.'))
    expect(await chat(id, '/loop every 10s Count')).toBe('A loop comes at most every 30s and at least every 30d.')
    await chat(id, '/loop every 30s Count')
    await asks(id, scripted, 1)
    clock.pass(31_000)
    await asks(id, scripted, 2)
    expect(await chat(id, '/stop')).toBe('Stopped: the loop (/loop resume goes on).')
    clock.pass(60 * minute)
    await fireAlarm(id)
    expect(scripted.requests).toHaveLength(2)
  })
})
