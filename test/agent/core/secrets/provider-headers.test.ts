/** Tests how headers of custom providers are masked, and when a masked value keeps the stored one. */

import { describe, expect, it } from 'vitest'
import {
  keepMaskedHeaders,
  maskHeader,
  maskHeaders,
  parseSealedHeader,
  renderSealedHeader,
} from '#agent/core/secrets/provider-headers.ts'

const stored = renderSealedHeader('secret-value-1234', 'v2.1.ab:cd.ef')
const address = 'https://llm.example.com/v1'
const settings = (headers: Readonly<Record<string, string>>) => ({
  providers: { 'custom:mine': { base_url: address, headers } },
})
const patch = (headers: object | null, base_url?: string) => ({
  providers: { 'custom:mine': { ...(base_url && { base_url }), headers } },
})

describe('a stored header', () => {
  it('contains its sealed value and its end', () => {
    expect([parseSealedHeader(stored), maskHeader(stored)]).toEqual(['v2.1.ab:cd.ef', '****1234'])
    expect(maskHeader(renderSealedHeader('with:colons:b%', 'x'))).toBe('****s:b%')
  })

  it('of an earlier version is masked too, and a short one entirely', () => {
    expect([maskHeader('a-plain-value'), maskHeader('short')]).toEqual(['****alue', '****'])
  })

  it('does not show a short secret behind a scheme', () => {
    expect([maskHeader('Bearer abc'), maskHeader('Bearer secret-1234')]).toEqual(['****', '****1234'])
    expect(maskHeader(renderSealedHeader('Basic abc', 'x'))).toBe('****')
  })

  it('is masked within settings, and nothing else is changed', () => {
    const mixed = { ...settings({ 'x-a': stored, 'x-b': 'plain-header' }), timezone: 'UTC' }
    expect(maskHeaders(mixed)).toEqual({ ...settings({ 'x-a': '****1234', 'x-b': '****ader' }), timezone: 'UTC' })
    expect(maskHeaders({ timezone: 'UTC' } as { providers?: never })).toEqual({ timezone: 'UTC' })
  })
})

describe('a patch', () => {
  it('with the masked value keeps the stored one', () => {
    const before = settings({ 'x-a': stored })
    expect(keepMaskedHeaders(before, patch({ 'x-a': '****1234', 'x-b': 'new', 'x-c': null }))).toEqual({
      kind: 'patch',
      patch: patch({ 'x-b': 'new', 'x-c': null }),
    })
    expect(keepMaskedHeaders(before, patch({ 'x-a': '****1234' }, `${address}/other`))).toMatchObject({ kind: 'patch' })
    expect(keepMaskedHeaders(before, { timezone: 'UTC' })).toEqual({ kind: 'patch', patch: { timezone: 'UTC' } })
    expect(keepMaskedHeaders(before, { providers: { 'custom:mine': null } })).toMatchObject({ kind: 'patch' })
  })

  it.each([
    ['another end', patch({ 'x-a': '****9999' })],
    ['a name without a stored value', patch({ 'x-b': '****1234' })],
    ['another host', patch({ 'x-a': '****1234' }, 'https://evil.example.com/v1')],
    ['another host that does not name the header', patch({ 'x-b': 'new' }, 'https://evil.example.com/v1')],
    ['another port', patch({}, 'https://llm.example.com:8443/v1')],
    ['plain http', patch({}, 'http://llm.example.com/v1')],
  ])('with a masked value for %s is refused', (_, change) => {
    expect(keepMaskedHeaders(settings({ 'x-a': stored }), change)).toMatchObject({
      kind: 'wrong',
      at: expect.stringMatching(/^providers\.custom:mine\.headers\.x-[ab]$/),
    })
  })

  it('may change the address when it gives or removes all headers', () => {
    const before = settings({ 'x-a': stored })
    for (const headers of [{ 'x-a': 'new' }, { 'x-a': null }, null])
      expect(keepMaskedHeaders(before, patch(headers, 'https://other.example.com'))).toMatchObject({ kind: 'patch' })
  })
})
