/** Tests the choice of the model after the first one failed, in this turn and in the next one. */

import { beforeAll, describe, expect, it } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import { until } from '../../support/scripted-model.ts'
import { applyMigrations } from '../../worker/client.ts'
import { provider } from './bytes.ts'
import { notesIn, createChaosSession, sendMessage } from './chaos-session.ts'
import { answers } from './wire.ts'
import { openaiChat } from './wires/openai-chat.ts'

beforeAll(applyMigrations)

const fine = () => answers(openaiChat, 'All is well.')
const gone = () => openaiChat.error(404, 'The model `x` does not exist.')

describe('a list of fallbacks', () => {
  it('with the first model itself, one without a key, one that is broken and a good one ends at the good one', async () => {
    const [first, broken, good] = [provider(gone), provider(gone), provider(fine)]
    const list = [first.id, 'upstage/without-a-key', broken.id, good.id]
    const run = await sendMessage(await createChaosSession(first, { fallback_providers: list }), 'go')
    expect(run).toMatchObject({ output: 'All is well.', exit_reason: 'answered' })
    expect([first.asked(), broken.asked(), good.asked()]).toEqual([1, 1, 1])
    expect(notesIn(run)).toEqual([`fall back to ${broken.id}`, `fall back to ${good.id}`])
  })

  itInTurn('that is used up ends with the attempts by name', async () => {
    const [first, second] = [provider(gone), provider(gone)]
    const run = await sendMessage(await createChaosSession(first, { fallback_providers: [second.id] }), 'go')
    expect(run).toMatchObject({ exit_reason: 'failed_missing_model' })
    expect(run.output).toContain('does not have this model')
    expect(run['notes']).toMatchObject([{ did: `fall back to ${second.id}`, why: 'missing-model' }])
  })
})

describe('the turn after a fallback', () => {
  it('begins with the first model again', async () => {
    const first = provider((nth) => (nth === 0 ? gone() : fine()))
    const session = await createChaosSession(first, { fallback_providers: ['demo/agent'] })
    expect((await sendMessage(session, 'go')).output).toContain('You said: go')
    expect((await sendMessage(session, 'and now?')).output).toBe('All is well.')
  })

  itInTurn('does not ask the first model before the time that its provider named', async () => {
    const first = provider(() => openaiChat.error(429, 'Slow down.', () => ({ 'retry-after': '600' })))
    const session = await createChaosSession(first, { fallback_providers: ['demo/agent'] })
    await sendMessage(session, 'go')
    expect((await sendMessage(session, 'and now?')).output).toContain('You said: and now?')
    expect(first.asked()).toBe(1)
  })

  itInTurn('asks the first model again when that time is over', async () => {
    const limited = openaiChat.error(429, 'Slow down.', () => ({ 'retry-after': '1' }))
    const first = provider((nth) => (nth === 0 ? limited : fine()))
    const impatient = { agent: { max_wait_seconds: 0 }, fallback_providers: ['demo/agent'] }
    const session = await createChaosSession(first, impatient)
    expect((await sendMessage(session, 'go')).output).toContain('You said: go')
    await until(async () => (await sendMessage(session, 'and now?')).output === 'All is well.')
  })
})

describe('a fallback that fails', () => {
  itInTurn('does not bench the key of the first model, though both use it', async () => {
    const limited = provider(() => openaiChat.error(429, 'Slow down.', () => ({ 'retry-after': '600' })))
    const first = provider((nth) => (nth === 0 ? gone() : fine()))
    const session = await createChaosSession(first, { fallback_providers: [limited.id, 'demo/agent'] })
    expect((await sendMessage(session, 'go')).output).toContain('You said: go')
    expect((await sendMessage(session, 'and now?')).output).toBe('All is well.')
  })
})
