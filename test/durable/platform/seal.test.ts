/** Tests sealed secrets: which owner can open them, and the reasons when they cannot be opened. */

import { describe, expect, it } from 'vitest'
import { createDataKey, rewrapDataKey } from '#durable/platform/data-key.ts'
import { explainMissingKey } from '#durable/platform/master-key.ts'
import { unseal, seal } from '#durable/platform/seal.ts'
import { requireEncryptionKey } from '#worker/secrets/require-encryption-key.ts'

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
    for (const shown of [one, atob(one.split('.').at(-1) ?? '')]) {
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
    // The last characters of base64 may have unused bits: a change of those does not change the secret.
    expect(opened.filter((one) => one.kind === 'opened' && one.secret !== 'short')).toEqual([])
    expect(opened.filter(({ kind }) => kind === 'unreadable').length).toBeGreaterThanOrEqual(all.length - 2)
  })
})

describe('the data key of a tenant', () => {
  const second = { ENCRYPTION_KEY: keyOf(8), ENCRYPTION_KEY_PREVIOUS: `${keyOf(9)}, ${env.ENCRYPTION_KEY}` }

  it('opens what it has sealed, also after the tenant has another', async () => {
    const [one, two] = [await createDataKey(env, 'acme', 1), await createDataKey(env, 'acme', 2)]
    const sealed = [await seal(env, 'first', owner, one), await seal(env, 'second', owner, two)]
    expect(await Promise.all(sealed.map((text) => unseal(env, text, owner)))).toEqual([
      { kind: 'opened', secret: 'first' },
      { kind: 'opened', secret: 'second' },
    ])
  })

  it('is bound to its tenant and version', async () => {
    const key = await createDataKey(env, 'acme', 1)
    await expect(seal(env, secret, { ...owner, tenant: 'other' }, key)).rejects.toThrow('cannot be opened')
    await expect(seal(env, secret, owner, { ...key, version: 2 })).rejects.toThrow('cannot be opened')
  })

  it('survives a new ENCRYPTION_KEY while the earlier one is in ENCRYPTION_KEY_PREVIOUS', async () => {
    const key = await createDataKey(env, 'acme', 1)
    const sealed = await seal(env, secret, owner, key)
    expect(await unseal(second, sealed, owner)).toEqual({ kind: 'opened', secret })
    expect(await unseal({ ENCRYPTION_KEY: keyOf(8) }, sealed, owner)).toMatchObject({ kind: 'unreadable' })
    const wrapped = await rewrapDataKey(second, 'acme', key)
    const again = await seal(second, secret, owner, wrapped)
    expect(await unseal({ ENCRYPTION_KEY: keyOf(8) }, again, owner)).toEqual({ kind: 'opened', secret })
    expect(await rewrapDataKey(second, 'acme', wrapped ?? key)).toBe(undefined)
  })

  it('is not needed by values of the format v1', async () => {
    const old = 'v1./XPHROs2KokFutJiA4WQQmmRUZTaIKes3smPXZoq3oAw8P0v3wBeXB8zptAE1oj+L6U4ArJ/uNA7ON4='
    expect(await unseal(env, old, owner)).toEqual({ kind: 'opened', secret })
    expect(await unseal(second, old, owner)).toEqual({ kind: 'opened', secret })
    expect(await unseal(env, old, { ...owner, id: 'c2' })).toMatchObject({ kind: 'unreadable' })
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
