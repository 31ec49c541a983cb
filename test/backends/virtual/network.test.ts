import { describe, expect, it } from 'vitest'
import { createGuardedFetch } from '#durable/platform/guarded-fetch.ts'
import { shellNetwork } from '#durable/workspace/open-backend.ts'
import { bindings, inWorkspace } from '../support/workspace.ts'

type Seen = { readonly url: string; readonly method: string; readonly body: string; readonly headers: Headers }

/** The guarded network of a session, with this function behind the guard. */
const guarded = (send: (request: Request) => Promise<Response>) => () =>
  shellNetwork(createGuardedFetch({} as Env, { send }))

/** Runs a command with this function as network, and returns the requests. */
async function online(command: string, answer: (url: string) => Response, loader?: WorkerLoader) {
  const seen: Seen[] = []
  const fetch = async (request: Request): Promise<Response> => {
    seen.push({ url: request.url, method: request.method, body: await request.text(), headers: request.headers })
    return answer(request.url)
  }
  let told = { output: '', exitCode: null as number | null }
  await inWorkspace({ network: guarded(fetch), loader }, async ({ backend }) => {
    const { stdout, stderr, exitCode } = await backend.exec(command, { timeoutMs: 20_000 })
    told = { output: stdout + stderr, exitCode }
  })
  return { ...told, seen }
}

const hello = () => new Response('hello\n')
const to = (location: string, status = 302) => new Response('', { status, headers: { location } })

describe.each([
  ['inline', undefined],
  ['in the isolate', bindings.LOADER],
])('a backend with network, %s', (_, loader) => {
  it('reaches public addresses with curl and wget', async () => {
    const { output, exitCode, seen } = await online(
      'curl -s https://example.com/a; wget -q https://example.com/file.txt; cat file.txt; wget -qO- example.com',
      hello,
      loader,
    )
    expect([output, exitCode]).toEqual(['hello\nhello\nhello\n', 0])
    expect(seen.map(({ url }) => url)).toEqual([
      'https://example.com/a',
      'https://example.com/file.txt',
      'http://example.com/',
    ])
  })

  it('sends method, headers and body', async () => {
    const command = `curl -s -X POST -H 'x-test: 1' -d '{"ä":1}' https://example.com/`
    const { seen } = await online(command, hello, loader)
    expect(seen).toMatchObject([{ method: 'POST', body: '{"ä":1}' }])
    expect(seen[0]?.headers.get('x-test')).toBe('1')
  })

  it('transfers bytes unchanged', async () => {
    const bytes = Uint8Array.from({ length: 256 }, (_value, i) => i)
    const { output } = await online(
      'curl -s https://example.com/x -o f; wc -c < f; sha256sum f',
      () => new Response(bytes),
      loader,
    )
    expect(output).toBe('256\n40aff2e9d2d8922e47afd4648e6967497158785fbd1da870e7110266bf944880  f\n')
  })
})

describe('the network of the virtual shell', () => {
  it.each([
    'http://127.0.0.1/',
    'http://localhost:8787/',
    'http://169.254.169.254/latest/meta-data/',
    'http://10.0.0.1/',
    'http://[::1]/',
    'http://2130706433/',
    'http://metadata.internal/',
  ])('never leads to a private network: %s', async (url) => {
    for (const command of [`curl -s '${url}'`, `wget -q '${url}'`, `git clone '${url}x.git'`]) {
      const { exitCode, seen } = await online(command, hello)
      expect([command, seen, exitCode === 0]).toEqual([command, [], false])
    }
  })

  it.each([301, 302, 303, 307, 308])('rejects private addresses after a redirect %i', async (status) => {
    const { seen, exitCode } = await online('curl -sL https://example.com/', () => to('http://127.0.0.1:1/', status))
    expect(seen.map(({ url }) => url)).toEqual(['https://example.com/'])
    expect(exitCode).not.toBe(0)
  })

  it('drops credentials on a redirect to another origin', async () => {
    const command = `curl -sL -H 'authorization: Bearer s' -H 'x-key: 1' -H 'accept: text/html' https://one.example/`
    const { seen } = await online(command, (url) => (url.includes('one') ? to('https://two.example/') : hello()))
    const names = ['authorization', 'x-key', 'accept']
    expect(seen.map(({ headers }) => names.map((name) => headers.get(name)))).toEqual([
      ['Bearer s', '1', 'text/html'],
      [null, null, 'text/html'],
    ])
  })

  it('fails on redirect loops and responses that are too large', async () => {
    const circle = await online('curl -sSL https://example.com/', () => to('https://example.com/'))
    expect(circle.seen).toHaveLength(6)
    expect(circle.exitCode).not.toBe(0)
    const large = await online('curl -sS https://example.com/', () => new Response(new Uint8Array(21 * 1024 * 1024)))
    expect(large.exitCode).not.toBe(0)
  })

  it('is used by git', async () => {
    const { seen, output, exitCode } = await online(
      'git clone https://git.example.org/team/x.git',
      () => new Response('no', { status: 404 }),
    )
    expect(seen[0]?.url).toBe('https://git.example.org/team/x.git/info/refs?service=git-upload-pack')
    expect(output).toContain('404')
    expect(exitCode).toBe(128)
  })

  it('appears in the description of the backend', () =>
    inWorkspace({ network: guarded(async () => hello()) }, async ({ backend, open }) => {
      expect([backend.capabilities.network, open({ network: undefined }).capabilities.network]).toEqual([
        'full',
        'none',
      ])
      expect(backend.describe()).toContain('public addresses')
      expect(open({ network: undefined }).describe()).toContain('no network')
    }))

  it('is available as long as the setting allows it', async () => {
    let allowed = true
    const online = guarded(async () => hello())
    const network = () => (allowed ? online() : undefined)
    await inWorkspace({ network }, async ({ backend }) => {
      const tried = async () => (await backend.exec('curl -s https://example.com/', { timeoutMs: 20_000 })).stdout
      expect(await tried()).toBe('hello\n')
      allowed = false
      expect([await tried(), backend.capabilities.network]).toEqual(['', 'none'])
    })
  })
})
