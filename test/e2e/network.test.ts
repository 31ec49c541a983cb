/** Tests the guarded network on a real server: curl of the virtual shell, custom providers, mapped hosts and redirects. */

import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server as HttpServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createClient } from './support/client.ts'
import { deleteState, newState, type Server, startServer } from './support/server.ts'

const asked: string[] = []
let intranet: HttpServer
let server: Server
const state = newState()

const addressOf = (one: HttpServer) => `http://127.0.0.1:${(one.address() as AddressInfo).port}`

function answer(request: IncomingMessage, response: ServerResponse): void {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost')
  asked.push(`${request.headers['x-forwarded-host'] ?? ''}${pathname}`)
  if (pathname === '/dns-query') {
    const isPrivate = searchParams.get('name') === 'private.example.com'
    response.end(JSON.stringify({ Answer: isPrivate ? [{ type: 1, data: '10.0.0.1' }] : [] }))
  } else if (pathname === '/to')
    response.writeHead(302, { location: searchParams.get('url') ?? '', 'content-length': 0 }).end()
  else response.end(`page ${pathname} authorization=${request.headers.authorization ?? ''}\n`)
}

beforeAll(async () => {
  intranet = createServer(answer).listen(0, '127.0.0.1')
  await once(intranet, 'listening')
  const port = await freePort()
  const map = {
    'intranet.example.com': addressOf(intranet),
    'other.example.com': addressOf(intranet),
    'talaria.example.com': `http://127.0.0.1:${port}`,
  }
  const DNS_RESOLVER_URL = `${addressOf(intranet)}/dns-query`
  server = await startServer({ state, port, env: { WEB_HOST_MAP: JSON.stringify(map), DNS_RESOLVER_URL } })
  const body = { terminal: { network: 'public' }, approvals: { mode: 'off' } }
  await createClient(server.url, server.key).send('PATCH', '/api/settings', { body })
})

afterAll(async () => {
  await server.stop()
  intranet.close()
  deleteState(state)
})

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  probe.close()
  return port
}

async function run(command: string): Promise<string> {
  const owner = createClient(server.url, server.key)
  const session = await owner.newSession()
  asked.length = 0
  return (await owner.chat(session, `run: ${command}`)).text
}

describe('curl in the virtual shell', () => {
  it('reaches a mapped host', async () => {
    expect(await run('curl -s https://intranet.example.com/a')).toContain('page /a')
    expect(asked).toEqual(['intranet.example.com/a'])
  })

  it('follows redirects to public hosts, without credentials', async () => {
    const page = await run(
      `curl -sL -H 'authorization: Bearer s3cr3t-token-1234567' 'https://intranet.example.com/to?url=https://other.example.com/b'`,
    )
    expect(page).toContain('page /b authorization=')
    expect(page).not.toContain('authorization=Bearer')
    expect(asked).toEqual(['intranet.example.com/to', 'other.example.com/b'])
  })

  it.each([
    'http://localhost/x',
    'http://127.0.0.1/x',
    'http://[::1]/x',
    'http://169.254.169.254/x',
    'http://2130706433/x',
  ])('never reaches %s, neither at once nor by a redirect', async (url) => {
    await run(`curl -sL '${url}' 'https://intranet.example.com/to?url=${url}'`)
    expect(asked.filter((one) => !one.endsWith('/to'))).toEqual([])
  })

  it('does not reach a name that resolves to a private address', async () => {
    expect(await run('curl -sS https://private.example.com/x')).toContain('resolves to a private address')
  })

  it('does not reach the API of the deployment', async () => {
    expect(await run('curl -s https://talaria.example.com/health')).toContain('loop_detected')
  })
})
