import { env } from 'cloudflare:workers'
import { expect, it } from 'vitest'
import {
  blobPrefix,
  parseSessionAddress,
  sessionBlobPattern,
  sessionBlobPrefix,
  sessionsBlobPrefix,
  sessionStub,
  parseTenantAddress,
  relayStub,
  tenantStub,
} from '#durable/platform/addresses.ts'

it('puts the blobs of a tenant under its own prefix', () => {
  expect(blobPrefix('acme')).toBe('t/acme/')
  expect(blobPrefix('acme', 'uploads')).toBe('t/acme/uploads/')
  expect(sessionsBlobPrefix('acme')).toBe('t/acme/s/')
  expect(sessionBlobPrefix('acme', 'one', 'files')).toBe('t/acme/s/one/files/')
  // The slash at the end keeps apart tenants of whom one is the beginning of the other.
  expect('t/acme-2/uploads/x'.startsWith(blobPrefix('acme'))).toBe(false)
})

it('recognises one kind of files of any session', () => {
  const pattern = sessionBlobPattern(['files', 'checkpoints'])
  expect(pattern.test('t/acme/s/one/files/a')).toBe(true)
  expect(pattern.test('t/acme/s/one/media/a')).toBe(false)
  expect(pattern.test('t/acme/files/a')).toBe(false)
})

it('reads the names of objects that it made', () => {
  expect(parseSessionAddress(sessionStub(env, 'acme', 'a:b.c').name)).toEqual({ tenantId: 'acme', sessionId: 'a:b.c' })
  expect(parseTenantAddress(tenantStub(env, 'acme').name)).toEqual({ id: 'acme', isRelay: false })
  expect(parseTenantAddress(relayStub(env, 'acme', 3).name)).toEqual({ id: 'acme', isRelay: true })
  expect(parseTenantAddress(undefined)).toEqual({ id: '', isRelay: false })
})

it.each([undefined, '', 't/acme', 't/acme/s/', 't/a/s/b/c', 'x/acme/s/one'])('reads no session from %j', (name) => {
  expect(parseSessionAddress(name)).toEqual({ tenantId: '', sessionId: '' })
})
