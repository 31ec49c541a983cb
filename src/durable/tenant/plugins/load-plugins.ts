/** Makes the tools and hooks of a tenant's plugins for its sessions. A call goes from the session to the plugin's isolate. */

import { BoundedMap } from '#agent/core/bounded-map.ts'
import { log } from '#agent/core/log.ts'
import type { SideModel, Tool } from '#agent/core/tool.ts'
import { checkArguments, failedCall } from '#agent/mcp/call-result.ts'
import { isJsonObject, type JsonObject } from '#agent/core/parse-json.ts'
import { type PluginTool, pluginToolName, pluginToolset } from '#agent/plugins/plugin.ts'
import { callPlugin } from '#backends/plugins/plugins.ts'
import type { PluginAnswer, PluginTarget } from '#backends/plugins/protocol.ts'
import { defineSchemaTool } from '#tools/define-tool.ts'
import { deferTools, type DeferTools } from '#tools/search/defer-tools.ts'
import { isOwnReset } from '#durable/platform/object-reset.ts'
import { redactorFor } from '#durable/platform/redaction.ts'
import { openSecrets, type SealedSecrets } from '#durable/platform/tenant-secrets.ts'
import type { TenantSnapshot } from '../tenant-snapshot.ts'
import { capabilitiesOf, createPluginHost, ownAuthority } from './plugin-host.ts'
import { type HookedPlugin, PluginHooks, type HookReport } from './plugin-hooks.ts'
import { type PluginLog, pluginsOf, type RunningPlugin } from './plugin-row.ts'

export type TenantPluginTools = {
  readonly version: number
  readonly tools: readonly Tool[]
  readonly hooks: PluginHooks
  readonly defer: DeferTools
  readonly runner: PluginRunner
}

type PluginCallOptions = {
  readonly target: PluginTarget
  readonly input: unknown
  readonly model?: SideModel | undefined
  readonly signal?: AbortSignal | undefined
}

type Catalogue = { readonly version: number; readonly plugins: readonly RunningPlugin[] }

/** By tenant: its sessions share what its object has sent. */
const catalogues = new BoundedMap<string, Catalogue>(500)
/** Code by tenant and hash. Hooks ask for no permission again: their plugin is in the catalogue of the turn. */
const codes = new BoundedMap<string, string>(200)

/** The session that uses the plugins. `last`: what it has of them. */
type PluginSession = {
  readonly env: Env
  /** The queue of the session's object: calls of plugins wait there like those of other isolates. */
  readonly loader: WorkerLoader | undefined
  readonly last: TenantPluginTools | undefined
}

/** The tools of the snapshot's version. `last` as long as they are the same. */
async function loadPlugins(
  { env, loader, last }: PluginSession,
  { id, pluginVersion = 0, secrets }: TenantSnapshot,
): Promise<TenantPluginTools> {
  last?.runner.setSecrets(secrets)
  if (last && last.version >= pluginVersion) return last
  const { version, plugins } = await loadCatalogue(env, id, pluginVersion)
  const runner = new PluginRunner(env, id, loader)
  runner.setSecrets(secrets)
  const tools = plugins.flatMap((plugin) =>
    plugin.hasFailed ? [] : plugin.manifest.tools.map((tool) => createTool(plugin, tool, runner)),
  )
  const hooks = new PluginHooks(plugins.map((plugin) => withHooks(plugin, runner)))
  return { version, tools, hooks, defer: deferTools, runner }
}

const withHooks = (plugin: RunningPlugin, runner: PluginRunner): HookedPlugin => ({
  name: plugin.name,
  hooks: plugin.manifest.hooks,
  hasFailed: plugin.hasFailed,
  call: ({ hook, event, model }) => runner.call(plugin, { target: { kind: 'hook', name: hook }, input: event, model }),
})

async function loadCatalogue(env: Env, id: string, version: number): Promise<Catalogue> {
  const known = catalogues.get(id)
  if (known && known.version >= version) return known
  const loaded = await pluginsOf(env, id).catalogue(ownAuthority(id))
  catalogues.set(id, loaded)
  return loaded
}

/** Keeps the last plugins when the tenant's object cannot be reached. Without any it rejects: a guard may be among them. */
export async function tryLoadPlugins(session: PluginSession, snapshot: TenantSnapshot): Promise<TenantPluginTools> {
  const { last } = session
  try {
    return await loadPlugins(session, snapshot)
  } catch (error) {
    if (isOwnReset(error) || !last) throw error
    log.warn('plugin.unloaded', 'The plugins could not be loaded; the last ones stay.', { error })
    return last
  }
}

export class PluginRunner {
  readonly #env: Env
  readonly #tenantId: string
  readonly #loader: WorkerLoader | undefined
  #secrets: SealedSecrets | undefined

  constructor(env: Env, tenantId: string, loader: WorkerLoader | undefined) {
    this.#env = env
    this.#tenantId = tenantId
    this.#loader = loader
  }

  /** Of the newest snapshot, for hooks. */
  setSecrets(secrets: SealedSecrets | undefined): void {
    this.#secrets = secrets
  }

  /** `isFresh`: asks whether the plugin may still run. */
  async call(
    plugin: RunningPlugin,
    { target, input, model, signal }: PluginCallOptions,
    isFresh = false,
  ): Promise<{ readonly answer: PluginAnswer; readonly report: HookReport }> {
    const [env, tenantId, loader] = [this.#env, this.#tenantId, this.#loader]
    const opened = await this.#open(plugin, isFresh)
    if (!opened || !loader) return { answer: notRunning(loader), report: () => undefined }
    const host = createPluginHost({ env, tenantId, plugin, secrets: opened.secrets, model, signal })
    const answer = await callPlugin(
      { loader, tenantId, hash: plugin.hash, source: opened.code },
      { target, input, host, capabilities: capabilitiesOf(plugin.grants), signal },
    )
    const { redact } = redactorFor(env, tenantId)
    const report: HookReport = ({ hook, error }) => {
      const failure = error === undefined ? [] : [{ level: 'error' as const, text: redact(error) }]
      const logs = (answer.logs ?? []).map((text) => ({ level: 'info' as const, text: redact(text) }))
      this.#report(plugin, [...logs, ...failure], hook)
    }
    return { answer, report }
  }

  async #open({ name, hash }: RunningPlugin, isFresh: boolean) {
    const [env, id] = [this.#env, this.#tenantId]
    const key = `${id} ${hash}`
    const known = isFresh ? undefined : codes.get(key)
    const opened = known === undefined ? await pluginsOf(env, id).open(ownAuthority(id), name, hash) : undefined
    const code = known ?? opened?.code
    if (code === undefined) return undefined
    codes.set(key, code)
    return { code, secrets: await openSecrets(env, { id, secrets: opened?.secrets ?? this.#secrets }) }
  }

  /** In the background: nothing of a turn waits for it. */
  #report(plugin: RunningPlugin, logs: readonly Omit<PluginLog, 'at'>[], hook: 'failed' | 'done' | undefined): void {
    const isNews = logs.length > 0 || hook === 'failed' || (hook === 'done' && plugin.failures > 0)
    if (!isNews) return
    pluginsOf(this.#env, this.#tenantId)
      .report(ownAuthority(this.#tenantId), plugin.name, { logs, ...(hook && { hook }) })
      .catch((error: unknown) => log.warn('plugin.unreported', 'A call of a plugin could not be reported.', { error }))
  }
}

const notRunning = (loader: WorkerLoader | undefined): PluginAnswer => ({
  ok: false,
  error: loader ? 'The plugin was paused, changed or deleted.' : 'The deployment has no binding LOADER.',
})

/** The approval covers the code: what it says about itself counts. */
function createTool(plugin: RunningPlugin, tool: PluginTool, runner: PluginRunner): Tool {
  const { name, grants } = plugin
  const risk = !grants.fetch?.length ? 'none' : tool.read_only ? 'net' : 'send'
  return defineSchemaTool<JsonObject, 'model'>({
    name: pluginToolName(name, tool.name),
    toolset: pluginToolset(name),
    description: tool.description.slice(0, 1_024),
    input: { schema: tool.input_schema, parse: (raw) => parseInput(tool.input_schema, raw) },
    needs: ['model'],
    effect: tool.read_only ? 'pure' : 'effect',
    risk: () => risk,
    timeoutMs: () => 65_000,
    touches: () => [`plugin:${name}`],
    run: async (input, { model, signal }) => {
      const target = { kind: 'tool', name: tool.name } as const
      const { answer, report } = await runner.call(plugin, { target, input, model, signal }, true)
      report(answer.ok ? {} : { error: `${tool.name}: ${answer.error}` })
      return answer.ok ? renderAnswer(answer.value) : failedCall(answer.error)
    },
  })
}

const renderAnswer = (value: unknown) => ({
  content: [{ type: 'text' as const, text: JSON.stringify(isJsonObject(value) ? value : { result: value }) }],
  failed: false,
})

function parseInput(schema: JsonObject, raw: unknown) {
  const input = raw ?? {}
  if (!isJsonObject(input)) return { ok: false as const, error: 'the arguments must be an object' }
  const error = checkArguments(schema, input)
  return error === undefined ? { ok: true as const, value: input } : { ok: false as const, error }
}
