/** Tests questions between sessions: who may ask whom, with whose rights, and how it ends. */

import { beforeAll, describe, expect, it } from 'vitest'
import { calls, model, type ModelRequest, type Reply, says, until, listTexts } from '#test/support/scripted-model.ts'
import { applyMigrations, call, newKey, newSession, newTenant } from '#test/worker/client.ts'
import { listMessages, send } from '#test/worker/listen.ts'
import { fireAlarm } from '../../support/object.ts'
import { linesOf, statusOf, stored } from './support.ts'

beforeAll(applyMigrations)

type Named = { readonly tools?: readonly { readonly function: { readonly name: string } }[] }
const toolNames = ({ tools = [] }: Named) => tools.map((tool) => tool.function.name)

const ask = (sessionId: string, message = 'Which colour?'): Reply =>
  calls({ name: 'sessions_send', input: { session_id: sessionId, message } })

async function scripted(reply: (nth: number, asked: ModelRequest) => Reply, settings: object = {}) {
  let nth = 0
  const made = model((asked) => reply(nth++, asked))
  const { id } = await newSession({ model: made.id, settings })
  return { id, requests: made.requests }
}

const answered = (id: string, other: string) =>
  until(async () => {
    await Promise.all([id, other].map((one) => fireAlarm(one).catch(() => undefined)))
    const lines = await linesOf(id)
    return lines.some((line) => line.includes('has answered question')) && (await statusOf(id)) === 'idle'
  }, 30_000)

describe('a question to another session', () => {
  it('is a message there, and its answer is a message here', async () => {
    const other = await scripted(() => says('Blue.'), { toolsets: { enabled: ['file', 'terminal', 'sessions'] } })
    await send(other.id, 'The colour is blue.')
    const asking = await scripted((nth) => [ask(other.id), says('I asked.'), says('It is blue.')][nth] ?? says('ok'), {
      toolsets: { enabled: ['file', 'sessions'] },
    })
    await send(asking.id, 'Ask the other one.')
    await answered(asking.id, other.id)
    const asked = other.requests.at(-1) as ModelRequest
    const question = listTexts(asked).join('\n')
    expect(question).toContain('The colour is blue.')
    expect(question).toContain('Another session asks')
    expect(question).toContain('Which colour?')
    // It may do there what the one that asks may do here, and asks nobody further.
    expect(toolNames(asked)).toContain('read_file')
    for (const name of ['terminal', 'sessions_send', 'delegate_task', 'memory'])
      expect(toolNames(asked)).not.toContain(name)
    const lines = await linesOf(asking.id)
    expect(lines.filter((line) => line.includes('has answered question')).join()).toContain('Blue.')
    expect(lines.at(-1)).toBe('assistant: It is blue.')
    const marks = (await stored(asking.id)).find(({ source }) => source === 'subagent')
    expect(marks).toBeDefined()
  })

  it('reaches no session that the speaker may not read, of another key or another tenant', async () => {
    const other = await scripted(() => says('Blue.'))
    const owner = await newTenant()
    const readable = model(() => says('Blue.'))
    const ofTenant = await newSession({ model: readable.id }, owner.key)
    const chatOnly = await newKey(owner.id, ['chat'])
    // The first key reads all sessions of its tenant, but none of another one; the second reads only its own.
    const tried: [key: string, target: string][] = [
      [owner.key, other.id],
      [chatOnly, ofTenant.id],
    ]
    for (const [key, target] of tried) {
      const asking: ReturnType<typeof model> = model(() => (asking.requests.length === 1 ? ask(target) : says('ok')))
      const { id } = await newSession({ model: asking.id }, key)
      const run = await call('POST', `/api/sessions/${id}/chat`, { key, body: { input: 'go' } })
      expect(run.status).toBe(200)
      await until(async () => {
        return JSON.stringify((await listMessages(id, owner.key)) ?? '').includes('there is no such session for you')
      }, 30_000)
    }
    expect([...other.requests, ...readable.requests]).toEqual([])
  })

  it('ends after some rounds that no person takes part in', async () => {
    const other = await scripted(() => says('Again?'))
    const asking = await scripted((nth) => (nth % 2 ? says(`Round ${nth}.`) : ask(other.id)))
    await send(asking.id, 'Ask for ever.')
    await until(async () => {
      await Promise.all([asking.id, other.id].map((one) => fireAlarm(one).catch(() => undefined)))
      return (await linesOf(asking.id)).some((line) => line.includes('4 times without a message of a person'))
    }, 40_000)
    expect(other.requests).toHaveLength(4)
  })

  it('is refused to itself, and counted in one run', async () => {
    const other = await scripted(() => says('Blue.'))
    const many = calls(
      ...Array.from({ length: 6 }, (_one, i) => ({
        name: 'sessions_send',
        input: { session_id: other.id, message: `Well, ${i}?` },
      })),
    )
    const asking: Awaited<ReturnType<typeof scripted>> = await scripted((nth) => [many, says('ok')][nth] ?? says('ok'))
    await send(asking.id, 'go')
    const results = (await stored(asking.id))
      .filter(({ role }) => role === 'tool')
      .map(({ content }) => String(content))
    expect(results.filter((text) => text.includes('"sent"'))).toHaveLength(5)
    expect(results.at(-1)).toContain('A run may ask 5 questions')
  })
})

describe('the list of sessions', () => {
  it('has the other sessions that the caller may read', async () => {
    const other = await scripted(() => says('Blue.'))
    await send(other.id, 'hello')
    const asking = await scripted((nth) => [calls({ name: 'sessions_list', input: {} }), says('ok')][nth] ?? says('ok'))
    await send(asking.id, 'go')
    const [result] = (await stored(asking.id)).filter(({ role }) => role === 'tool')
    expect(String(result?.content)).toContain(other.id)
    expect(String(result?.content)).not.toContain(asking.id)
  })
})
