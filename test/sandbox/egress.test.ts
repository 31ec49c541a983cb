/** Tests the way out of a sandbox with network: public addresses by HTTP and HTTPS, and nothing else. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hasBubblewrap } from './bubblewrap.mjs'
import { createGuard, isPublicAddress, startOutside } from './parts.mjs'
import { call, newWorkspace, type SandboxServer, startSandbox } from './server.mjs'

describe('the guard', () => {
  const resolve = async (name: string) =>
    name === 'mixed.example.com'
      ? [{ address: '93.184.215.14' }, { address: '10.0.0.1' }]
      : [{ address: name.startsWith('private') ? '192.168.0.1' : '93.184.215.14' }]
  const guard = createGuard({ ports: [80, 443], resolve })

  it.each([
    ['127.0.0.1', 80],
    ['10.1.2.3', 443],
    ['169.254.169.254', 80],
    ['100.64.0.1', 80],
    ['0.0.0.0', 80],
    ['[::1]', 80],
    ['[::ffff:127.0.0.1]', 80],
    ['[64:ff9b::7f00:1]', 80],
    ['[2002:7f00:1::]', 80],
    ['[fd00:ec2::254]', 80],
    ['[fe80::1]', 80],
    ['localhost', 80],
    ['LOCALHOST.', 80],
    ['a.localhost', 80],
    ['metadata.google.internal', 80],
    ['printer.local', 80],
    ['intranet', 80],
    ['2130706433', 80],
    ['0x7f.1', 80],
    ['private.example.com', 443],
    ['mixed.example.com', 443],
    ['example.com', 22],
    ['example.com', 25],
    ['exa mple.com', 80],
    ['a..example.com', 80],
    ['', 80],
  ])('refuses %s at port %i', async (host, port) => {
    expect(await guard(host, port)).toEqual({ refused: expect.any(String) })
  })

  it('connects to the address that it judged', async () => {
    expect(await guard('Example.COM.', 443)).toEqual({ address: '93.184.215.14', port: 443 })
    expect(await guard('93.184.215.14', 80)).toEqual({ address: '93.184.215.14', port: 80 })
    expect(isPublicAddress('2606:2800:21f:cb07:6820:80da:af6b:8b2c')).toBe(true)
  })

  it('opens only the hosts of a list, and the addresses of a map', async () => {
    const map = { 'git.example.org': 'http://127.0.0.1:9001' }
    const narrow = createGuard({ ports: [80, 443], hosts: ['*.example.org', 'pypi.org'], map, resolve })
    expect(await narrow('pypi.org', 443)).toMatchObject({ port: 443 })
    expect(await narrow('git.example.org', 80)).toEqual({ address: '127.0.0.1', port: 9001 })
    for (const host of ['example.org', 'xpypi.org', 'example.com', 'aexample.org'])
      expect(await narrow(host, 443)).toEqual({ refused: expect.stringContaining('not allowed') })
  })
})

describe.skipIf(!hasBubblewrap)('a sandbox with network (needs bubblewrap)', () => {
  let server: SandboxServer
  let outside: Awaited<ReturnType<typeof startOutside>>
  let port: number
  beforeAll(async () => {
    outside = await startOutside()
    port = outside.port
    const map = JSON.stringify({ 'open.example.com': `http://127.0.0.1:${port}` })
    server = await startSandbox({ args: ['--net'], env: { SANDBOX_HOST_MAP: map, SANDBOX_PORTS: '80,443' } })
  })
  afterAll(async () => {
    await server.stop()
    outside.stop()
  })
  const run = async (command: string, ws = newWorkspace()) => {
    const body = JSON.stringify({ command, timeoutMs: 20_000 })
    const text = await (await call(server.url, `/v1/w/${ws}/exec`, { method: 'POST', body })).text()
    const events = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { t: string; d?: string })
    return events.flatMap(({ t, d }) => (t === 'out' ? [d] : [])).join('')
  }

  it('reaches an open host by HTTP and through a tunnel', async () => {
    expect(await run('curl -s http://open.example.com/a?b')).toBe('GET /a?b open.example.com')
    expect(await run('curl -sp http://open.example.com:80/c')).toBe('GET /c open.example.com')
    const health = await (await call(server.url, '/v1/health')).json<{ egress: string; network: boolean }>()
    expect(health).toMatchObject({ egress: 'filtered', network: true })
  })

  it('reaches neither the host, nor private addresses, nor anything past the proxy', async () => {
    const ownPort = new URL(server.url).port
    const tries = [
      `curl -s -o /dev/null -w '%{http_code} ' http://127.0.0.2:${ownPort}/v1/health`,
      `curl -s -o /dev/null -w '%{http_code} ' --noproxy '' http://127.0.0.1:${port}/`,
      `curl -s -o /dev/null -w '%{http_code} ' http://169.254.169.254/`,
      `curl -sp -o /dev/null -w '%{http_connect} ' http://10.0.0.1:80/`,
      `curl -s -o /dev/null -w '%{http_code} ' http://open.example.com:${port}/`,
      `(echo > /dev/tcp/127.0.0.1/${ownPort}) 2>/dev/null && echo reached || echo closed`,
      `(echo > /dev/tcp/93.184.215.14/80) 2>/dev/null && echo reached || echo closed`,
    ]
    expect(await run(tries.join('\n'))).toBe('403 403 403 403 403 closed\nclosed\n')
  })

  it('sees nothing of the host that is not named', async () => {
    const seen = await run(
      'ls / /run /etc; ls /opt /home /root /var /etc/hosts /etc/resolv.conf /etc/passwd 2>&1 | grep -c "No such"',
    )
    expect(seen.split('\n').at(-2)).toBe('7')
  })

  it('leaves no forwarder to the output or the next command', async () => {
    const ws = newWorkspace()
    expect(await run('wait; jobs; echo done', ws)).toBe('done\n')
    expect(await run('curl -s http://open.example.com/ | head -c 3', ws)).toBe('GET')
  })
})

it('options that npm takes for itself stop the server, with the right command', async () => {
  const env = { npm_lifecycle_event: 'sandbox', npm_config_net: 'true' }
  await expect(startSandbox({ env })).rejects.toThrow('npm run sandbox -- --net')
})
