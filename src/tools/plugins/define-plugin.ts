/**
 * Defines built-in plugins: tools and hooks, which a tenant has from the moment that its setting `plugins.enabled` names the
 * plugin. What they reach is given to them, so that a plugin is one file without platform code.
 */

import type { HookName } from '#agent/core/hook.ts'
import type { Authority } from '#agent/core/permission/authority.ts'
import type { Tool } from '#agent/core/tool.ts'
import type { ToolDeployment } from '#agent/core/vendor/tool-deployment.ts'

export type PluginRequest = {
  readonly url: string
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** A variable of the deployment names the address. */
  readonly isTrusted?: boolean
  readonly signal: AbortSignal
}

/** A chat that messages can be sent to. */
export type MessageTarget = {
  /** The value of `target`. */
  readonly target: string
  readonly platform: string
  readonly name: string
}

export type OutgoingFile = { readonly name: string; readonly bytes: Uint8Array }

export type OutgoingMessage = {
  /** A message with the same key is sent once. */
  readonly key: string
  readonly target: string
  readonly text: string
  readonly files: readonly OutgoingFile[]
}

/** `sending`: the chat has it and goes on trying. */
export type MessageOutcome =
  | { readonly kind: 'sent' | 'sending'; readonly platform: string; readonly chat: string }
  | { readonly kind: 'failed'; readonly error: string }

/** `brief`: what the agent has to do in the call. `opening`: its first words. `sessionId` gets the report. */
export type OutgoingCall = {
  readonly number: string
  readonly brief: string
  readonly opening: string
  readonly sessionId: string
}

/** `number`: as the carrier has it. */
export type CallOutcome = { readonly number: string } | { readonly error: string }

export type Messages = {
  /** Those that the authority may know of. */
  readonly list: (authority: Authority) => Promise<readonly MessageTarget[]>
  readonly send: (authority: Authority, message: OutgoingMessage) => Promise<MessageOutcome>
  readonly call: (authority: Authority, call: OutgoingCall) => Promise<CallOutcome>
}

export type PluginHost = {
  readonly deployment: () => ToolDeployment
  /** Goes through the guard for addresses, and is limited in time and bytes. Rejects when there is no answer. */
  readonly request: (request: PluginRequest) => Promise<{ readonly status: number; readonly text: string }>
  readonly messages: Messages
  /** A secret of the tenant by its name, for the service that a setting names with it. */
  readonly secret: (name: string) => Promise<string | undefined>
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** Ends early when the signal aborts. */
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>
}

/** Gets what hooks of tenants get, and answers as they do: its decisions only tighten. */
export type BuiltInHook = {
  /** Patterns of tool names, separated by `|`. Default: all. */
  readonly matcher?: string
  /** A call is blocked when the hook throws. */
  readonly required?: boolean
  readonly run: (event: Readonly<Record<string, unknown>>) => unknown
}

export type BuiltInHooks = Readonly<Partial<Record<HookName, BuiltInHook>>>

export type BuiltInPlugin = {
  readonly name: string
  readonly createTools?: (host: PluginHost) => readonly Tool[]
  readonly createHooks?: (host: PluginHost) => BuiltInHooks
}

export const definePlugin = <Plugin extends BuiltInPlugin>(plugin: Plugin): Plugin => plugin
