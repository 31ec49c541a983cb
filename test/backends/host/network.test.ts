/** Tests that vendor sandboxes are created without network when a deployment turns it off. */

import { expect, it } from 'vitest'
import { daytonaBackend } from '#backends/host/daytona.ts'
import { e2bBackend } from '#backends/e2b/e2b.ts'
import { vercelBackend } from '#backends/vercel/vercel.ts'

const open = { daytona: daytonaBackend, e2b: e2bBackend, vercel: vercelBackend }
const closed = {
  daytona: { networkBlockAll: true },
  e2b: { allow_internet_access: false },
  vercel: { networkPolicy: { mode: 'deny-all' } },
}

/** Returns the body of the request that creates a sandbox, which then fails. */
async function asked(kind: keyof typeof open, network: 'none' | 'full') {
  const bodies: object[] = []
  const refuses = async (_url: unknown, init?: RequestInit) => {
    bodies.push(JSON.parse(String(init?.body)) as object)
    return new Response('no', { status: 500 })
  }
  const memory = { read: () => ({}), write: () => {} }
  const backend = open[kind]({ key: 'k', project: 'p', memory, network, fetch: refuses as typeof fetch })
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
