/** Tests the review of conversations: it has its tools and rights only, and is never in the way of the conversation. */

import { beforeAll, describe, expect, it } from 'vitest'
import { calls, Gate, listTexts, model, type ModelRequest, says, until } from '#test/support/scripted-model.ts'
import { applyMigrations, call, newKey, newSession, newTenant } from '#test/worker/client.ts'

beforeAll(applyMigrations)

const toolsOf = ({ tools = [] }: ModelRequest) => tools.map(({ function: { name } }) => name).toSorted()
const remembers = (content: string) => calls({ name: 'memory', input: { target: 'memory', action: 'add', content } })

/** A tenant whose reviews have a model of their own, every second message. */
async function setUp(review: Parameters<typeof model>[0], settings: object = {}, scopes?: string[]) {
  const { id: tenantId, key: owner } = await newTenant()
  const key = scopes ? await newKey(tenantId, scopes) : owner
  const [main, reviewer] = [model(() => says('ok')), model(review)]
  const learning = { model: reviewer.id, review_turns: 2, review_steps: 3, ...settings }
  await call('PATCH', '/api/settings', { key: owner, body: { learning } })
  const { id } = await newSession({ model: main.id }, key)
  const say = async (input: string) => {
    const { status } = await call('POST', `/api/sessions/${id}/chat`, { key, body: { input } })
    expect(status).toBe(200)
  }
  const memory = async () =>
    (await call<{ memory: { entries: string[] } }>('GET', '/api/memory', { key: owner })).body.memory.entries
  return { key, owner, id, main, reviewer, say, memory }
}

describe('a review', () => {
  it('stores what the conversation teaches, with its own tools, and is billed as work of nobody', async () => {
    const { main, reviewer, say, memory, key, id } = await setUp([
      remembers('Deploys run on Fridays.'),
      says('Stored one.'),
    ])
    await say('We deploy on Fridays.')
    expect(reviewer.requests).toEqual([])
    await say('Remember that.')
    await until(async () => (await memory()).length === 1)
    expect(await memory()).toEqual(['Deploys run on Fridays.'])
    expect(toolsOf(reviewer.requests[0]!)).toEqual(['memory', 'skill_manage', 'skill_view', 'skills_list'])
    expect(listTexts(reviewer.requests[0]!).join()).toContain('[user] We deploy on Fridays.')
    await until(() => reviewer.requests.length === 2)
    expect(main.requests.length).toBe(2)
    const { body } = await call<{ data: { content: string }[] }>('GET', `/api/sessions/${id}/messages`, { key })
    expect(body.data.map(({ content }) => content)).toEqual(['We deploy on Fridays.', 'ok', 'Remember that.', 'ok'])
  })

  it('stores what matters for the project of the conversation there', async () => {
    const fact = calls({ name: 'memory', input: { target: 'project', action: 'add', content: 'Six beds.' } })
    const { reviewer, key, id, say, memory } = await setUp([fact, says('Stored one.')])
    const { body: project } = await call<{ id: string }>('POST', '/api/projects', { key, body: { name: 'Trips' } })
    await call('PATCH', `/api/sessions/${id}`, { key, body: { project_id: project.id } })
    await say('The villa has six beds.')
    await say('Remember that.')
    await until(() => reviewer.requests.length === 2)
    const path = `/api/memory?project=${project.id}`
    const { body } = await call<{ project: { entries: string[] } }>('GET', path, { key })
    expect([body.project.entries, await memory()]).toEqual([['Six beds.'], []])
    expect(JSON.stringify(reviewer.requests[0]?.messages)).toContain('the target project')
  })

  it('comes at once after a compression, with the messages that the summary has replaced', async () => {
    const { reviewer, say, key, id } = await setUp(() => says('Nothing'), { review_turns: 50, review_steps: 50 })
    await say('We deploy on Fridays.')
    for (let n = 0; n < 30; n++) await say(`more ${n} ${'x'.repeat(200)}`)
    expect(reviewer.requests).toEqual([])
    const { body } = await call<{ compressed: boolean }>('POST', `/api/sessions/${id}/compress`, { key, body: {} })
    expect(body.compressed).toBe(true)
    await say('Go on')
    await until(() => reviewer.requests.length === 1)
    expect(listTexts(reviewer.requests[0]!).join()).toContain('[user] We deploy on Fridays.')
  })

  it('is not waited for, and looks at each part once', async () => {
    const gate = new Gate()
    const { reviewer, say } = await setUp(() => says('Nothing', gate))
    await say('one')
    await say('two')
    await until(() => reviewer.requests.length === 1)
    await say('three')
    await say('four')
    await until(() => reviewer.requests.length === 2)
    gate.open()
    const [first, second] = reviewer.requests.map((asked) => listTexts(asked).join())
    expect([first?.includes('[user] two'), second?.includes('[user] two'), second?.includes('[user] three')]).toEqual([
      true,
      false,
      true,
    ])
  })

  it.each<[string, object, string[] | undefined]>([
    ['when it is switched off', { review: false }, undefined],
    ['for a key that may not write', {}, ['chat', 'read']],
  ])('is not made %s', async (_name, settings, scopes) => {
    const { reviewer, say, owner, id } = await setUp([], settings, scopes)
    for (const text of ['one', 'two', 'three']) await say(text)
    await until(async () => {
      const usage = await call<{ data: { key?: string }[] }>('GET', '/api/usage?group=session', { key: owner })
      return usage.body.data.some(({ key }) => key === id)
    })
    expect(reviewer.requests).toEqual([])
  })

  it('may not call other tools', async () => {
    const { reviewer, say, memory } = await setUp([
      calls({ name: 'terminal', input: { command: 'echo hi' } }),
      remembers('Still here.'),
      says('Done.'),
    ])
    await say('one')
    await say('two')
    await until(async () => (await memory()).length === 1)
    expect(listTexts(reviewer.requests[1]!).join()).toMatch(
      /terminal[^]*(not available|no tool|does not exist|unknown)/i,
    )
  })
})
