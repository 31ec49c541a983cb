/** Tests how answers of an API become outcomes, by the table that a platform states. */

import { describe, expect, it } from 'vitest'
import type { ChannelConnection } from '#channels/channel.ts'
import { classifyReport, defineApi, failedMedia, type OutcomeRule, sentOutcome } from '#channels/kit/api.ts'
import { serveHost } from '../../support/json-api.ts'

const outcomes: readonly OutcomeRule[] = [
  { codes: ['slow'], is: 'busy' },
  { codes: ['closed'], is: 'window', detail: 'too late' },
  { status: 410, is: 'gone' },
  { codes: [7], words: /LENGTH/, is: 'too_long' },
  { codes: 'any', is: 'fatal' },
]
const call = defineApi({
  prefix: ({ secrets }) => `bots/${secrets['id']}/`,
  headers: ({ secrets }) => ({ authorization: `Bearer ${secrets['token']}` }),
  isDone: ({ ok }) => ok !== false,
  readFailure: ({ code, message, details, after }) => ({
    code: code as string | number | undefined,
    message: message as string | undefined,
    details: details as string | undefined,
    waitSeconds: after,
  }),
  outcomes,
})
const connection: ChannelConnection = {
  apiBase: 'https://kit.test/',
  secrets: { id: 'b1', token: 'secret-token' },
  webhookUrl: 'https://talaria.test/webhooks/x/ch_1',
  fetchForeign: () => Promise.reject(new Error('not used')),
}

let next: () => Response = () => Response.json({})
let seen: { readonly path: string; readonly headers: Headers; readonly body: object } | undefined
serveHost('kit.test', (one) => {
  seen = one
  return next()
})
const answerTo = (answer: () => Response) => {
  next = answer
  return call(connection, { method: 'POST', path: 'send', body: { a: 1 } })
}
const refuse =
  (body: object, status = 400, headers = {}) =>
  () =>
    Response.json(body, { status, headers })

describe('calls', () => {
  it('joins address, prefix and path, and proves who calls', async () => {
    await answerTo(() => Response.json({ id: 'm1' }))
    expect([seen?.path, seen?.headers.get('authorization'), seen?.body]).toEqual([
      '/bots/b1/send',
      'Bearer secret-token',
      { a: 1 },
    ])
    await call(connection, { method: 'GET', path: 'me', isAnonymous: true })
    expect(seen?.headers.get('authorization')).toBeNull()
  })

  it.each<[string, () => Response, object]>([
    ['a code', refuse({ code: 'closed', message: 'x' }), { kind: 'window', detail: 'too late' }],
    ['a status', refuse({}, 410), { kind: 'gone', detail: 'HTTP 410' }],
    ['a code with words in its details', refuse({ code: 7, details: 'MAX_LENGTH' }), { kind: 'too_long' }],
    ['the same code without the words', refuse({ code: 7, message: 'no' }), { kind: 'fatal', detail: 'HTTP 400: no' }],
    ['an unknown code', refuse({ code: 'other' }, 403), { kind: 'fatal' }],
    ['no code', refuse({ message: 'no' }, 403), { kind: 'forbidden', detail: 'HTTP 403: no' }],
    ['no JSON', () => new Response('<html>', { status: 404 }), { kind: 'forbidden' }],
    [
      'a failure with status 200',
      refuse({ ok: false, code: 'slow', message: 'wait' }, 200),
      { kind: 'retry', waitMs: 5_000, detail: 'wait' },
    ],
    ['an unreadable success', () => new Response('<html>'), { kind: 'ambiguous' }],
    ['a success that says no without a code', refuse({ ok: false }, 200), { kind: 'ambiguous' }],
    ['a pause in the header', refuse({}, 429, { 'retry-after': '3' }), { kind: 'retry', waitMs: 3_000 }],
    ['a pause in the body', refuse({ after: 0.5 }, 429, { 'retry-after': '3' }), { kind: 'retry', waitMs: 500 }],
    ['a failure of the platform, whatever its code', refuse({ code: 'closed' }, 503), { kind: 'retry' }],
    [
      'a redirect',
      () => new Response(null, { status: 302, headers: { location: 'https://x.test' } }),
      { kind: 'retry' },
    ],
  ])('classifies %s', async (_name, answer, outcome) => {
    const result = await answerTo(answer)
    expect(result).toMatchObject({ kind: 'failed', outcome })
    expect(JSON.stringify(result)).not.toContain('secret-token')
  })

  it('takes an empty 204 as done, and finds the id of what was sent', async () => {
    expect(await answerTo(() => new Response(null, { status: 204 }))).toEqual({ kind: 'done', result: {} })
    const sent = await answerTo(() => Response.json({ id: 'm1' }))
    expect([sentOutcome(sent, ({ id }) => id), sentOutcome(sent, () => 7)]).toEqual([
      { kind: 'sent', id: 'm1' },
      { kind: 'sent' },
    ])
  })

  it('reports a broken connection as ambiguous', async () => {
    const result = await answerTo(() => {
      throw new TypeError('secret-token')
    })
    expect(result).toEqual({ kind: 'failed', outcome: { kind: 'ambiguous', detail: expect.any(String) } })
  })
})

describe('reports', () => {
  it('never repeats a message that was accepted once', () => {
    const kinds = ['closed', 'slow', 'other', undefined].map((code) => classifyReport(outcomes, { code }, 'd').kind)
    expect(kinds).toEqual(['window', 'fatal', 'fatal', 'fatal'])
  })

  it('reads a file again only where the same request may succeed', () => {
    const canRetry = (['retry', 'ambiguous', 'forbidden', 'fatal'] as const).map(
      (kind) => (failedMedia({ kind, detail: '' }) as { canRetry: boolean }).canRetry,
    )
    expect(canRetry).toEqual([true, true, false, false])
  })
})
