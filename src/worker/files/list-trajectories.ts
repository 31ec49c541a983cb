/** Answers `GET /api/trajectories`: reads the lines of R2 one by one. */

import { sessionStub, tenantStub } from '#durable/platform/addresses.ts'
import { textStream } from '#durable/platform/byte-stream.ts'
import { type TrajectoryOutcome, trajectoryPrefix } from '#durable/tenant/trajectories.ts'
import type { RouteCall } from '../route.ts'

type Query = { readonly outcome: TrajectoryOutcome; readonly after?: string | undefined; readonly limit: number }
type Call = RouteCall<Query, unknown>

export async function listTrajectories(call: Call): Promise<Response> {
  const { outcome } = call.query
  await tenantStub(call.env, call.tenant.id).audit.add(call.authority, {
    kind: 'session.exported',
    subject: call.tenant.id,
    details: { format: 'sharegpt', trajectories: outcome },
  })
  return new Response(textStream(readLines(call)), {
    headers: { 'content-type': 'application/jsonl; charset=utf-8', 'x-content-type-options': 'nosniff' },
  })
}

async function* readLines({ env, tenant, authority, query }: Call): AsyncGenerator<string> {
  const prefix = trajectoryPrefix(tenant.id, query.outcome)
  const opened = new Map<string, boolean>()
  const mayOpen = async (session: string): Promise<boolean> => {
    const known = opened.get(session)
    if (known !== undefined) return known
    const may = (await sessionStub(env, tenant.id, session).info.get(authority)) !== undefined
    opened.set(session, may)
    return may
  }
  let [left, startAfter] = [query.limit, prefix + (query.after ?? '')]
  for (;;) {
    const page = await env.BLOBS?.list({ prefix, startAfter })
    for (const { key } of page?.objects ?? []) {
      if (left === 0) return
      startAfter = key
      const session = decodeURIComponent(key.slice(prefix.length).split('~')[1] ?? '')
      const found = (await mayOpen(session)) ? await env.BLOBS?.get(key) : null
      if (!found) continue
      left--
      yield await found.text()
    }
    if (!page?.truncated) return
  }
}
