/** Tests signed links: they open until they expire, and no change of them opens anything. */

import { env } from 'cloudflare:workers'
import { describe, expect, it } from 'vitest'
import { createRedactor } from '#agent/core/secrets/redaction.ts'
import { createLink, type LinkParts, openLink } from '#durable/platform/signed-links.ts'

const settings = env as unknown as Env
const file = { tenantId: 'acme', sessionId: 'ses_1', path: 'out/ä b.png' }
const now = 1_800_000_000_000

async function partsOf(link = createLink(settings, file, now)): Promise<LinkParts> {
  const url = new URL((await link) ?? '', 'https://talaria.test')
  const { exp = '', sig = '' } = Object.fromEntries(url.searchParams)
  return { id: url.pathname.slice('/files/'.length), exp, sig }
}

describe('a signed link', () => {
  it('opens for an hour, and not later', async () => {
    const parts = await partsOf()
    expect(await openLink(settings, parts, now)).toEqual(file)
    expect(await openLink(settings, parts, now + 3_599_000)).toEqual(file)
    expect(await openLink(settings, parts, now + 3_600_000)).toBeUndefined()
  })

  it('stays in redacted text', async () => {
    const link = (await createLink(settings, file, now)) ?? ''
    expect(createRedactor([]).redact(`{"url":"${link}"}`)).toBe(`{"url":"${link}"}`)
  })

  it('reveals neither tenant nor path', async () => {
    const { id } = await partsOf()
    const text = atob(id.replaceAll('-', '+').replaceAll('_', '/'))
    for (const part of ['acme', 'ses_1', 'png']) expect(text).not.toContain(part)
  })

  it('does not open when any part is changed, longer or of another link', async () => {
    const [parts, other] = [await partsOf(), await partsOf(createLink(settings, { ...file, tenantId: 'other' }, now))]
    const flip = (text: string) => (text.startsWith('A') ? 'B' : 'A') + text.slice(1)
    const bad: readonly Partial<LinkParts>[] = [
      { id: flip(parts.id) },
      { sig: flip(parts.sig) },
      { exp: String(Number(parts.exp) + 1) },
      { exp: String(Number(parts.exp) + 1_000_000) },
      { exp: '' },
      { exp: '1e12' },
      { sig: '' },
      { id: '' },
      { id: '%' },
      { id: other.id },
      { sig: other.sig },
      { id: `${parts.id}A` },
    ]
    for (const change of bad)
      expect([change, await openLink(settings, { ...parts, ...change }, now)]).toEqual([change, undefined])
  })

  it('does not open with another key, and is not made without one', async () => {
    const another = { ENCRYPTION_KEY: btoa('x'.repeat(32)) }
    expect(await openLink(another, await partsOf(), now)).toBeUndefined()
    expect(await createLink({ ENCRYPTION_KEY: '' }, file, now)).toBeUndefined()
    expect(await openLink({ ENCRYPTION_KEY: '' }, await partsOf(), now)).toBeUndefined()
  })
})
