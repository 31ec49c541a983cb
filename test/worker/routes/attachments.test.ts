/** Tests the files of answers, their signed links, and the images of messages. */

import { beforeAll, describe, expect, it } from 'vitest'
import { calls, model, says } from '../../support/scripted-model.ts'
import { applyMigrations, call, newKey, newSession, newTenant, request } from '../client.ts'

beforeAll(applyMigrations)

type Run = {
  readonly run_id: string
  readonly attachments: readonly { path: string; url: string; mime: string; bytes: number }[]
}

type Limited = { readonly role?: object; readonly settings?: object; readonly path: string; readonly count: number }

const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

async function answerWith(text: string, files: Readonly<Record<string, string>>, key: string) {
  const written = Object.entries(files).map(([path, content], n) =>
    calls({ id: `w${n}`, name: 'write_file', input: { path, content } }),
  )
  const { id } = await newSession({ model: model([...written, says(text)]).id }, key)
  const { body } = await call<Run>('POST', `/api/sessions/${id}/chat`, { key, body: { input: 'go' } })
  return { id, run: body }
}

describe('the files of an answer', () => {
  it('are not among them when read_file would ask, and the answer says so', async () => {
    const { key } = await newTenant()
    const files = { 'deploy/server.key': 'secret', 'a.txt': 'x' }
    const { run } = await answerWith('MEDIA:deploy/server.key [k](deploy/server.key) MEDIA:a.txt', files, key)
    expect(run.attachments.map(({ path }) => path)).toEqual(['a.txt'])
    expect(run).toMatchObject({ output: expect.stringMatching(/deploy\/server\.key is not attached: .*secrets/) })
  })

  it.each([
    ['a role without them', { role: { toolsets: ['web'] }, path: 'deploy/a.txt', count: 0 }],
    [
      'tools that are disabled',
      { settings: { toolsets: { disabled: ['file', 'terminal'] } }, path: 'deploy/a.txt', count: 0 },
    ],
    [
      'read_file alone disabled',
      { settings: { toolsets: { disabled: ['read_file'] } }, path: 'deploy/a.txt', count: 0 },
    ],
    ['a role with the terminal alone', { role: { toolsets: ['terminal'] }, path: 'deploy/a.txt', count: 0 }],
    [
      'the same for what it may have put among the media',
      { role: { toolsets: ['terminal'] }, path: 'media/a.txt', count: 0 },
    ],
    ['read_file alone', { role: { toolsets: ['read_file'] }, path: 'deploy/a.txt', count: 1 }],
    ['a role without them, but media', { role: { toolsets: ['web'] }, path: 'media/a.png', count: 1 }],
    ['no limit', { path: 'deploy/a.txt', count: 1 }],
  ])(
    'are not among them when no tool of the turn may read files: %s',
    async (_name, { role = {}, settings = {}, path, count }: Limited) => {
      const { id: tenant, key } = await newTenant()
      const roles = { limited: { scopes: ['chat', 'read', 'write'], ...role } }
      await call('PATCH', '/api/settings', { key, body: { roles, ...settings } })
      const limited = await newKey(tenant, ['chat', 'read', 'write'], { role: 'limited' })
      const { id } = await newSession({ model: model([says(`MEDIA:${path}`)]).id }, limited)
      await request('PUT', `/api/sessions/${id}/files/${path}`, { key: limited, body: 'x' })
      const { body } = await call<Run>('POST', `/api/sessions/${id}/chat`, { key: limited, body: { input: 'go' } })
      expect(body.attachments ?? []).toHaveLength(count)
      expect(JSON.stringify(body).includes('may not read files')).toBe(count === 0)
    },
  )

  it.each(['read_file', 'toolset:file', '*'])('are not among them when a rule denies %s', async (tool) => {
    const { key } = await newTenant()
    const rules = [{ do: 'deny', tool }]
    const { id } = await newSession({ model: model([says('MEDIA:a.txt [x](media/b.png)')]).id }, key)
    for (const path of ['a.txt', 'media/b.png'])
      await request('PUT', `/api/sessions/${id}/files/${path}`, { key, body: 'x' })
    await call('PATCH', '/api/settings', { key, body: { approvals: { rules } } })
    const { body } = await call<Run>('POST', `/api/sessions/${id}/chat`, { key, body: { input: 'go' } })
    expect(body.attachments).toEqual([])
    expect(body).toMatchObject({ output: expect.stringMatching(/a\.txt is not attached: a rule denies/) })
  })

  it('are listed with a link that needs no key', async () => {
    const { key } = await newTenant()
    const files = { 'out/r.html': '<script>1</script>', 'a.txt': 'x' }
    const { run } = await answerWith('[r](out/r.html) MEDIA:missing.png [x](a.txt)', files, key)
    expect(run.attachments).toEqual([
      {
        path: 'out/r.html',
        mime: 'text/html',
        bytes: 18,
        url: expect.stringMatching(/^\/files\/[\w-]+\?exp=\d+&sig=[\w-]+$/),
      },
      expect.objectContaining({ path: 'a.txt', mime: 'text/plain', bytes: 1 }),
    ])
    const [first] = run.attachments
    const served = await request('GET', first?.url ?? '', { key: null })
    expect([served.status, await served.text()]).toEqual([200, '<script>1</script>'])
    expect(Object.fromEntries(served.headers)).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-disposition': "attachment; filename*=UTF-8''r.html",
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; sandbox",
      'cache-control': 'private, no-store',
    })
    const again = await call<Run>('GET', `/v1/runs/${run.run_id}`, { key })
    expect(again.body.attachments.map(({ path }) => path)).toEqual(['out/r.html', 'a.txt'])
  })

  it('have links that open nothing of another tenant, whatever parts of two are combined', async () => {
    const [own, other] = await Promise.all([newTenant(), newTenant()])
    const urls = await Promise.all(
      [own, other].map(async ({ key }) => {
        const { run } = await answerWith('[x](a.txt)', { 'a.txt': key }, key)
        return new URL(run.attachments[0]?.url ?? '', 'https://talaria.test')
      }),
    )
    const [mine, theirs] = urls as [URL, URL]
    const open = async (path: string, query: string) => {
      const answer = await request('GET', `${path}${query}`, { key: own.key })
      return [answer.status, answer.ok ? await answer.text() : await answer.body?.cancel()]
    }
    expect(await open(mine.pathname, mine.search)).toEqual([200, own.key])
    expect(await open(theirs.pathname, mine.search)).toEqual([404, undefined])
    expect(await open(mine.pathname, theirs.search)).toEqual([404, undefined])
    expect(await open(theirs.pathname, '')).toEqual([404, undefined])
  })

  it('are gone with the file, with the session, and while the tenant is suspended', async () => {
    const { id: tenant, key } = await newTenant()
    const { id, run } = await answerWith('[x](a.txt)', { 'a.txt': 'x' }, key)
    const url = run.attachments[0]?.url ?? ''
    const statusOf = async () => {
      const answer = await request('GET', url, { key: null })
      await answer.body?.cancel()
      return answer.status
    }
    expect(await statusOf()).toBe(200)
    await call('PATCH', `/api/admin/tenants/${tenant}`, { body: { status: 'suspended' } })
    expect(await statusOf()).toBe(404)
    await call('PATCH', `/api/admin/tenants/${tenant}`, { body: { status: 'active' } })
    await request('DELETE', `/api/sessions/${id}/files/a.txt`, { key })
    expect(await statusOf()).toBe(404)
    await request('DELETE', `/api/sessions/${id}`, { key })
    expect(await statusOf()).toBe(404)
  })

  it('are served by ranges and to HEAD, with the type of their bytes', async () => {
    const { key } = await newTenant()
    const files = { 'a.png': '<script>1</script>', 'b.svg': '<svg/>', 'c.csv': '0123456789' }
    const { id, run } = await answerWith('[a](a.png) [b](b.svg) [c](c.csv)', files, key)
    const get = (n: number, method = 'GET', headers = {}) =>
      request(method, run.attachments[n]?.url ?? '', { key: null, headers })
    const seen = await Promise.all([0, 1, 2].map((n) => get(n)))
    expect(
      seen.map(({ headers }) => [headers.get('content-type'), headers.get('content-disposition')?.slice(0, 10)]),
    ).toEqual([
      ['application/octet-stream', 'attachment'],
      ['application/octet-stream', 'attachment'],
      ['text/csv', 'attachment'],
    ])
    await Promise.all(seen.map((one) => one.body?.cancel()))
    const ranges = ['bytes=2-4', 'bytes=7-', 'bytes=-2', 'bytes=10-', 'bytes=4-2', 'bytes=0-1,4-5', 'lines=1-2']
    const answers = await Promise.all(ranges.map((range) => get(2, 'GET', { range })))
    expect(await Promise.all(answers.map(async (one) => [one.status, await one.text()]))).toEqual([
      [206, '234'],
      [206, '789'],
      [206, '89'],
      [416, expect.stringContaining('10 bytes')],
      [416, expect.stringContaining('10 bytes')],
      [200, '0123456789'],
      [200, '0123456789'],
    ])
    expect([answers[0], answers[3]].map((one) => one?.headers.get('content-range'))).toEqual([
      'bytes 2-4/10',
      'bytes */10',
    ])
    const head = await get(2, 'HEAD')
    expect([head.status, head.headers.get('content-type'), await head.text()]).toEqual([200, 'text/csv', ''])
    await request('PUT', `/api/sessions/${id}/files/a.png`, {
      key,
      body: new Uint8Array([137, 80, 78, 71, 13, 10, 26, 10]),
    })
    const image = await get(0)
    await image.body?.cancel()
    expect([image.headers.get('content-type'), image.headers.get('content-disposition')?.slice(0, 6)]).toEqual([
      'image/png',
      'inline',
    ])
  })

  it('have links that open nothing when they are changed', async () => {
    for (const path of ['/files/x', '/files/x?exp=9999999999&sig=x', '/files/%00?exp=1&sig=a'])
      expect((await call('GET', path, { key: null })).status).toBe(404)
  })
})

describe('an image of a message', () => {
  it('is served below its session, small or large, and to no other tenant', async () => {
    const [{ key }, other] = [await newTenant(), await newTenant()]
    const { id } = await newSession({ model: model([says('a'), says('b')]).id }, key)
    const large = btoa(`\u0089PNG${'x'.repeat(20_000)}`)
    for (const data of [pixel, large])
      await call('POST', `/api/sessions/${id}/chat`, {
        key,
        body: { input: 'see', attachments: [{ type: 'image', url: `data:image/png;base64,${data}` }] },
      })
    type Part = { type: string; image_url?: { url: string } }
    const { body } = await call<{ data: { content: string | Part[] }[] }>('GET', `/api/sessions/${id}/messages`, {
      key,
    })
    const urls = body.data.flatMap(({ content }) =>
      typeof content === 'string' ? [] : (content ?? []).flatMap(({ image_url: image }) => image?.url ?? []),
    )
    expect(urls).toHaveLength(2)
    for (const [n, data] of [pixel, large].entries()) {
      const served = await request('GET', urls[n] ?? '', { key })
      expect([served.status, served.headers.get('content-type')]).toEqual([200, 'image/png'])
      expect(btoa(String.fromCharCode(...new Uint8Array(await served.arrayBuffer())))).toBe(data)
      expect((await call('GET', urls[n] ?? '', { key: other.key })).status).toBe(404)
    }
    for (const bad of ['msg_1.7', 'msg_999.0', 'x', 'msg_1.0.0'])
      expect((await call('GET', `/api/sessions/${id}/attachments/${bad}`, { key })).status).toBe(404)
  })
})
