import { describe, expect, it } from 'vitest'
import {
  type Egress,
  resolveEgress,
  injectKey,
  type InjectKeyParams,
  resolveKeys,
  type EgressVariables,
} from '#backends/cloudflare/egress.ts'
import type { EgressControl } from '#worker/with-sandbox.ts'
import { applyEgress } from './open-sdk.ts'

const inject = JSON.stringify({
  'api.github.com': 'Bearer everybody',
  'registry.example.org': 'Bearer not opened',
  'acme/api.github.com': 'Bearer acme',
  'acme/git.acme.example': 'Bearer own',
})
const variables: EgressVariables = { SANDBOX_ALLOWED_HOSTS: 'api.github.com, *.npmjs.org', SANDBOX_INJECT: inject }

describe('the egress rules of a tenant', () => {
  it.each([
    [undefined, {}, []],
    [undefined, variables, ['*.npmjs.org', 'api.github.com']],
    [['example.org'], {}, ['example.org']],
    [['example.org', 'api.github.com'], variables, ['*.npmjs.org', 'api.github.com', 'example.org']],
    [['*.internal.example', 'metadata.internal', 'box.local', 'localhost.lan', '*.nip.io'], {}, ['*.internal.example']],
    [['example.org'], { ...variables, SANDBOX_NETWORK: 'off' }, []],
  ])('with %j of its own and %j is %j', (own, given, hosts) => {
    expect(resolveEgress('acme', own, given)).toEqual({ tenant: 'acme', hosts })
  })
})

describe('keys for requests', () => {
  it('are those of the tenant, and those of the deployment for hosts that it allows', () => {
    expect(resolveKeys('acme', variables)).toEqual({
      'api.github.com': 'Bearer acme',
      'git.acme.example': 'Bearer own',
    })
    expect(resolveKeys('other', variables)).toEqual({ 'api.github.com': 'Bearer everybody' })
  })

  it('of the deployment are not added for hosts that only the tenant allows', () => {
    const { hosts } = resolveEgress('other', ['registry.example.org'], variables)
    expect(hosts).toContain('registry.example.org')
    expect(resolveKeys('other', variables)).not.toHaveProperty(['registry.example.org'])
  })

  it('are empty without configuration', () => expect(resolveKeys('acme', {})).toEqual({}))

  const sent = (url: string, tenant = 'acme') =>
    injectKey(new Request(url, { headers: { authorization: 'from inside', 'x-kept': '1' } }), { tenant }, variables)

  it('replace the header of the container', () => {
    const { headers, redirect } = sent('https://api.github.com/user')
    expect([headers.get('authorization'), headers.get('x-kept'), redirect]).toEqual(['Bearer acme', '1', 'manual'])
  })

  it.each(['http://api.github.com/', 'https://api.github.com.evil.example/', 'https://constructor/'])(
    'do not go to %s',
    (url) => expect(sent(url).headers.get('authorization')).toBe('from inside'),
  )
})

/** Simulates the SDK: first the allowed hosts, then the handler of the host. */
function playedContainer() {
  let hosts: readonly string[] = []
  let handlers: Readonly<Record<string, { readonly params: InjectKeyParams }>> = {}
  const gate: EgressControl = {
    setAllowedHosts: async (given) => void (hosts = given),
    setOutboundByHosts: async (given) => void (handlers = given),
  }
  const allows = (host: string) =>
    hosts.some((pattern) => pattern === host || (pattern.startsWith('*.') && host.endsWith(pattern.slice(1))))
  const request = (url: string) => {
    const { hostname } = new URL(url)
    if (!allows(hostname)) return 'disallowed'
    const handler = handlers[hostname]
    if (!handler) return 'sent'
    return injectKey(new Request(url), handler.params, variables).headers.get('authorization')
  }
  return { request, open: (egress: Egress) => applyEgress(gate, egress, variables) }
}

describe('the network of a container', () => {
  it('follows the rules of its tenant, which can change with the settings', async () => {
    const { request, open } = playedContainer()
    expect(request('https://api.github.com/')).toBe('disallowed')
    await open(resolveEgress('acme', ['git.acme.example'], variables))
    expect(
      ['api.github.com', 'git.acme.example', 'x.npmjs.org', 'evil.example'].map((host) => request(`https://${host}/`)),
    ).toEqual(['Bearer acme', 'Bearer own', 'sent', 'disallowed'])
    await open(resolveEgress('acme', [], variables))
    expect(request('https://git.acme.example/')).toBe('disallowed')
    await open(resolveEgress('acme', ['git.acme.example'], { ...variables, SANDBOX_NETWORK: 'off' }))
    expect(request('https://api.github.com/')).toBe('disallowed')
  })

  it('has no keys of other tenants', async () => {
    const { request, open } = playedContainer()
    await open(resolveEgress('other', ['git.acme.example'], variables))
    expect(request('https://git.acme.example/')).toBe('sent')
    expect(request('https://api.github.com/')).toBe('Bearer everybody')
  })
})
