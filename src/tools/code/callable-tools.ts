/** Lists the tools that programs call, and describes them. */

import type { ProgramFunction } from '#agent/core/program.ts'
import type { Tool, Toolbox } from '#agent/core/tool.ts'

/** In the order of the tool description. */
const callableNames = [
  'read_file',
  'write_file',
  'search_files',
  'patch',
  'terminal',
  'web_search',
  'web_extract',
  'delegate_task',
] as const

export const maxProgramCalls = 50

/** Tools that programs call by the names that the model knows. Those that wait for a person are not. */
const others = [
  ['mcp__*', /^mcp__/],
  ['plugin__*', /^plugin__/],
  ['browser_*', /^browser_/],
  ['ha_*', /^ha_/],
  ['spotify_*', /^spotify_/],
  ['memory', /^memory$/],
  ['session_search', /^session_search$/],
  ['tool_search', /^tool_search$/],
  ['tool_describe', /^tool_describe$/],
] as const

export const isCallable = (name: string): boolean =>
  (callableNames as readonly string[]).includes(name) || others.some(([, pattern]) => pattern.test(name))

/** Those of the description first. */
export const listCallableTools = (toolbox: Toolbox): readonly Tool[] => [
  ...callableNames.flatMap((name) => toolbox.get(name) ?? []),
  ...[...toolbox.values()].filter(({ name }) => others.some(([, pattern]) => pattern.test(name))),
]

/** Required parameters come first, because a program may pass values without names in this order. */
export const describeFunction = ({ name, description, inputSchema }: Tool): ProgramFunction => {
  const { properties = {}, required = [] } = inputSchema as {
    readonly properties?: object
    readonly required?: readonly string[]
  }
  return { name, description, inputSchema, parameters: [...new Set([...required, ...Object.keys(properties)])] }
}

/** The schemas of the tools do not describe results. These shapes contain only the fields that programs need. */
const resultShapes: Readonly<Record<(typeof callableNames)[number], string>> = {
  read_file: '{content:"N|line\\n…",total_lines,truncated}',
  write_file: '{bytes_written}',
  search_files: '{matches:[{path,line,content}]}|{files}',
  patch: '{success,diff}',
  terminal: '{output,exit_code}, foreground only',
  web_search: '{data:{web:[{title,url,description}]}}',
  web_extract: '{results:[{url,title,content}]}',
  delegate_task: '{results:[{status,summary}]} once all have ended',
}

export function renderDeclarations(toolbox: Toolbox): string {
  const names = callableNames.filter((name) => toolbox.has(name))
  const known = names.map((name) => `${name} → ${resultShapes[name]}`).join('; ')
  const more = others.flatMap(([shown, pattern]) => (hasName(toolbox, pattern) ? [shown] : []))
  return more.length ? `${known}; ${more.join(', ')} → their results` : known
}

function hasName(toolbox: Toolbox, pattern: RegExp): boolean {
  for (const name of toolbox.keys()) if (pattern.test(name)) return true
  return false
}
