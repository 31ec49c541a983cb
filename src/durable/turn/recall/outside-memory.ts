/** Connects a session with the service that remembers its conversations, if its tenant has set one up. */

import type { Authority } from '#agent/core/permission/authority.ts'
import { log } from '#agent/core/log.ts'
import { BoundedMap } from '#agent/core/bounded-map.ts'
import type {
  MemoryProvider,
  MemoryProviderName,
  MemorySubject,
  RememberedTurn,
} from '#agent/core/recall/memory-provider.ts'
import type { PostJson } from '#agent/memory/mem0.ts'
import { memoryReach } from '#agent/memory/memory-reach.ts'
import { renderRecalled } from '#agent/memory/recalled-context.ts'
import { clock } from '#durable/platform/clock.ts'
import { newNonce } from '#durable/platform/ids.ts'
import { redactorFor } from '#durable/platform/redaction.ts'
import { variablesOf } from '#durable/platform/variables.ts'
import { createTenantFetch } from '#durable/tenant/tenant-fetch.ts'
import type { TurnSession } from '../turn-session.ts'
import { sha256Hex } from '#durable/platform/hash.ts'

/** A turn waits at most so long for what the service remembers. */
const recallTimeoutMs = 8_000
const storeTimeoutMs = 30_000
const maxAnswerBytes = 1_000_000
/** After a failure turns do not wait for the service for a while. */
const pauseMs = 60_000

type Connected = {
  /** Undefined: the service has no address. */
  readonly provider: () => Promise<MemoryProvider | undefined>
  readonly subject: () => Promise<MemorySubject>
  readonly owner: string
}

/** When each tenant's service may be asked again. */
const pausedUntil = new BoundedMap<string, number>(1_000)

/** Returns the fenced text for the model, if the service finds something in time. Undefined at once without a service. */
export function recallContext(
  session: TurnSession,
  env: Env,
  { authority, query }: { readonly authority: Authority; readonly query: string },
): Promise<string | undefined> | undefined {
  const connected = query.trim() ? connect(session, env, authority) : undefined
  if (connected && session.settings.memory?.prefetch) return takePrefetched(session, connected)
  if (!connected || (pausedUntil.get(session.tenantId) ?? 0) > clock.now()) return undefined
  return recall(session, connected, { query: redactorFor(env, session.tenantId).redact(query) })
}

/** They are those of one person: for another one nothing is taken. */
async function takePrefetched(session: TurnSession, { owner }: Connected): Promise<string | undefined> {
  const { prefetched } = session.meta
  if (!prefetched) return undefined
  session.updateMeta({ prefetched: undefined })
  return prefetched.owner === owner ? prefetched.text : undefined
}

async function recall(
  { tenantId }: TurnSession,
  connected: Connected,
  { query }: { readonly query: string },
): Promise<string | undefined> {
  const asking = new AbortController()
  const cancel = clock.schedule(recallTimeoutMs, () => asking.abort())
  try {
    const provider = await connected.provider()
    if (!provider) return undefined
    const memories = await provider.recall(query, await connected.subject(), asking.signal)
    return renderRecalled(memories, provider.name, newNonce())
  } catch (error) {
    pausedUntil.set(tenantId, clock.now() + pauseMs)
    log.warn('memory.unreachable', 'The memory service failed; the turn goes on without it.', { error })
    return undefined
  } finally {
    cancel()
  }
}

/** Hands a finished turn to the service, in the background. A turn that cannot be handed over is left out. */
export function storeTurnOutside(
  session: TurnSession,
  env: Env,
  { authority, turn }: { readonly authority: Authority; readonly turn: RememberedTurn },
): void {
  const connected = turn.user.trim() && turn.assistant.trim() ? connect(session, env, authority) : undefined
  if (!connected) return
  const { redact } = redactorFor(env, session.tenantId)
  const masked = { user: redact(turn.user), assistant: redact(turn.assistant) }
  session.runInBackground(storeAndPrefetch(session, connected, masked))
}

async function storeAndPrefetch(session: TurnSession, connected: Connected, turn: RememberedTurn): Promise<void> {
  await store(connected, turn)
  if (!session.settings.memory?.prefetch) return
  const text = await recall(session, connected, { query: `${turn.user}\n${turn.assistant}` })
  // The session may have been deleted during the wait.
  if (text !== undefined && session.exists) session.updateMeta({ prefetched: { owner: connected.owner, text } })
}

async function store({ provider, subject }: Connected, turn: RememberedTurn): Promise<void> {
  const sending = new AbortController()
  const cancel = clock.schedule(storeTimeoutMs, () => sending.abort())
  try {
    await (await provider())?.store(turn, await subject(), sending.signal)
  } catch (error) {
    log.warn('memory.unreachable', 'The memory service did not take a turn.', { error })
  } finally {
    cancel()
  }
}

/** Undefined without a service, without a key for it, and where the asker reaches no memory of their own. */
function connect(session: TurnSession, env: Env, authority: Authority): Connected | undefined {
  const name = session.settings.memory?.provider
  const key = name && session.tenant.keys.byProvider.get(name)?.[0]?.key
  const owner = memoryReach(authority)?.owner
  if (!name || key === undefined || owner === undefined) return undefined
  // Others read along in a group.
  if (session.meta.origin?.isGroup || !session.hasMemory()) return undefined
  return {
    owner,
    provider: () => openProvider(session, env, { name, key }),
    subject: async () => ({ userId: await hashOwner(session.tenantId, owner), sessionId: session.sessionId }),
  }
}

async function openProvider(
  session: TurnSession,
  env: Env,
  { name, key }: { readonly name: MemoryProviderName; readonly key: string },
): Promise<MemoryProvider | undefined> {
  const given = session.settings.memory?.base_url
  const deployed = variablesOf(env)[name === 'http' ? 'MEMORY_BASE_URL' : `${name.toUpperCase()}_BASE_URL`]
  const baseUrl = given ?? deployed
  const post = createPost(session, env, given === undefined && deployed !== undefined)
  const { createMemoryProvider } = await import('#agent/memory/memory-services.ts')
  return createMemoryProvider(name, { key, post, ...(baseUrl !== undefined && { baseUrl }) })
}

const createPost = (session: TurnSession, env: Env, isTrusted: boolean): PostJson => {
  const guardedFetch = createTenantFetch(env, session.tenantId, (work) => session.runInBackground(work))
  return async ({ url, headers, body, signal }) => {
    const request = { url, method: 'POST', headers, body, signal, isTrusted, maxBytes: maxAnswerBytes }
    const { response } = await guardedFetch({ ...request, timeoutMs: storeTimeoutMs })
    return { status: response.status, text: await response.text() }
  }
}

/** The service gets no name that a person could be found by. */
async function hashOwner(tenantId: string, owner: string): Promise<string> {
  return `talaria_${await sha256Hex(`${tenantId} ${owner}`, 20)}`
}
