/** Tests the question after a long task: asked once, only where somebody can answer, and reviewed with its answer. */

import { beforeAll, describe, expect, it } from 'vitest'
import { calls, listTexts, model, type ModelRequest, says, until } from '#test/support/scripted-model.ts'
import { applyMigrations, call, newKey, newSession, newTenant } from '#test/worker/client.ts'

beforeAll(applyMigrations)

const plans = calls({ name: 'todo', input: {} })
const note = /This has become a long task/
const asks = calls({
  name: 'clarify',
  input: { question: 'How did it go?', choices: ['It worked: keep it as a skill', 'It worked'] },
})
const skill = '---\nname: release\ndescription: Makes a release.\n---\n\nRead the commits first.\n'
const keeps = calls({ name: 'skill_manage', input: { action: 'create', name: 'release', content: skill } })

/** Which requests of the model have the note, by their last message. */
const notedIn = (requests: readonly ModelRequest[]) =>
  requests.flatMap((asked, i) => (note.test(listTexts(asked).at(-1) ?? '') ? [i] : []))

async function setUp(script: Parameters<typeof model>[0], learning: object = {}, scopes?: readonly string[]) {
  const { id: tenantId, key: owner } = await newTenant()
  const key = scopes ? await newKey(tenantId, [...scopes]) : owner
  const [main, reviewer] = [model(script), model(() => says('Noted.'))]
  await call('PATCH', '/api/settings', {
    key: owner,
    body: {
      learning: { model: reviewer.id, review_turns: 100, review_steps: 100, ask_after_steps: 3, ...learning },
      approvals: { mode: 'off' },
    },
  })
  const { id } = await newSession({ model: main.id }, key)
  const say = (input: string) => call('POST', `/api/sessions/${id}/chat`, { key, body: { input } })
  return { key, owner, id, main, reviewer, say, path: `/api/sessions/${id}` }
}

type Pending = { readonly data: readonly { readonly id: string; readonly question?: string; choices?: string[] }[] }

describe('the question after a long task', () => {
  it('is asked once, with choices; its answer keeps a skill, and is reviewed at once', async () => {
    const script = [plans, plans, plans, asks, keeps, says('Kept.'), plans, plans, plans, plans, says('Again.')]
    const { key, main, reviewer, say } = await setUp(script)
    const running = say('make the release')
    let pending: Pending['data'] = []
    await until(async () => (pending = (await call<Pending>('GET', '/api/questions', { key })).body.data).length === 1)
    expect(pending[0]).toMatchObject({
      question: 'How did it go?',
      choices: ['It worked: keep it as a skill', 'It worked'],
    })
    expect(notedIn(main.requests)).toEqual([3])
    const answer = 'It worked: keep it as a skill'
    await call('POST', `/api/questions/${pending[0]?.id}`, { key, body: { answer } })
    await running
    expect((await call('GET', '/api/skills/release', { key })).status).toBe(200)
    await until(() => reviewer.requests.length === 1)
    expect(listTexts(reviewer.requests[0]!).join()).toMatch(/result of clarify[^]*keep it as a skill/)
    await say('and once more')
    expect(notedIn(main.requests)).toEqual([3])
    expect(reviewer.requests.length).toBe(1)
  })

  it.each<[string, object, readonly string[] | undefined]>([
    ['before so many steps', { ask_after_steps: 9 }, undefined],
    ['without the setting', { ask_after_steps: null }, undefined],
    ['of a key that may not write', {}, ['chat', 'read']],
  ])('is not asked %s', async (_name, learning, scopes) => {
    const { main, say } = await setUp([plans, plans, plans, plans, says('Done.')], learning, scopes)
    expect((await say('make the release')).status).toBe(200)
    expect([main.requests.length, notedIn(main.requests)]).toEqual([5, []])
  })

  it('is not asked without the tools for it', async () => {
    const { key, owner, main, path } = await setUp([plans, plans, plans, plans, says('Done.')])
    await call('PATCH', '/api/settings', { key: owner, body: { toolsets: { disabled: ['clarify'] } } })
    await call('POST', `${path}/chat`, { key, body: { input: 'make the release' } })
    expect([main.requests.length, notedIn(main.requests)]).toEqual([5, []])
  })
})
