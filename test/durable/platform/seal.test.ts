/** Tests sealed secrets: which owner can open them, and the reasons when they cannot be opened. */

import { describe, expect, it } from 'vitest'
import { explainMissingKey, unseal, seal } from '../../../src/durable/platform/seal.ts'
import { requireEncryptionKey } from '../../../src/worker/require-encryption-key.ts'

const keyOf = (byte: number) => btoa(String.fromCharCode(...new Uint8Array(32).fill(byte)))
const env = { ENCRYPTION_KEY: keyOf(7) }
const owner = { tenant: 'acme', kind: 'credential', id: 'c1' }
const secret = 'sk-test-Grüße-🔑-0123456789'

/** The sealed value with each character changed once, without the padding. */
const damaged = (sealed: string) =>
  [...sealed].flatMap((char, at) =>
    char === '=' ? [] : `${sealed.slice(0, at)}${char === 'A' ? 'B' : 'A'}${sealed.slice(at + 1)}`,
  )

describe('a sealed secret', () => {
  it('opens for its owner', async () => {
    expect(await unseal(env, await seal(env, secret, owner), owner)).toEqual({ kind: 'opened', secret })
    expect(await unseal(env, await seal(env, '', owner), owner)).toEqual({ kind: 'opened', secret: '' })
    const long = 'x'.repeat(20_000)
    expect(await unseal(env, await seal(env, long, owner), owner)).toEqual({ kind: 'opened', secret: long })
  })

  it('differs each time and does not contain the secret', async () => {
    const [one, two] = [await seal(env, secret, owner), await seal(env, secret, owner)]
    expect(one).not.toBe(two)
    for (const shown of [one, atob(one.split('.')[1] ?? '')]) {
      expect(shown).not.toContain('sk-test')
      expect(shown).not.toContain('0123456789')
    }
  })

  it.each([
    ['another tenant', { ...owner, tenant: 'acme2' }],
    ['another kind', { ...owner, kind: 'channel' }],
    ['another id', { ...owner, id: 'c2' }],
    ['parts that are equal when joined', { tenant: 'acme', kind: 'credentialc', id: '1' }],
  ])('cannot be opened for %s', async (_case, other) => {
    expect(await unseal(env, await seal(env, secret, owner), other)).toMatchObject({ kind: 'unreadable' })
  })

  it('cannot be opened with another ENCRYPTION_KEY, and the reason says so', async () => {
    const opened = await unseal({ ENCRYPTION_KEY: keyOf(8) }, await seal(env, secret, owner), owner)
    expect(opened).toEqual({ kind: 'unreadable', reason: expect.stringContaining('another ENCRYPTION_KEY') })
  })

  it('cannot be opened after any change', async () => {
    const sealed = await seal(env, 'short', owner)
    const all = [...damaged(sealed), sealed.slice(0, 20), `${sealed}AAAA`, '', 'v1.', 'v1', 'v2.AAAA', 'v1.%%%']
    const opened = await Promise.all(all.map((text) => unseal(env, text, owner)))
    // The last character of base64 may have unused bits: a change of those does not change the secret.
    expect(opened.filter((one) => one.kind === 'opened' && one.secret !== 'short')).toEqual([])
    expect(opened.filter(({ kind }) => kind === 'unreadable').length).toBeGreaterThanOrEqual(all.length - 1)
  })
})

describe('the key of the deployment', () => {
  it.each([undefined, '', '  ', 'short', btoa('31 bytes are one byte too few!!'), `${keyOf(7)}AAAA`, 'ü'.repeat(44)])(
    'is refused as %j, with the command that sets it',
    async (text) => {
      const settings = text === undefined ? {} : { ENCRYPTION_KEY: text }
      const missing = expect.stringContaining('openssl rand -base64 32 | npx wrangler secret put ENCRYPTION_KEY')
      expect(explainMissingKey(settings)).toEqual(missing)
      await expect(seal(settings, secret, owner)).rejects.toThrow('ENCRYPTION_KEY')
      expect(await unseal(settings, 'v1.AAAA', owner)).toEqual({ kind: 'unreadable', reason: missing })
      expect(() => requireEncryptionKey(settings)).toThrow(
        expect.objectContaining({ status: 503, code: 'not_configured', message: missing }),
      )
    },
  )

  it('is accepted in both alphabets of base64 and with a line break at its end', async () => {
    const bytes = new Uint8Array(32).fill(255)
    const plain = btoa(String.fromCharCode(...bytes))
    const sealed = await seal({ ENCRYPTION_KEY: plain }, secret, owner)
    for (const text of [`${plain}\n`, plain.replaceAll('/', '_').replaceAll('=', '')]) {
      expect(explainMissingKey({ ENCRYPTION_KEY: text })).toBeUndefined()
      expect(await unseal({ ENCRYPTION_KEY: text }, sealed, owner)).toEqual({ kind: 'opened', secret })
    }
    expect(() => requireEncryptionKey(env)).not.toThrow()
  })
})
