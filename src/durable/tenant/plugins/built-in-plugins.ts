/** Gives built-in plugins what they reach: guarded requests, keys of the tenant, and its chats. Calls their hooks. */

import { BoundedMap } from '#agent/core/bounded-map.ts'
import { type Authority, chatName, historyReach } from '#agent/core/permission/authority.ts'
import { log } from '#agent/core/log.ts'
import type { Tool } from '#agent/core/tool.ts'
import { parseTargets } from '#agent/schedule/job/targets.ts'
import { createConnections } from '#db/channel-connections.ts'
import { listChats } from '#db/session-directory.ts'
import { historyDb } from '#db/shards/sharded-database.ts'
import { createTenantDb } from '#db/tenant-db.ts'
import { sessionStub, tenantStub } from '#durable/platform/addresses.ts'
import { clock } from '#durable/platform/clock.ts'
import { openSecrets } from '#durable/platform/tenant-secrets.ts'
import { createToolDeployment } from '#durable/models/tool-deployment.ts'
import type {
  BuiltInHooks,
  MessageOutcome,
  MessageTarget,
  OutgoingMessage,
  PluginHost,
} from '#tools/plugins/define-plugin.ts'
import { builtInPlugins } from '#tools/plugins/plugins.ts'
import { resolveChat } from '../channels/resolve-chat.ts'
import { chatSessionId } from '../jobs/chat-session.ts'
import type { ChatNotice, NoticeState } from '../jobs/session-port.ts'
import { createTenantFetch } from '../tenant-fetch.ts'
import { type HookedPlugin, type HookReport, PluginHooks } from './plugin-hooks.ts'
import type { TenantSnapshot } from '../tenant-snapshot.ts'

export type BuiltIn = {
  readonly tools: readonly Tool[]
  /** Adds the hooks of built-in plugins to those of the tenant's. */
  readonly joinHooks: (own: PluginHooks | undefined) => PluginHooks | undefined
}
type Loaded = BuiltIn & { snapshot: TenantSnapshot }

const cache = new BoundedMap<string, Loaded>(500)
const requestLimits = { timeoutMs: 30_000, maxBytes: 4 * 1024 * 1024 }
const ignore = (): void => undefined
const ignoreEnd = (work: Promise<unknown>): void => void work.catch(ignore)

/** The plugins that the settings name. The same arrays as long as these are the same. */
export function loadBuiltInPlugins(env: Env, snapshot: TenantSnapshot): BuiltIn {
  const { id, settings } = snapshot
  const names = new Set<string>(settings.plugins?.enabled)
  const key = `${id} ${[...names].toSorted().join()}`
  const cached = cache.get(key)
  if (cached) {
    cached.snapshot = snapshot
    return cached
  }
  let own: Loaded | undefined
  const host = createHost(env, id, () => own?.snapshot ?? snapshot)
  const plugins = builtInPlugins.filter(({ name }) => names.has(name))
  const hooked = plugins.flatMap(({ name, createHooks }) => (createHooks ? [withHooks(name, createHooks(host))] : []))
  own = {
    snapshot,
    tools: plugins.flatMap(({ createTools }) => createTools?.(host) ?? []),
    joinHooks: (hooks) => (hooked.length ? (hooks ?? new PluginHooks([])).with(hooked) : hooks),
  }
  cache.set(key, own)
  return own
}

/** A hook that fails is logged by its caller's report, and blocks where it is required. It never stops by itself. */
function withHooks(name: string, hooks: BuiltInHooks): HookedPlugin {
  const described = Object.entries(hooks).map(([hook, { matcher = '*', required = false }]) => [
    hook,
    { matcher, required },
  ])
  const report: HookReport = ({ error }) => {
    if (error !== undefined) log.warn('plugin.hook_failed', `A hook of the plugin ${name} failed.`, { reason: error })
  }
  return {
    name,
    hooks: Object.fromEntries(described) as HookedPlugin['hooks'],
    hasFailed: false,
    call: async ({ hook, event }) => ({ answer: { ok: true, value: await hooks[hook]?.run(event) }, report }),
  }
}

function createHost(env: Env, tenantId: string, snapshot: () => TenantSnapshot): PluginHost {
  const guardedFetch = createTenantFetch(env, tenantId, ignoreEnd)
  return {
    deployment: () => createToolDeployment(env, { id: tenantId, settings: snapshot().settings }),
    secret: async (name) => (await openSecrets(env, snapshot())).get(name),
    now: () => clock.now(),
    wait: (ms, signal) => clock.wait(ms, { signal }).catch(ignore),
    request: async ({ signal, ...request }) => {
      const { response } = await guardedFetch({ ...request, ...requestLimits, signal })
      return { status: response.status, text: await response.text() }
    },
    messages: {
      list: (authority) => listTargets(env, tenantId, authority),
      send: (authority, message) => sendMessage(env, { tenantId, authority }, message),
      call: async (authority, call) =>
        (await import('../channels/place-call.ts')).placeCall({ env, tenantId, authority }, call),
    },
  }
}

const maxChannels = 100
const maxChats = 100

/** Somebody who reaches one chat learns of no other. */
async function listTargets(env: Env, tenantId: string, authority: Authority): Promise<readonly MessageTarget[]> {
  const reach = historyReach(authority)
  const [all, chats] = await Promise.all([
    createConnections(env.DB, tenantId).list({ limit: maxChannels, kind: 'channel' }),
    reach.kind === 'session' ? [] : listChats(createTenantDb(historyDb(env, tenantId), tenantId), maxChats),
  ])
  const active = new Map(all.filter(({ status }) => status === 'active').map((one) => [one.id, one]))
  const known = chats.flatMap(({ chat, title }) => {
    const connection = active.get(chat.slice(0, chat.indexOf(':')))
    const isSeen = reach.kind === 'tenant' || (reach.kind === 'chat' && reach.chat === chat)
    return connection && isSeen ? [{ target: chat, platform: connection.platform, name: title ?? '' }] : []
  })
  if (reach.kind !== 'tenant') return known
  const platforms = [...new Set([...active.values()].map(({ platform }) => platform))]
  const homes = await Promise.all(
    platforms.map((platform) => tenantStub(env, tenantId).chats.home(authority, platform)),
  )
  const named = platforms.flatMap((platform, at) =>
    homes[at] ? [{ target: platform, platform, name: 'its home chat' }] : [],
  )
  return [...named, ...known]
}

type Sender = { readonly tenantId: string; readonly authority: Authority }

async function sendMessage(env: Env, sender: Sender, message: OutgoingMessage): Promise<MessageOutcome> {
  const found = await findChat(env, sender, message.target)
  if ('error' in found) return { kind: 'failed', error: found.error }
  const { chat, sessionId } = found
  const { key, text, files } = message
  const notice: ChatNotice = { key, chat, text, format: 'markdown', ...(files.length > 0 && { files }) }
  const session = sessionStub(env, sender.tenantId, sessionId)
  const state = await waitUntilSent(() => session.jobs.notify(sender.authority, notice))
  if (!state) return { kind: 'failed', error: 'The conversation of the chat cannot be used.' }
  if (state.kind === 'failed') return state
  return { kind: state.kind, platform: chat.platform, chat: chatName(chat) }
}

async function findChat(env: Env, { tenantId, authority }: Sender, target: string) {
  const parsed = parseTargets(target)
  if (!parsed.ok) return { error: parsed.error }
  const [to, ...others] = parsed.targets
  if (!to || others.length || (to.kind !== 'chat' && to.kind !== 'home'))
    return { error: 'Name one chat: PLATFORM, PLATFORM:CHAT or CHANNEL_ID:CHAT.' }
  const findHome = (platform: string) => tenantStub(env, tenantId).chats.home(authority, platform)
  const resolved = await resolveChat({ env, tenantId, findHome }, to)
  if (resolved.kind === 'unknown') return { error: resolved.detail }
  const home = to.kind === 'home' ? await findHome(to.platform) : undefined
  const { chat } = resolved
  return { chat, sessionId: home?.sessionId ?? (await chatSessionId(chat.connection, chat)) }
}

const polls = 5
const firstPollMs = 200

/** A chat that is slow goes on by itself. The same key sends nothing twice. */
async function waitUntilSent(notify: () => Promise<NoticeState | undefined>): Promise<NoticeState | undefined> {
  let state = await notify()
  for (let poll = 0; poll < polls && state?.kind === 'sending'; poll++) {
    const { promise, resolve } = Promise.withResolvers<void>()
    clock.schedule(firstPollMs * 2 ** poll, resolve)
    await promise
    state = await notify().catch((error: unknown) => {
      log.warn('message.unknown', 'The chat could not be asked whether it has a message.', { error })
      return state
    })
  }
  return state
}
