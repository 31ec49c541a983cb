/** Tests that vendor sandboxes are created without network when a deployment turns it off. */

import { vendorBackend } from '#backends/host/vendor-backend.ts'
import { expect, it } from 'vitest'

const closed = {
  daytona: { networkBlockAll: true },
  e2b: { allow_internet_access: false },
  vercel: { networkPolicy: { mode: 'deny-all' } },
}

/** Returns the body of the request that creates a sandbox, which then fails. */
async function asked(kind: keyof typeof closed, network: 'none' | 'full') {
  const bodies: object[] = []
  const refuses = async (_url: unknown, init?: RequestInit) => {
    bodies.push(JSON.parse(String(init?.body)) as object)
    return new Response('no', { status: 500 })
  }
  const memory = { read: () => ({}), write: () => {} }
  const backend = vendorBackend(kind, { key: 'k', project: 'p', memory, network, fetch: refuses as typeof fetch })
  await expect(backend.exec('true', { timeoutMs: 1000 })).rejects.toMatchObject({ code: 'unavailable' })
  expect(backend.capabilities.network).toBe(network)
  return bodies[0]
}

it.each(['daytona', 'e2b', 'vercel'] as const)(
  '%s creates a sandbox without network only when it is turned off',
  async (kind) => {
    expect(await asked(kind, 'none')).toMatchObject(closed[kind])
    expect(await asked(kind, 'full')).not.toMatchObject(closed[kind])
  },
)
