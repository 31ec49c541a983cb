/** `/api/sessions/{id}/shares`: links under which everybody reads a conversation, and `/shared/{token}`, where they lead. */

import * as z from 'zod'
import type { Authority } from '#agent/core/permission/authority.ts'
import { createTenants } from '#db/tenants.ts'
import { clock } from '#durable/platform/clock.ts'
import { tenantStub } from '#durable/platform/addresses.ts'
import { createShareToken, openShareToken } from '#durable/platform/share-token.ts'
import type { Share } from '#durable/storage/session-metadata.ts'
import { AppError, notFound } from '../../errors.ts'
import { sessionParam, shareParam, sharedParam } from '../../openapi/path-params.ts'
import { deadLink } from '../../files/plain-page.ts'
import { type OpenRoute, type RequestContext, type RouteCall, route } from '../../route.ts'
import { nameSchemas } from '../../schema-names.ts'
import { requireEncryptionKey } from '../../secrets/require-encryption-key.ts'
import { addressSession, requireFound } from '../../sessions.ts'
import { created, ok } from '../../shapes.ts'

const tag = 'Sessions'
const path = '/api/sessions/:id/shares'
const dayMs = 86_400_000
const maxDays = 365

const shareShape = z.object({
  id: z.string(),
  url: z.string().describe('Everybody who has it reads the conversation up to the moment of sharing.'),
  created_at: z.iso.datetime(),
  expires_at: z.iso.datetime().nullable(),
})
nameSchemas({ Share: shareShape }, { Share: { id: 'share_5b1f0c9e8a7d4e62', url: 'https://talaria.example/shared/x' } })

type Call = Pick<RouteCall<unknown, unknown>, 'env' | 'authority' | 'tenant' | 'param' | 'web'>

async function toView({ env, tenant, param, web }: Call, { id, createdAt, expiresAt }: Share) {
  const token = await createShareToken(env, { tenantId: tenant.id, sessionId: param('id'), shareId: id })
  return {
    id,
    url: `${new URL(web.req.url).origin}/shared/${token ?? ''}`,
    created_at: new Date(createdAt).toISOString(),
    expires_at: expiresAt === undefined ? null : new Date(expiresAt).toISOString(),
  }
}

const audit = ({ env, tenant, authority, param }: Call, kind: 'session.shared' | 'session.unshared', share: string) =>
  tenantStub(env, tenant.id).audit.add(authority, {
    kind,
    subject: param('id'),
    sessionId: param('id'),
    details: { share },
  })

export const shareRoutes = [
  route({
    method: 'get',
    path,
    id: 'listSessionShares',
    params: { id: sessionParam },
    scope: 'write',
    tag,
    summary: 'The links under which everybody reads the conversation',
    responses: ok('Those that have not expired', z.object({ data: z.array(shareShape) })),
    handle: async (call) => {
      const { env, authority, tenant, param } = call
      const shares = requireFound(await addressSession(env, tenant.id, param('id')).transfer.shares(authority))
      return Response.json({ data: await Promise.all(shares.map((share) => toView(call, share))) })
    },
  }),
  route({
    method: 'post',
    path,
    id: 'createSessionShare',
    params: { id: sessionParam },
    scope: 'write',
    tag,
    summary: 'Share what has been said so far: without tools, thinking and files, and nothing that is said later',
    example: { days: 30 },
    body: z.strictObject({
      days: z.int().min(1).max(maxDays).nullish().describe('Until it expires. Default: never.'),
    }),
    responses: created('The share', shareShape),
    handle: async (call) => {
      const { env, authority, tenant, param, body } = call
      const session = addressSession(env, tenant.id, param('id'))
      requireEncryptionKey(env)
      const id = `share_${crypto.randomUUID().replaceAll('-', '')}`
      const expiresAt = body.days ? clock.now() + body.days * dayMs : undefined
      const share = requireFound(await session.transfer.share(authority, id, expiresAt))
      if (share === 'empty') throw new AppError(409, 'conflict', 'The conversation has no message yet.')
      if (share === 'full')
        throw new AppError(409, 'conflict', 'The conversation has too many links. Delete one first.')
      await audit(call, 'session.shared', id)
      return Response.json(await toView(call, share), { status: 201 })
    },
  }),
  route({
    method: 'delete',
    path: `${path}/:share`,
    id: 'deleteSessionShare',
    params: { id: sessionParam, share: shareParam },
    scope: 'write',
    tag,
    summary: 'Revoke a link: it leads nowhere from now on',
    responses: { 204: { description: 'Revoked' } },
    handle: async (call) => {
      const { env, authority, tenant, param } = call
      const session = addressSession(env, tenant.id, param('id'))
      if (!requireFound(await session.transfer.unshare(authority, param('share')))) throw notFound()
      await audit(call, 'session.unshared', param('share'))
      return new Response(null, { status: 204 })
    },
  }),
]

const sharedPath = '/shared/:token'

export const sharedPageRoutes: readonly OpenRoute[] = [
  {
    method: 'get',
    path: sharedPath,
    id: 'getSharedConversation',
    params: { token: sharedParam },
    errors: ['NotFound'],
    scope: null,
    tag,
    summary: 'A shared conversation as a page',
    responses: { 200: { description: 'What people and the agent said', type: 'text/html' } },
    mount: (app) => void app.get(sharedPath, serveShared),
  },
]

/** The page has no script, loads nothing, and has no origin. Search engines leave it out. */
const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'x-robots-tag': 'noindex, nofollow',
  'cache-control': 'private, no-store',
} as const

/** Links that are forged, revoked, expired or of a deleted session get the same 404. */
async function serveShared(context: RequestContext): Promise<Response> {
  const { req, env } = context
  const place = await openShareToken(env, req.param('token') ?? '')
  if (!place) return deadLink(context)
  const tenant = await createTenants(env.DB).get(place.tenantId)
  if (tenant?.status !== 'active') return deadLink(context)
  const authority: Authority = {
    tenantId: place.tenantId,
    principal: { kind: 'key', id: 'link' },
    scopes: ['read'],
    taint: 'none',
  }
  const session = addressSession(env, place.tenantId, place.sessionId)
  const page = await session.transfer.readShared(authority, place.shareId)
  if (!page) return deadLink(context)
  return new Response(page, { headers: pageHeaders })
}
