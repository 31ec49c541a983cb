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
  const opened = new Map<string, Promise<boolean>>()
  const askSession = async (session: string): Promise<boolean> =>
    (await sessionStub(env, tenant.id, session).info.get(authority)) !== undefined
  const mayOpen = (session: string): Promise<boolean> => {
    const known = opened.get(session) ?? askSession(session)
    opened.set(session, known)
    return known
  }
  let left = query.limit
  for await (const key of listKeys(env, prefix, query.after)) {
    if (left === 0) return
    const session = decodeURIComponent(key.slice(prefix.length).split('~')[1] ?? '')
    const found = (await mayOpen(session)) ? await env.BLOBS?.get(key) : null
    if (!found) continue
    left--
    yield await found.text()
  }
}

async function* listKeys({ BLOBS }: Env, prefix: string, after = ''): AsyncGenerator<string> {
  let startAfter = prefix + after
  for (;;) {
    const page = await BLOBS?.list({ prefix, startAfter })
    for (const { key } of page?.objects ?? []) yield (startAfter = key)
    if (!page?.truncated) return
  }
}
