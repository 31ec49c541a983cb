/** Serves `/api/pairing`: lists people who wrote to a channel without permission, and approves them by their codes. */

import * as z from 'zod'
import { channelSettings } from '#channels/settings.ts'
import { createConnections } from '#db/channel-connections.ts'
import type { PairedPerson } from '#durable/tenant/channels/pairing.ts'
import { tenantStub } from '#durable/platform/addresses.ts'
import { AppError, notFound } from '../errors.ts'
import { requireMayPair } from '../input/channel-policy.ts'
import { pageByKey } from '../input/page.ts'
import { type RouteCall, route } from '../route.ts'
import { listOf, ok, pageQuery } from '../shapes.ts'
import { nameSchemas } from '../schema-names.ts'
import { pairingParam } from '../openapi/path-params.ts'

const tag = 'Channels'

const personShape = z.object({
  id: z.string(),
  platform: z.string(),
  person: z.string(),
  name: z.string(),
  status: z.enum(['pending', 'approved']),
  at: z.iso.datetime(),
})
nameSchemas(
  { PairedPerson: personShape },
  { PairedPerson: { id: pairingParam.example, platform: 'telegram', person: '4711' } },
)

const view = ({ platform, person, at, ...rest }: PairedPerson) => ({
  id: `${platform}:${person}`,
  platform,
  person,
  ...rest,
  at: new Date(at).toISOString(),
})

async function requireMayPairOn(call: RouteCall<unknown, unknown>, platform: string): Promise<void> {
  const connections = createConnections(call.env.DB, call.tenant.id)
  let before: { at: number; id: string } | undefined
  do {
    const page = await connections.list({ kind: 'channel', limit: 100, before })
    const own = page.filter((connection) => connection.platform === platform)
    for (const { settings } of own) requireMayPair(call, channelSettings.parse(settings))
    const last = page.at(-1)
    before = last && { at: last.createdAt, id: last.id }
  } while (before)
}

export const pairingRoutes = [
  route({
    method: 'get',
    path: '/api/pairing',
    id: 'listPairedPeople',
    scope: 'read',
    tag,
    summary: 'Pending and approved people, without their codes',
    query: z.strictObject(pageQuery),
    responses: ok('People, newest first', listOf(personShape)),
    handle: async (call) => {
      const people = await tenantStub(call.env, call.tenant.id).pairing.list(call.authority)
      const page = pageByKey(people, call.query, ({ at, platform, person }) => [at, `${platform}:${person}`])
      return Response.json({ ...page, data: page.data.map(view) })
    },
  }),
  route({
    method: 'post',
    path: '/api/pairing/approve',
    id: 'approvePairing',
    scope: 'write',
    tag,
    summary: 'Approve a person by the code they were sent',
    example: { platform: 'telegram', code: 'ABCD2345' },
    body: z.strictObject({ platform: z.string().max(100), code: z.string().min(1).max(100) }),
    responses: ok('The approved person', z.object({ platform: z.string(), person: z.string(), name: z.string() })),
    handle: async (call) => {
      const { platform, code } = call.body
      if (call.authority.entitlements) await requireMayPairOn(call, platform)
      const approval = await tenantStub(call.env, call.tenant.id).pairing.approve(call.authority, platform, code)
      if (approval.kind === 'wrong')
        throw new AppError(404, 'not_found', 'This code does not exist or has expired.', { param: 'code' })
      if (approval.kind === 'locked')
        throw new AppError(429, 'limit_exceeded', 'Too many wrong codes.', {
          param: 'code',
          retryAfter: approval.retryAfter,
        })
      return Response.json({ platform, person: approval.person, name: approval.name })
    },
  }),
  route({
    method: 'delete',
    path: '/api/pairing/:id',
    id: 'deletePairedPerson',
    params: { id: pairingParam },
    scope: 'write',
    tag,
    summary: 'Remove an approved or pending person',
    responses: { 204: { description: 'Removed' } },
    handle: async (call) => {
      const [, platform, person] = /^([a-z]{1,40}):(.{1,200})$/.exec(call.param('id')) ?? []
      if (platform === undefined || person === undefined) throw notFound()
      if (!(await tenantStub(call.env, call.tenant.id).pairing.remove(call.authority, platform, person)))
        throw notFound()
      return new Response(null, { status: 204 })
    },
  }),
]
