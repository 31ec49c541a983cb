/** Tests approvals and questions in chat completions: a text ends the answer, and the next message decides. */

import { beforeAll, describe, expect, it } from 'vitest'
import { calls, listTexts, model, type Reply, says, type ScriptedCall, until } from '../support/scripted-model.ts'
import { applyMigrations, call, newKey, newSession, newTenant, request } from './client.ts'
import { send } from './listen.ts'

beforeAll(applyMigrations)

const user = (content: string) => ({ role: 'user', content })
const push = (id: string, branch = 'main'): ScriptedCall => ({
  id,
  name: 'terminal',
  input: { command: `git push origin ${branch}` },
})
const ask = (id: string, question = 'Which?'): ScriptedCall => ({
  id,
  name: 'clarify',
  input: { question, choices: ['red', 'blue'] },
})
const manual = { approvals: { mode: 'manual' } }

type Choice = { readonly message: { readonly content: string }; readonly finish_reason: string }
type Completion = { readonly choices: readonly Choice[] }

async function sessionWith(replies: readonly Reply[], settings: object = {}) {
  const scripted = model(replies)
  const { id } = await newSession({ model: scripted.id, settings: { ...manual, ...settings } })
  const fieldsOf = (text: string) => ({ messages: [user(text)], model: scripted.id })
  const headers = { 'x-talaria-session-id': id }
  const say = async (text: string, key?: string) => {
    const sent = { body: fieldsOf(text), headers, ...(key !== undefined && { key }) }
    const { body } = await call<Completion>('POST', '/v1/chat/completions', sent)
    const [choice] = body.choices
    expect([text, choice?.finish_reason]).toEqual([text, 'stop'])
    return choice?.message.content ?? ''
  }
  const stream = async (text: string) => {
    const body = { ...fieldsOf(text), stream: true }
    const frames = (await (await request('POST', '/v1/chat/completions', { body, headers })).text()).split('\n\n')
    const chunks = frames.flatMap((frame) => {
      const [, data] = /^data: (\{.*)$/m.exec(frame) ?? []
      return data
        ? [JSON.parse(data) as { choices: { delta: { content?: string }; finish_reason: string | null }[] }]
        : []
    })
    return {
      text: chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join(''),
      reasons: chunks.flatMap(({ choices }) => choices[0]?.finish_reason ?? []),
    }
  }
  const lastTexts = (n: number) => listTexts(scripted.requests.at(-1) as never).slice(-n)
  const status = async () => (await call('GET', `/api/sessions/${id}`)).body['status']
  return { id, scripted, say, stream, lastTexts, status }
}

describe('an approval in a chat completion', () => {
  it('ends the answer with a text, and /approve goes on', async () => {
    const { say, status, scripted } = await sessionWith([calls(push('c1')), says('Pushed.')])
    const text = await say('push it')
    expect(text).toContain('may terminal be called with this?')
    expect(text).toContain('git push origin main')
    expect(text).toContain('`session` and `always` allow every command "git push …".')
    expect(text).toContain('`/approve`, `/approve session`, `/approve always` or `/deny REASON`')
    expect(await status()).toBe('waiting')
    expect(await say('/approve')).toBe('Pushed.')
    expect(listTexts(scripted.requests[1] as never).join()).not.toContain('/approve')
  })

  it('is streamed in the same way, after what the model said', async () => {
    const { stream } = await sessionWith([calls(push('c1')), says('Push', 'ed.')])
    const asked = await stream('push it')
    expect(asked.text).toContain('Answer `/approve`')
    expect(asked.reasons).toEqual(['stop'])
    expect(await stream('/approve session')).toEqual({ text: 'Pushed.', reasons: ['stop'] })
  })

  it('is denied with a reason that the model reads', async () => {
    const { say, lastTexts } = await sessionWith([calls(push('c1')), says('All right.')])
    await say('push it')
    expect(await say('/deny not on Fridays')).toBe('All right.')
    expect(lastTexts(1)[0]).toContain('not on Fridays')
  })

  it('is listed with all others, which are decided one after the other or at once', async () => {
    const replies = [calls(push('c1'), push('c2', 'dev'), push('c3', 'next')), says('Done.')]
    const { say, lastTexts } = await sessionWith(replies)
    const text = await say('push all')
    expect(text).toMatch(/1\. [^]*main[^]*2\. [^]*dev[^]*3\. [^]*next/)
    const left = await say('/approve')
    expect(left).not.toContain('origin main')
    expect(left).toMatch(/1\. [^]*dev[^]*2\. [^]*next/)
    expect(await say('/deny all')).toBe('Done.')
    expect(lastTexts(2).join()).toMatch(/did not allow[^]*did not allow/)
  })

  it('needs the scope approve: another key is told who decides', async () => {
    const tenant = await newTenant()
    const key = await newKey(tenant.id, ['chat', 'read', 'write'])
    const scripted = model([calls(push('c1')), says('Pushed.')])
    const { id } = await newSession({ model: scripted.id, settings: manual }, tenant.key)
    const say = async (text: string) => {
      const body = { messages: [user(text)], model: scripted.id }
      const answer = await call<Completion>('POST', '/v1/chat/completions', {
        key,
        body,
        headers: { 'x-talaria-session-id': id },
      })
      return answer.body.choices[0]?.message.content ?? ''
    }
    expect(await say('push it')).toContain('This key may not approve')
    const again = await say('/approve')
    expect(again).toContain('POST /api/approvals/')
    expect(scripted.requests).toHaveLength(1)
    const [, approval = ''] = /\/api\/approvals\/(\S+?)\./.exec(again) ?? []
    expect(approval).toBe(id)
  })
})

describe('a question in a chat completion', () => {
  it('ends the answer, and the next message is its answer', async () => {
    const { say, lastTexts } = await sessionWith([calls(ask('q1')), says('Blue it is.')])
    const text = await say('paint it')
    expect(text).toBe('Which?\n\n- red\n- blue\n\nYour next message is the answer.')
    expect(await say('blue')).toBe('Blue it is.')
    expect(lastTexts(1)[0]).toContain('"user_response":"blue"')
  })

  it('is answered in every busy mode, the first of several first', async () => {
    const replies = [calls(ask('q1', 'First?'), ask('q2', 'Second?')), says('Done.')]
    const { say, lastTexts } = await sessionWith(replies, { busy_input_mode: 'queue' })
    await say('go')
    expect(await say('one')).toBe('Second?\n\n- red\n- blue\n\nYour next message is the answer.')
    expect(await say('two')).toBe('Done.')
    expect(lastTexts(2).join()).toMatch(/"one"[^]*"two"/)
  })

  it('of the demo is answered without any provider', async () => {
    const { id } = await newSession({ model: 'demo/agent' })
    const say = async (text: string) => {
      const body = { messages: [user(text)], model: 'demo/agent' }
      const headers = { 'x-talaria-session-id': id }
      return (await call<Completion>('POST', '/v1/chat/completions', { body, headers })).body.choices[0]?.message
        .content
    }
    expect(await say('ask: Which colour?')).toContain('Which colour?')
    expect(await say('blue')).toContain('blue')
  })
})

describe('another message while an approval is pending', () => {
  it('interrupts: the approval is withdrawn, and the model reads the message', async () => {
    const { say, lastTexts } = await sessionWith([calls(push('c1')), says('Forgotten.')])
    await say('push it')
    expect(await say('never mind')).toBe('Forgotten.')
    expect(lastTexts(2)[0]).toContain('did not allow')
    expect(lastTexts(1)).toEqual(['user: never mind'])
  })

  it('steers: it is kept for the decision, and the text comes again', async () => {
    const { say, lastTexts } = await sessionWith([calls(push('c1')), says('Done.')], { busy_input_mode: 'steer' })
    await say('push it')
    expect(await say('but only dev')).toContain('Answer `/approve`')
    expect(await say('/deny')).toBe('Done.')
    expect(lastTexts(1)[0]).toContain('but only dev')
  })

  it('is queued: the text comes again, and the message has its own run afterwards', async () => {
    const replies = [calls(push('c1')), says('Denied.'), says('Second.')]
    const { id, say, stream, scripted } = await sessionWith(replies, { busy_input_mode: 'queue' })
    await say('push it')
    const text = await say('and then this')
    expect(text).toContain('Your message is queued')
    expect(text).toContain('Answer `/approve`')
    expect((await stream('and that')).text).toContain('Your message is queued')
    expect(await say('/deny')).toBe('Denied.')
    await until(() => scripted.requests.length === 4)
    await until(async () => (await call('GET', `/api/sessions/${id}`)).body['status'] === 'idle')
  })

  it('interrupts in the native API as well', async () => {
    const { id, lastTexts, say } = await sessionWith([calls(push('c1')), says('Done.')])
    await say('push it')
    expect((await send(id, 'never mind'))['output']).toBe('Done.')
    expect(lastTexts(1)).toEqual(['user: never mind'])
  })

  it.each(['steer', 'queue'])('waits in the native API by the mode %s', async (mode) => {
    const settings = { busy_input_mode: mode }
    const { id, say, status, scripted } = await sessionWith([calls(push('c1')), says('Done.')], settings)
    await say('push it')
    const sent = send(id, 'never mind')
    await until(async () => (await status()) === 'waiting')
    expect(scripted.requests).toHaveLength(1)
    await say('/deny')
    expect((await sent)['status']).toBe('completed')
  })
})
