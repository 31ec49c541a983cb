/** Tests turns with tools on a real server. */

import { describe, expect, it } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import { lines, pdfWith } from '../backends/support/pdf.ts'
import type { Message } from './support/client.ts'
import { listModelRequests as modelWasAsked, owner, server } from './support/here.ts'
import { isRunEnd, subscribe } from './support/sse.ts'

/** Every call has its result, in the order asked, and nobody speaks twice in a row. */
function expectWellFormed(messages: readonly Message[]) {
  const asked: string[] = []
  const answered: string[] = []
  const offences: string[] = []
  for (const [at, { role, tool_calls: calls = [], tool_call_id: answer }] of messages.entries()) {
    if (role === 'tool') answered.push(answer ?? '')
    else if (answered.length !== asked.length) offences.push(`open call before message ${at}`)
    else if (role === messages[at - 1]?.role) offences.push(`two of ${role} at ${at}`)
    asked.push(...calls.map(({ id }) => id))
  }
  expect(offences).toEqual([])
  expect(answered).toEqual(asked)
}

describe('a turn with tools', () => {
  it('runs sixty calls one after the other', async () => {
    const session = await owner.newSession()
    const run = await owner.chat(session, '[[tools 60 write_file {"path":"f$i.txt","content":"n$i"}]] [[say sixty]]')
    expect(run.status).toBe(200)
    expect(run.json).toMatchObject({ status: 'completed', completed: true, output: 'sixty' })
    const messages = await owner.messages(session)
    expectWellFormed(messages)
    expect(messages.filter(({ role }) => role === 'tool')).toHaveLength(60)
    expect(messages).toHaveLength(122)
    for (const n of [0, 31, 59])
      expect((await owner.get(`/api/sessions/${session}/files/f${n}.txt`)).text).toBe(`n${n}`)
  })

  itInTurn('runs eight calls at once and keeps their order in the results', async () => {
    const session = await owner.newSession()
    for (let n = 0; n < 8; n++)
      await owner.send('PUT', `/api/sessions/${session}/files/p${n}.txt`, { raw: `content ${n}` })
    const calls = Array.from({ length: 8 }, (_, n) => `read_file {"path":"p${n}.txt"}`).join(' + ')
    const run = await owner.chat(session, `[[call ${calls} then say eight]]`)
    expect(run.json).toMatchObject({ status: 'completed', output: 'eight' })
    const messages = await owner.messages(session)
    expectWellFormed(messages)
    expect(messages.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      ...Array.from({ length: 8 }, () => 'tool'),
      'assistant',
    ])
    const results = messages.filter(({ role }) => role === 'tool').map(({ content }) => content ?? '')
    for (const [n, content] of results.entries()) expect(content).toContain(`content ${n}`)
  })

  itInTurn('reads a PDF from the workspace', async () => {
    const session = await owner.newSession()
    const raw = await pdfWith([lines('Annual report'), lines('Page two')])
    await owner.send('PUT', `/api/sessions/${session}/files/report.pdf`, { raw })
    const run = await owner.chat(session, '[[tools 1 read_file {"path":"report.pdf"}]] [[say read]]')
    expect(run.json).toMatchObject({ status: 'completed', output: 'read' })
    const [result] = (await owner.messages(session)).filter(({ role }) => role === 'tool')
    expect(result?.content).toContain('[Page 1 of 2]')
    expect(result?.content).toContain('Page two')
  })

  it('reports invalid JSON arguments to the model and continues', async () => {
    const session = await owner.newSession()
    const run = await owner.chat(session, '[[badargs write_file]] [[say went on]]')
    expect(run.json).toMatchObject({ status: 'completed', output: 'went on' })
    expectWellFormed(await owner.messages(session))
  })

  it('calls the model again when the connection breaks before the answer', async () => {
    const session = await owner.newSession()
    const input = '[[drop 0 times=1 nonce=cut-0]] [[say whole]]'
    expect((await owner.chat(session, input)).json).toMatchObject({ status: 'completed', output: 'whole' })
    expect(await modelWasAsked('cut-0')).toHaveLength(2)
    expect((await owner.messages(session)).map(({ content }) => content)).toEqual([input, 'whole'])
  })

  it('continues the answer when the connection breaks in the middle of it', async () => {
    const session = await owner.newSession()
    const listener = await subscribe({ url: server.url, key: server.key, path: `/api/sessions/${session}/events` })
    const run = await owner.chat(session, '[[drop 3 times=1]] [[say whole]]')
    expect(run.json).toMatchObject({ status: 'completed', completed: true })
    await listener.until(isRunEnd)
    listener.close()
    const { output } = run.json
    // What was heard stays and is said once; the model goes on behind it.
    expect(output).toMatch(/^word0 word1 word2 \S/)
    expect(output.match(/word0/g)).toHaveLength(1)
    expect(listener.events.map(({ type, data }) => (type === 'message.delta' ? data.delta : '')).join('')).toBe(output)
    const messages = await owner.messages(session)
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant'])
    expect(messages[1]?.content).toBe(output)
  })

  it('runs to its end when the client disconnects', async () => {
    const session = await owner.newSession()
    const input = '[[slow gap=30 chunks=40]]'
    const path = `/api/sessions/${session}/chat/stream`
    const listener = await subscribe({ url: server.url, key: server.key, path, body: { input } })
    await listener.until(({ type }) => type === 'message.delta')
    listener.close()
    const after = await subscribe({
      url: server.url,
      key: server.key,
      path: `/api/sessions/${session}/events`,
      after: 0,
    })
    const end = await after.until(isRunEnd)
    after.close()
    expect(end.data.output.trim().split(' ')).toHaveLength(40)
    const messages = await owner.messages(session)
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant'])
    expect(messages[1]?.content?.trim().split(' ')).toHaveLength(40)
  })
})
