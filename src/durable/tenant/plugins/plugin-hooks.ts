/** Calls the hooks of the plugins of a tenant. None of them rejects: a hook that fails is counted and told in the logs. */

import type { DecidingHook, HookName } from '#agent/core/hook.ts'
import { log } from '#agent/core/log.ts'
import { type ToolMessage, textIn } from '#agent/core/message.ts'
import type { SideModel } from '#agent/core/tool.ts'
import type { ToolCall } from '#agent/core/turn.ts'
import { combineAnswers, failClosed, type HookAnswer, readHookAnswer } from '#agent/plugins/hook-answers.ts'
import { matchesTool } from '#agent/plugins/plugin.ts'
import type { CallHooks } from '#tools/dispatch.ts'
import type { PluginManifest } from '#agent/plugins/plugin.ts'
import type { PluginAnswer } from '#backends/plugins/protocol.ts'

/** Longer texts of a hook are ignored. */
const maxTextChars = 400_000

/** The session that hooks hear of. */
export type HookedSession = {
  readonly sessionId: string
  readonly runId: string
  readonly model?: SideModel | undefined
}

type Event = Readonly<Record<string, unknown>>

export type HookCall = { readonly hook: HookName; readonly event: Event; readonly model: SideModel | undefined }
/** `error`: told in the logs. */
export type HookReport = (end: { readonly hook?: 'failed' | 'done' | undefined; readonly error?: string }) => void

/** A plugin with its hooks: of a tenant, whose code runs in an isolate, or a built-in one. */
export type HookedPlugin = {
  readonly name: string
  readonly hooks: PluginManifest['hooks']
  /** It failed too often: only its guard acts, and blocks. */
  readonly hasFailed: boolean
  readonly call: (call: HookCall) => Promise<{ readonly answer: PluginAnswer; readonly report: HookReport }>
}

export class PluginHooks {
  readonly #plugins: readonly HookedPlugin[]

  constructor(plugins: readonly HookedPlugin[]) {
    this.#plugins = plugins
  }

  /** The hooks of other plugins too. */
  with = (others: readonly HookedPlugin[]): PluginHooks => new PluginHooks([...this.#plugins, ...others])

  /** Whether a plugin has one of these hooks. */
  readonly has = (...names: readonly HookName[]): boolean =>
    this.#plugins.some(({ hooks }) => names.some((name) => hooks[name]))

  /** The hooks around calls of one run. Undefined: there are none. */
  forCalls(session: HookedSession): CallHooks | undefined {
    if (!this.has('pre_tool_call', 'transform_tool_result')) return undefined
    return {
      judge: (call) => this.#judge(call, session),
      transform: (call, message) => this.#transformResult(call, message, session),
    }
  }

  #matching(hook: HookName, tool = ''): readonly HookedPlugin[] {
    return this.#plugins.filter(({ hooks }) => {
      const found = hooks[hook]
      return found !== undefined && (tool === '' ? true : matchesTool(found.matcher, tool))
    })
  }

  #judge(call: ToolCall, session: HookedSession) {
    const found = this.#matching('pre_tool_call', call.name)
    if (!found.length) return undefined
    const ask = async () => {
      const answers = await this.#askAll(found, call, session)
      const combined = combineAnswers(answers, call.input)
      if (!('input' in combined)) return combined
      // Guards see what will run, not only what the model wrote. A second change counts for nothing.
      const again = await this.#askAll(found, { ...call, input: combined.input }, session)
      const decisions = again.filter(({ action }) => action !== 'modify')
      return combineAnswers([...answers, ...decisions], call.input)
    }
    return ask()
  }

  async #askAll(found: readonly HookedPlugin[], call: ToolCall, session: HookedSession): Promise<HookAnswer[]> {
    const event = { tool_name: call.name, args: call.input, ...renderIds(session), tool_call_id: call.id }
    const answers: HookAnswer[] = []
    for (const plugin of found) {
      answers.push(await this.#askGuard(plugin, event, session))
      if (answers.at(-1)?.action === 'block') break
    }
    return answers
  }

  async #askGuard(plugin: HookedPlugin, event: Event, session: HookedSession): Promise<HookAnswer> {
    const failed = plugin.hooks.pre_tool_call?.required
      ? failClosed(plugin.name)
      : ({ plugin: plugin.name, action: 'none' } as const)
    if (plugin.hasFailed) return failed
    const read = (value: unknown) => readHookAnswer(plugin.name, value)
    return (await this.#run(plugin, 'pre_tool_call', { event, session, read })) ?? failed
  }

  #transformResult(call: ToolCall, message: ToolMessage, session: HookedSession) {
    if (!this.#matching('transform_tool_result', call.name).length) return undefined
    const about = { tool_name: call.name, args: call.input, tool_call_id: call.id }
    const event = { ...about, result: textIn(message), failed: message.failed, ...renderIds(session) }
    return this.#transform('transform_tool_result', event, { session, tool: call.name })
  }

  /** Undefined: the answer stays as it is. */
  transformOutput(text: string, session: HookedSession): Promise<string | undefined> | undefined {
    if (!this.has('transform_llm_output')) return undefined
    const event = { output: text, ...renderIds(session) }
    return this.#transform('transform_llm_output', event, { session, tool: '' })
  }

  /** The first plugin that returns a text decides. */
  async #transform(
    hook: DecidingHook,
    event: Event,
    { session, tool }: { readonly session: HookedSession; readonly tool: string },
  ): Promise<string | undefined> {
    for (const plugin of this.#matching(hook, tool)) {
      if (plugin.hasFailed) continue
      const found = await this.#run(plugin, hook, { event, session, read: readText })
      if (found?.text !== undefined) return found.text
    }
    return undefined
  }

  /** Informs observers, whose answers are ignored. */
  async observe(hook: HookName, event: Event, session: HookedSession): Promise<void> {
    const tool = typeof event['tool_name'] === 'string' ? event['tool_name'] : ''
    const read = () => ({})
    for (const plugin of this.#matching(hook, tool))
      if (!plugin.hasFailed)
        await this.#run(plugin, hook, { event: { ...event, ...renderIds(session) }, session, read })
  }

  /** `read` returns undefined for an answer of the wrong shape. */
  async #run<Answer>(
    plugin: HookedPlugin,
    hook: HookName,
    { event, session, read }: HookRun<Answer>,
  ): Promise<Answer | undefined> {
    try {
      const { answer, report } = await plugin.call({ hook, event, model: session.model })
      const found = answer.ok ? read(answer.value) : undefined
      if (found !== undefined) {
        report({ hook: 'done' })
        return found
      }
      const reason = answer.ok ? 'It returned something else than such a hook may.' : answer.error
      report({
        hook: plugin.hooks.pre_tool_call?.required ? undefined : 'failed',
        error: `${hook}: ${reason}`,
      })
    } catch (error) {
      log.warn('plugin.hook_failed', 'A hook of a plugin could not be called.', { error, plugin: plugin.name })
    }
    return undefined
  }
}

type HookRun<Answer> = {
  readonly event: Event
  readonly session: HookedSession
  readonly read: (value: unknown) => Answer | undefined
}

const renderIds = ({ sessionId, runId }: HookedSession) => ({ session_id: sessionId, run_id: runId })

/** Undefined and null leave the text as it is. */
function readText(value: unknown): { readonly text?: string } | undefined {
  if (value === undefined || value === null) return {}
  if (typeof value !== 'string') return undefined
  return value.length > maxTextChars ? {} : { text: value }
}
