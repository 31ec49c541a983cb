/** Tests the calls of the API: which of them are repeated, and what an error says. */

import { describe, expect, it } from 'vitest'
import { createApi } from '../../../bin/lib/api.mjs'

describe('a call of the API', () => {
  let keys: (string | undefined)[] = []
  const api = (answers: readonly (Response | Error)[], waits: number[] = []) => {
    keys = []
    const open = [...answers]
    const fetch = async (_url: string, request: { headers: Record<string, string> }) => {
      keys.push(request.headers['idempotency-key'])
      const next = open.shift() ?? new Response('{}', { headers: { 'content-type': 'application/json' } })
      if (next instanceof Error) throw next
      return next
    }
    return createApi({ url: 'http://talaria.test/', key: 'k', fetch, wait: async (ms: number) => void waits.push(ms) })
  }

  it('waits as told when the server is busy, and tries again when it is away', async () => {
    const waits: number[] = []
    const busy = new Response('', { status: 429, headers: { 'retry-after': '2' } })
    expect(await api([busy, new Error('reset')], waits)('GET', '/api/settings')).toEqual({ status: 200, body: {} })
    expect(waits).toEqual([2_000, 1_000])
  })

  const lost = () => [new Error('reset'), new Response('', { status: 503 })]

  it.each([
    '/api/sessions',
    '/api/sessions/ses_1/chat',
    '/api/sessions/ses_1/steer',
    '/api/sessions/import?id=x',
    '/api/jobs/job_1/run',
    '/api/batches',
    '/v1/responses',
  ])('repeats POST %s with the same Idempotency-Key', async (path) => {
    expect(await api(lost())('POST', path, {})).toMatchObject({ status: 200 })
    expect(keys).toEqual([expect.any(String), keys[0], keys[0]])
  })

  it.each(['/api/keys', '/api/sessions/delete', '/api/channels/ch_1/test'])(
    'sends POST %s once, because it has no Idempotency-Key',
    async (path) => {
      await expect(api(lost())('POST', path, {})).rejects.toThrow('TALARIA_URL')
      expect(keys).toEqual([undefined])
    },
  )

  it('sends no path that the address would resolve to another route', async () => {
    const climbs = api([])('PUT', '/api/sessions/ses_1/files/../../../settings', {})
    await expect(climbs).rejects.toThrow('A path must not have ".."')
    expect(keys).toEqual([])
    expect(await api([])('GET', '/api/sessions/ses_1/files/a..b?note=/../')).toMatchObject({ status: 200 })
  })

  it('repeats every request that a limit has refused', async () => {
    expect(await api([new Response('', { status: 429 })])('POST', '/api/keys', {})).toMatchObject({ status: 200 })
  })

  it('says what is wrong in the words of the server, or that there is none', async () => {
    const refused = Response.json({ error: { message: 'Too long.', code: 'invalid' } }, { status: 400 })
    await expect(api([refused])('PATCH', '/api/memory', {})).rejects.toMatchObject({
      message: 'Too long.',
      status: 400,
    })
    await expect(api(Array.from({ length: 5 }, () => new Error('no')))('GET', '/')).rejects.toThrow('TALARIA_URL')
  })
})
