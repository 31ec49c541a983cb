/** Tests that strange text comes through whole: to the model, into the history, into the search, through an export. */

import { beforeAll, describe, expect, it } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import { model, says, until } from '../support/scripted-model.ts'
import { applyMigrations, call, newTenant, request } from './client.ts'

let key: string

beforeAll(async () => {
  await applyMigrations()
  key = (await newTenant()).key
})

const rows = Array.from({ length: 10_000 }, (_, n) => `| ${n} | "quoted, ${n}" | ü |`).join('\n')
const texts: readonly (readonly [name: string, word: string, text: string])[] = [
  ['zero characters', 'wordzero', 'wordzero a\0b\u0001\u001b[31m'],
  ['writing from right to left', 'שלום', 'שלום \u202Eabc\u202C \u2067مرحبا بالعالم\u2069'],
  ['Arabic words', 'بالعالم', 'مرحبا بالعالم يا صديقي'],
  ['emoji of several characters', 'wordemoji', 'wordemoji 👨‍👩‍👧‍👦🏳️‍🌈🇩🇪 e\u0301'],
  ['an emoji alone in a question', '🦔', 'a hedgehog 🦔 crossed'],
  ['a table of ten thousand lines', 'wordtable', `wordtable\n${rows}`],
  ['CSV with quotes', 'wordcsv', 'wordcsv,"a ""b"" c","line\r\nbreak"\r\n\t;\'=1+1'],
  ['HTML and entities', 'wordhtml', 'wordhtml <script>alert(1)</script> &amp;&lt; ]]> <!--'],
  ['JSON and templates', 'wordjson', 'wordjson {"__proto__":{"a":1}} ${x} {{y}} %s \\u0041 \\'],
  ['white space', 'wordspace', '  wordspace\u00a0\u2028\u2029\ufeff\u200b\t\n\n '],
  ['Chinese', '港口', '我们的港口在北边，潮汐表在墙上。'],
  ['Japanese', '潮汐', '港の潮汐表は壁にある。'],
  ['Korean', '항구', '항구는 북쪽에 있습니다'],
  ['an apostrophe', "O'Brien's", "O'Brien's boat isn’t here"],
]

describe('strange text', () => {
  it.each(texts)('comes through whole: %s', async (_, word, text) => {
    const scripted = model(() => says(text))
    const body = { model: scripted.id, messages: [{ role: 'user', content: text }] }
    const sent = await call<{ choices: { message: { content: string } }[] }>('POST', '/v1/chat/completions', {
      key,
      body,
    })
    expect(sent.status).toBe(200)
    expect(sent.body.choices[0]?.message.content).toBe(text)
    expect(scripted.requests[0]?.messages.at(-1)?.content).toBe(text)
    const session = sent.headers.get('x-talaria-session-id')
    const contents = async (id: string | null) => {
      const { body: list } = await call<{ data: { content: string }[] }>('GET', `/api/sessions/${id}/messages`, { key })
      return list.data.map(({ content }) => content)
    }
    expect(await contents(session)).toEqual([text, text])
    const find = async (id: string | null) => {
      const path = `/api/search?limit=20&q=${encodeURIComponent(word)}`
      const { body: found } = await call<{ data: { session_id: string }[] }>('GET', path, { key })
      return found.data.some((hit) => hit.session_id === id)
    }
    await until(() => find(session))
    const exported = await request('GET', `/api/sessions/${session}/export?format=jsonl`, { key })
    const imported = await call<{ id: string }>('POST', '/api/sessions/import', { key, body: await exported.text() })
    expect(imported.status).toBe(201)
    expect(await contents(imported.body.id)).toEqual([text, text])
    await until(() => find(imported.body.id))
  })

  itInTurn('streams whole, in both APIs', async () => {
    for (const [, , text] of texts) {
      const scripted = model(() => says(text))
      const chat = await request('POST', '/v1/chat/completions', {
        key,
        body: { model: scripted.id, stream: true, messages: [{ role: 'user', content: text }] },
      })
      const events = (await chat.text()).split('\n\n').filter((line) => line.startsWith('data: {'))
      const said = events.map((line) => JSON.parse(line.slice(6)).choices[0]?.delta?.content ?? '').join('')
      expect(said).toBe(text)
      const response = await call<{ output: { content: { text: string }[] }[] }>('POST', '/v1/responses', {
        key,
        body: { model: scripted.id, input: text },
      })
      expect(response.body.output[0]?.content[0]?.text).toBe(text)
    }
  })

  it('with half a character is refused where it would be stored as other characters', async () => {
    const session = await call<{ id: string }>('POST', '/api/sessions', { key, body: {} })
    const half = 'a\ud800b'
    const job = { name: 'a', schedule: '0 9 * * *', prompt: 'a' }
    const doors: readonly (readonly [method: string, path: string, body: object, param: string])[] = [
      ['POST', '/api/projects', { name: half }, 'name'],
      ['POST', '/api/projects', { name: 'a', instructions: half }, 'instructions'],
      ['POST', '/api/keys', { name: half, scopes: ['read'] }, 'name'],
      ['POST', '/api/jobs', { ...job, name: half }, 'name'],
      ['POST', '/api/jobs', { ...job, prompt: half }, 'prompt'],
      ['POST', '/api/skills', { name: 'half', content: `---\nname: half\ndescription: ${half}\n---\nText` }, 'content'],
      ['PATCH', `/api/sessions/${session.body.id}`, { title: half }, 'title'],
      ['POST', `/api/sessions/${session.body.id}/fork`, { title: half }, 'title'],
      ['PATCH', '/api/settings', { toolsets: { enabled: [half] } }, 'toolsets'],
    ]
    for (const [method, path, body, param] of doors) {
      // JSON.stringify escapes the half as \\ud800.
      const refused = await call<{ error: { param: string } }>(method, path, { key, body })
      expect([path, refused.status, refused.body.error.param]).toEqual([path, 400, param])
    }
    const imported = await call<{ id: string; title: string }>('POST', '/api/sessions/import', {
      key,
      body: { session: { title: half }, messages: [{ role: 'user', content: half }] },
    })
    expect([imported.status, imported.body.title]).toEqual([201, 'a\uFFFDb'])
    const whole = await call('PATCH', `/api/sessions/${session.body.id}`, { key, body: { title: 'a\ud83e\udd94b' } })
    expect([whole.status, whole.body]).toMatchObject([200, { title: 'a🦔b' }])
  })

  it('with half a character keeps the rest', async () => {
    const scripted = model(() => says('ok'))
    const body = `{"model":${JSON.stringify(scripted.id)},"messages":[{"role":"user","content":"a\\ud800b half"}]}`
    const sent = await call('POST', '/v1/chat/completions', {
      key,
      body,
      headers: { 'content-type': 'application/json' },
    })
    expect(sent.status).toBe(200)
    expect(scripted.requests[0]?.messages.at(-1)?.content).toBe('a\uFFFDb half')
  })
})
