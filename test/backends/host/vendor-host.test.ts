/** Tests that answers of a vendor cannot lead its key or commands to another host. */

import { vendorBackend } from '#backends/host/vendor-backend.ts'
import { describe, expect, it } from 'vitest'
import type { HostVendorOptions } from '#backends/host/vendor-sandbox.ts'
import { requireSandboxId, requireVendorUrl } from '#backends/host/vendor-host.ts'

const outcome = (work: () => string): string | undefined => {
  try {
    return work()
  } catch (error) {
    return (error as { code?: string }).code
  }
}

it.each<[unknown, boolean]>([
  ['i9a8b7c6-123', true],
  ['box1', true],
  ['0f3e2d1c-aaaa-bbbb-cccc-0123456789ab', true],
  ['a', true],
  ['', false],
  ['evil.example.com/', false],
  ['evil.example.com#', false],
  ['x@evil.example.com/', false],
  ['../..', false],
  ['a:443', false],
  ['-a', false],
  ['a-', false],
  [7, false],
  [undefined, false],
])('%j is a sandbox id: %s', (id, isId) => {
  expect(outcome(() => requireSandboxId(id, 'E2B'))).toBe(isId ? id : 'unavailable')
})

const own = { api: 'https://app.daytona.io/api', domain: 'daytona.io', vendor: 'Daytona' }
it.each([
  ['https://proxy.app.daytona.io/toolbox', true],
  ['https://eu.daytona.io/toolbox/', true],
  ['https://daytona.io', true],
  ['http://proxy.app.daytona.io/toolbox', false],
  ['https://daytona.io.example.com/', false],
  ['https://evildaytona.io/', false],
  ['https://proxy.daytona.io@evil.example.com/', false],
  ['https://user:pass@proxy.daytona.io/', false],
  ['https://127.0.0.1/', false],
  ['nonsense', false],
])('%s is an address of the vendor: %s', (url, isOwn) => {
  expect(outcome(() => requireVendorUrl(url, own))).toBe(isOwn ? url : 'unavailable')
})

describe('a key', () => {
  /** Answers every request with the same sandbox, and records where requests went. */
  const answering = (sandbox: object) => {
    const asked: string[] = []
    const send = async (input: RequestInfo | URL) => {
      asked.push(new URL(input instanceof Request ? input.url : String(input)).hostname)
      return Response.json(sandbox)
    }
    return { asked, fetch: send as typeof fetch, key: 'secret', memory: { read: () => ({}), write: () => undefined } }
  }

  it('of Daytona is not sent to a host that only the answer names', async () => {
    const { asked, ...options } = answering({
      id: 'box-1',
      state: 'started',
      toolboxProxyUrl: 'https://evil.example.com/toolbox',
    })
    await expect(vendorBackend('daytona', options).exec('true', { timeoutMs: 1_000 })).rejects.toThrow('not its own')
    expect(new Set(asked)).toEqual(new Set(['app.daytona.io']))
  })

  it('and commands are not sent to a host that the id of a sandbox at E2B names', async () => {
    const { asked, ...options } = answering({ sandboxID: 'x@evil.example.com/', envdAccessToken: 't' })
    await expect(vendorBackend('e2b', options).exec('true', { timeoutMs: 1_000 })).rejects.toThrow('sandbox id')
    expect(new Set(asked)).toEqual(new Set(['api.e2b.app']))
  })
})

describe('a backend of a vendor', () => {
  const backends = [
    [
      'daytona',
      '/home/daytona/workspace',
      'bash, python, node',
      (options: HostVendorOptions) => vendorBackend('daytona', options),
    ],
    [
      'e2b',
      '/home/user/workspace',
      'bash, python, node',
      (options: HostVendorOptions) => vendorBackend('e2b', options),
    ],
    [
      'vercel',
      '/vercel/sandbox/workspace',
      'bash, node',
      (options: HostVendorOptions) => vendorBackend('vercel', { ...options, project: 'p' }),
    ],
  ] as const
  const memory = { read: () => ({}), write: () => undefined }

  it.each(backends)('%s has the workspace %s and the languages %s', (kind, root, languages, open) => {
    const backend = open({ key: 'k', memory })
    expect([backend.kind, backend.capabilities.root, backend.capabilities.network]).toEqual([kind, root, 'full'])
    expect(backend.describe()).toContain(`with ${languages}; the workspace is ${root}. It `)
  })

  it.each(backends)('%s takes what the options say', (_kind, _root, _languages, open) => {
    const { capabilities, describe: describeBackend } = open({
      key: 'k',
      memory,
      root: '/own',
      languages: ['bash'],
      network: 'none',
    })
    expect(capabilities).toMatchObject({ root: '/own', languages: ['bash'], network: 'none' })
    expect(describeBackend()).toContain('with bash; the workspace is /own.')
  })
})
