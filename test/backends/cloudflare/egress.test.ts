import { describe, expect, it } from 'vitest'
import {
  type Egress,
  resolveEgress,
  type EgressControl,
  injectKey,
  type InjectKeyParams,
  resolveKeys,
  applyEgress,
  type EgressVariables,
} from '../../../src/backends/cloudflare/egress.ts'

const inject = JSON.stringify({
  'api.github.com': 'Bearer everybody',
  'registry.example.org': 'Bearer not opened',
  'acme/api.github.com': 'Bearer acme',
  'acme/git.acme.example': 'Bearer own',
})
const variables: EgressVariables = { SANDBOX_ALLOWED_HOSTS: 'api.github.com, *.npmjs.org', SANDBOX_INJECT: inject }

describe('what a container of a tenant may reach', () => {
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

describe('the keys that are added', () => {
  it('are the tenant’s own, and those of the deployment where it has opened the way itself', () => {
    expect(resolveKeys('acme', variables)).toEqual({
      'api.github.com': 'Bearer acme',
      'git.acme.example': 'Bearer own',
    })
    expect(resolveKeys('other', variables)).toEqual({ 'api.github.com': 'Bearer everybody' })
  })

  it('of the deployment are not had by naming the host', () => {
    const { hosts } = resolveEgress('other', ['registry.example.org'], variables)
    expect(hosts).toContain('registry.example.org')
    expect(resolveKeys('other', variables)).not.toHaveProperty(['registry.example.org'])
  })

  it('are none without any', () => expect(resolveKeys('acme', {})).toEqual({}))

  const sent = (url: string, tenant = 'acme') =>
    injectKey(new Request(url, { headers: { authorization: 'from inside', 'x-kept': '1' } }), { tenant }, variables)

  it('take the place of what the container says', () => {
    const { headers, redirect } = sent('https://api.github.com/user')
    expect([headers.get('authorization'), headers.get('x-kept'), redirect]).toEqual(['Bearer acme', '1', 'manual'])
  })

  it.each(['http://api.github.com/', 'https://api.github.com.evil.example/', 'https://constructor/'])(
    'do not go to %s',
    (url) => expect(sent(url).headers.get('authorization')).toBe('from inside'),
  )
})

/** As the SDK decides: the list first, then who handles the host. */
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

describe('the way out of a container', () => {
  it('is that of its tenant, and changes with the settings', async () => {
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

  it('has the keys of no other tenant', async () => {
    const { request, open } = playedContainer()
    await open(resolveEgress('other', ['git.acme.example'], variables))
    expect(request('https://git.acme.example/')).toBe('sent')
    expect(request('https://api.github.com/')).toBe('Bearer everybody')
  })
})
