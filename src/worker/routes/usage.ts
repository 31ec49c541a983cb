/** `/api/usage`: reports tokens and cost of a tenant, summed from the stored turns. */

import { historyDb } from '#db/shards/sharded-database.ts'
import * as z from 'zod'
import { dayMs, getMoment, resolveZone } from '#agent/schedule/civil-time.ts'
import type { Authority } from '#agent/core/permission/authority.ts'
import { type UsageCursor, type UsageGroup, usageGroups, reportUsage } from '#db/usage-report.ts'
import { countsSpending } from '#durable/tenant/billing/spending.ts'
import type { TenantSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { tenantStub } from '#durable/platform/addresses.ts'
import { invalid, invalidCursor } from '../errors.ts'
import { route } from '../route.ts'
import { pageLimit, listOf, ok, pageQuery, usageShape } from '../shapes.ts'
import { nameSchemas } from '../schema-names.ts'

const sums = {
  turns: z.int(),
  calls: z.int().describe('Model calls.'),
  cut_calls: z.int().describe('Model calls that broke off or reported no usage: estimated.'),
  ...usageShape.shape,
}
/** One group, or two in order. */
const groupings = usageGroups.flatMap((one) => [
  one,
  ...usageGroups.flatMap((other) => (one === other ? [] : [`${one},${other}` as const])),
])
const name = z.string().optional()

const reportShape = z.object({
  group: z.enum(groupings),
  tz: z.string(),
  from: z.iso.datetime(),
  to: z.iso.datetime(),
  data: z.array(
    z
      .object({ key: z.string(), day: name, model: name, session: name, source: name, ...sums })
      .describe('With two groups the line names both.'),
  ),
  totals: z.object(sums).describe('Sums of the whole span, not of this page.'),
  limits: z
    .array(
      z.object({
        limit: z.string(),
        max: z.number(),
        used: z.number(),
        reserved: z.number().describe('The most that calls in flight can cost.'),
        status: z.enum(['ok', 'warning', 'reached']),
        resets_at: z.iso.datetime(),
      }),
    )
    .describe('The limits of the day and the month that are set.'),
  next_cursor: z.string().nullable(),
})

const timeSchema = z.union([z.iso.datetime({ offset: true }), z.iso.date()])
const defaultDays = 30

const query = z.strictObject({
  ...pageQuery,
  from: timeSchema.optional().describe('A day or a moment; default: 30 days ago.'),
  to: timeSchema.optional().describe('A day, which counts in full, or a moment; default: now.'),
  group: z.enum(groupings).default('day').describe('The dimensions of the rows, separated by a comma.'),
  tz: z.string().max(64).optional().describe('The IANA zone of the days. Default: that of the tenant, else UTC.'),
  session_id: z.string().max(300).optional().describe('Only this session.'),
})

const hostShape = z.object({
  host: z.string(),
  requests: z.number(),
  bytes: z.number(),
  refused: z.number().describe('Requests that the guard of the network has refused.'),
  last_at: z.iso.datetime(),
})
nameSchemas(
  { UsageReport: reportShape, CalledHost: hostShape },
  { CalledHost: { host: 'api.example.com', requests: 12, bytes: 5_120 } },
)

export const usageRoutes = [
  route({
    method: 'get',
    path: '/api/usage/hosts',
    id: 'listCalledHosts',
    scope: 'read',
    tag: 'Usage',
    summary: 'Hosts that agents of the tenant have called',
    query: z.strictObject({ limit: pageLimit(1_000).default(100) }),
    responses: ok('The hosts called last first', listOf(hostShape)),
    handle: async ({ env, authority, tenant, query: { limit } }) => {
      const hosts = await tenantStub(env, tenant.id).network.list(authority, limit)
      const data = hosts.map(({ lastAt, ...host }) => ({ ...host, last_at: new Date(lastAt).toISOString() }))
      return Response.json({ data, next_cursor: null })
    },
  }),
  route({
    method: 'get',
    path: '/api/usage',
    id: 'getUsage',
    scope: 'read',
    tag: 'Usage',
    summary: 'Tokens and cost of the tenant by day, model, session or source, or two of them',
    query,
    responses: ok('A page of the report, and the sums of all', reportShape),
    handle: async ({ env, authority, tenant, query: asked }) => {
      const { group, limit, cursor, session_id: sessionId } = asked
      const zone = resolveTimeZone(asked.tz ?? tenant.settings.timezone ?? 'UTC')
      const span = resolveSpan(asked, zone, Date.now())
      const [first, secondGroup] = group.split(',') as [UsageGroup, UsageGroup?]
      const filter = { ...span, group: first, secondGroup, zone, sessionId, limit, cursor: readCursor(cursor) }
      const { data, totals, next } = await reportUsage(historyDb(env, tenant.id), tenant.id, filter)
      return Response.json({
        group,
        tz: zone,
        from: new Date(span.from).toISOString(),
        to: new Date(span.to).toISOString(),
        data,
        totals,
        limits: await listLimits(env, tenant, authority),
        next_cursor: next ? btoa(encodeURIComponent(JSON.stringify(next))) : null,
      })
    },
  }),
]

/** Share of a limit from which it counts as nearly used up. */
const warningShare = 0.8

async function listLimits(env: Env, { id, limits }: TenantSnapshot, authority: Authority) {
  if (!countsSpending(limits)) return []
  const list = await tenantStub(env, id).billing.listUse(authority)
  return list.map(({ limit, max, used, reserved, to }) => ({
    limit,
    max,
    used,
    reserved,
    status: used >= max ? 'reached' : used >= max * warningShare ? 'warning' : 'ok',
    resets_at: new Date(to).toISOString(),
  }))
}

function resolveTimeZone(asked: string): string {
  const zone = resolveZone(asked)
  if (zone === undefined) throw invalid('The time zone must be a name of the IANA database.', 'tz')
  return zone
}

/** A day begins in its zone. */
const momentIn = (zone: string, text: string, days = 0): number =>
  text.includes('T') ? Date.parse(text) : getMoment(zone, Date.parse(text) + days * dayMs)

function resolveSpan({ from, to }: Pick<z.infer<typeof query>, 'from' | 'to'>, zone: string, now: number) {
  const end = to === undefined ? now + 1 : momentIn(zone, to, 1)
  const begin = from === undefined ? end - defaultDays * dayMs : momentIn(zone, from)
  if (begin >= end) throw invalid('`from` must be before `to`.', 'to')
  return { from: begin, to: end }
}

const cursorShape = z.strictObject({ weight: z.number(), key: z.string().max(300) })

function readCursor(cursor: string | undefined): UsageCursor | undefined {
  if (cursor === undefined) return undefined
  try {
    return cursorShape.parse(JSON.parse(decodeURIComponent(atob(cursor))))
  } catch {
    // Any parse error means that this API did not issue the cursor.
    throw invalidCursor()
  }
}
