/** Decides whether settings name a toolset or a tool that exists. Tools of MCP servers may be named before they exist. */

import { matchesWildcard } from '#agent/policy/wildcard.ts'
import { tools } from './index.ts'
import { isToolsetName, toolsets } from './toolsets.ts'

/** Sends a text to a chat or an address that is not the conversation itself: a delivery of a job or a webhook. */
export const sendAction = 'send_message'
/** Turns sound into text by a paid provider. */
export const transcribeAction = 'transcribe'

/** Actions like those of tools, without a call of a model (judge-action.ts). Settings and roles name it like one. */
const actionNames: readonly string[] = [sendAction, transcribeAction, 'place_call']

/** Of MCP servers and of plugins, those that are built in with them. */
const serverTools = /^(?:mcp|plugin)(?:__|-)|^(?:ha|spotify)_|^(?:homeassistant|spotify)$/
export const isServerTool = (name: string): boolean => serverTools.test(name)

const toolNames: readonly string[] = [
  ...new Set([
    ...tools.map(({ name }) => name),
    ...Object.values(toolsets).flatMap((set) => set.tools ?? []),
    ...actionNames,
  ]),
]
const toolsetNames: readonly string[] = [
  ...new Set([...Object.keys(toolsets), ...tools.map(({ toolset }) => toolset), 'tenant', 'browser', 'browser-cdp']),
]

/** Whether a name of `toolsets.enabled` or `toolsets.disabled` stands for anything. */
export const isToolsetOrTool = (name: string): boolean =>
  serverTools.test(name) || isToolsetName(name) || toolsetNames.includes(name) || toolNames.includes(name)

/** Whether the `tool` of an approval rule can match a call: a name or `toolset:NAME`, with wildcards. */
export function matchesAnyTool(pattern: string): boolean {
  const [, toolset] = /^toolset:(.*)$/s.exec(pattern) ?? []
  if (toolset !== undefined)
    return serverTools.test(toolset) || toolsetNames.some((name) => matchesWildcard(toolset, name))
  // A pattern may also match names of toolsets, which are written as toolset:NAME.
  return (
    serverTools.test(pattern) ||
    toolNames.some((name) => matchesWildcard(pattern, name)) ||
    toolsetNames.some((name) => matchesWildcard(pattern, `toolset:${name}`))
  )
}
