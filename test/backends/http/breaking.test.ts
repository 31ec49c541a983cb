/** Tests the http backend with a simulated server that fails. */

import { describe, expect, it } from 'vitest'
import { httpBackend } from '#backends/http/http.ts'

type Answer = Response | Error | (() => Response)

function scripted(...answers: Answer[]) {
  const asked: string[] = []
  const fetcher = async (input: RequestInfo | URL, init?: RequestInit) => {
    asked.push(`${init?.method} ${new URL(input as string).pathname}`)
    const answer = answers.shift() ?? new Error('nothing more is expected')
    if (answer instanceof Error) throw answer
    return typeof answer === 'function' ? answer() : answer
  }
  const options = { url: 'http://box.test/', token: 'key', workspace: 'w-00000001', fetch: fetcher as typeof fetch }
  return { backend: httpBackend(options), options, asked }
}

const lines = (...events: readonly object[]) =>
  new Response(events.map((event) => `${JSON.stringify(event)}\n`).join(''))
const refusal = (status: number, code: string, message = 'No.', hint = 'Do this.') =>
  Response.json({ error: { code, message, hint } }, { status })
const T = { timeoutMs: 5_000 }

describe('a command', () => {
  it('whose connection breaks is reported as unknown', async () => {
    const { backend, asked } = scripted(lines({ t: 'start' }, { t: 'out', d: 'half' }))
    await expect(backend.exec('make', T)).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('unknown whether the command ran'),
    })
    expect(asked).toEqual(['POST /v1/w/w-00000001/exec'])
  })

  it('that the server could not start is not reported as unknown', async () => {
    const said = { t: 'error', code: 'unavailable', message: 'It could not be started.', hint: '' }
    for (const answer of [lines({ t: 'start' }, said), refusal(503, 'unavailable', said.message)])
      await expect(scripted(answer).backend.exec('x', T)).rejects.toMatchObject({ message: said.message })
  })

  it('is not retried when the server is unreachable', async () => {
    const { backend, asked } = scripted(new Error('connection refused'), lines())
    await expect(backend.exec('rm -r x', T)).rejects.toMatchObject({ code: 'unavailable' })
    expect(asked).toHaveLength(1)
  })

  it('with an invalid response fails', async () => {
    const { backend } = scripted(new Response('<html>\n'))
    await expect(backend.exec('true', T)).rejects.toMatchObject({ code: 'unavailable' })
  })

  it('that is stopped for a full disk says so', async () => {
    const exit = { t: 'exit', code: null, reason: 'disk', timedOut: false, truncated: false, cwd: '/', env: {}, ms: 1 }
    await expect(scripted(lines(exit)).backend.exec('dd', T)).rejects.toMatchObject({ code: 'full' })
  })

  it('marks missing output', async () => {
    const exit = { t: 'exit', code: 0, timedOut: false, truncated: true, cwd: '/', env: {}, ms: 1 }
    const { backend } = scripted(
      lines({ t: 'out', d: 'a' }, { t: 'gap', s: 'out', bytes: 7, lines: 2 }, { t: 'out', d: 'z' }, exit),
    )
    expect(await backend.exec('x', T)).toMatchObject({
      stdout: 'a\n[... 7 bytes, 2 lines left out ...]\nz',
      truncated: true,
    })
  })

  it('that is aborted before it is sent is not sent', async () => {
    const { backend, asked } = scripted()
    expect(await backend.exec('x', { ...T, signal: AbortSignal.abort() })).toMatchObject({ exitCode: null })
    expect(asked).toEqual([])
  })
})

describe('other requests', () => {
  it('are retried when they only read', async () => {
    const { backend, asked } = scripted(
      new Error('reset'),
      new Response('', { status: 503 }),
      Response.json({ stat: null }),
    )
    expect(await backend.files.stat('x')).toBeUndefined()
    expect(asked).toHaveLength(3)
  })

  it('are sent once when they change something', async () => {
    const { backend, asked } = scripted(new Error('reset'), Response.json({ created: true }))
    await expect(backend.files.write('x', Uint8Array.of(1))).rejects.toMatchObject({ code: 'unavailable' })
    expect(asked).toHaveLength(1)
  })

  it.each([
    [400, 'invalid', 'invalid'],
    [403, 'outside', 'invalid'],
    [429, 'busy', 'quota'],
    [507, 'quota', 'full'],
    [413, 'too_large', 'too_large'],
    [501, 'unsupported', 'unsupported'],
    [500, 'internal', 'unavailable'],
  ])('%i %s is %s', async (status, code, expected) => {
    const { backend } = scripted(...[1, 2, 3].map(() => () => refusal(status, code)))
    await expect(backend.files.list('.')).rejects.toMatchObject({ code: expected, message: 'No.', hint: 'Do this.' })
  })

  it('name the variable when the key is wrong', async () => {
    const { backend } = scripted(...[1, 2, 3].map(() => () => refusal(401, 'unauthorized')))
    await expect(backend.files.list('.')).rejects.toMatchObject({
      code: 'unavailable',
      hint: expect.stringContaining('SANDBOX_HTTP_TOKEN'),
    })
  })

  it('do not follow a redirect with the key', async () => {
    const moved = () => new Response(null, { status: 302, headers: { location: 'http://elsewhere.test/' } })
    const { backend } = scripted(moved, moved, moved)
    await expect(backend.files.list('.')).rejects.toMatchObject({ message: expect.stringContaining('redirects') })
  })

  it('report a job as lost when the server does not know it', async () => {
    const { backend } = scripted(refusal(404, 'missing'), refusal(404, 'missing'))
    expect(await backend.jobs?.state('gone')).toEqual({ at: 'lost', reason: 'replaced' })
    expect(await backend.jobs?.output('gone', 5, 100)).toEqual({ text: '', next: 5 })
  })
})

describe('the facts of a server', () => {
  /** What one server says is known of its address: each here has its own. */
  const at = (port: number, ...answers: Answer[]) => {
    const { options, asked } = scripted(...answers)
    return { backend: httpBackend({ ...options, url: `http://box.test:${port}/` }), asked }
  }
  const said = (nature: object) => Response.json({ isolation: 'bubblewrap', limiting: 'cgroup2', boot: 'b', ...nature })

  it.each([
    [1, { network: false }, { isolated: true, network: 'none' }],
    [2, { network: true }, { isolated: true, network: 'full' }],
    [3, { isolation: 'none', network: true }, { isolated: false, network: 'full' }],
    [4, { isolation: '' }, { isolated: false, network: 'none', languages: ['bash'] }],
    [6, { languages: ['bash', 'python'] }, { languages: ['bash', 'python'] }],
    [7, { languages: 'python' }, { languages: ['bash'] }],
  ])('is told by the server: %i', async (port, nature, capabilities) => {
    const { backend, asked } = at(port, said(nature))
    expect(backend.capabilities).toMatchObject({ isolated: false, network: 'none' })
    await backend.learn?.()
    expect(backend.capabilities).toMatchObject(capabilities)
    // For a while.
    expect(backend.learn?.()).toBeUndefined()
    expect(asked).toEqual(['GET /v1/health'])
  })

  it('are not assumed when the server does not report them', async () => {
    const { backend } = at(5, refusal(401, 'unauthorized'))
    await backend.learn?.()
    expect(backend.capabilities).toMatchObject({ isolated: false, network: 'none' })
  })
})

describe('a file on a server', () => {
  /** The server announces more bytes than come. */
  const cut = (size: number) => () =>
    new Response(
      new ReadableStream({
        start(controller) {
          controller.enqueue(new TextEncoder().encode('half'))
          controller.error(new Error('closed'))
        },
      }),
      { headers: { 'x-file-size': String(size) } },
    )
  const whole = (text: string) => () => new Response(text, { headers: { 'x-file-size': String(text.length) } })
  const statOf = (size: number) => Response.json({ stat: { path: '/workspace/a', type: 'file', size, modified: 1 } })

  it('that has become shorter while it was read is read again', async () => {
    const { backend } = scripted(cut(9), statOf(3), whole('new'))
    expect(new TextDecoder().decode(await backend.files.read('a'))).toBe('new')
  })

  it('that was shorter and has grown again is read again', async () => {
    const { backend } = scripted(cut(9), statOf(9), whole('nine more'))
    expect(new TextDecoder().decode(await backend.files.read('a'))).toBe('nine more')
  })

  it('that always changes is an error that says so', async () => {
    const { backend } = scripted(cut(9), statOf(8), cut(8), cut(7))
    await expect(backend.files.read('a')).rejects.toMatchObject({
      code: 'invalid',
      message: expect.stringContaining('changes while it is read'),
    })
  })

  it('that did not change, but whose connection broke, is a failure of the server', async () => {
    const { backend } = scripted(cut(9), statOf(9), cut(9), statOf(9), cut(9), statOf(9))
    await expect(backend.files.read('a')).rejects.toMatchObject({ code: 'unavailable' })
  })
})
