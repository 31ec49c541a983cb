/** Sums up what tool calls have done, by kind. */

import type { ToolBlock } from './blocks.ts'
import { nameOf } from './workspace-files.ts'

const kinds = {
  run: ['terminal', 'process'],
  code: ['execute_code'],
  write: ['write_file'],
  change: ['patch'],
  read: ['read_file'],
  find: ['search_files'],
  web: ['web_search'],
  page: ['web_extract'],
  make: ['image_generate', 'video_generate', 'text_to_speech'],
  look: ['vision_analyze', 'video_analyze'],
  delegate: ['delegate_task'],
  plan: ['todo'],
  remember: ['memory', 'learning'],
  skill: ['skill_view', 'skills_list', 'skill_manage'],
  ask: ['clarify'],
  past: ['session_search', 'sessions_list'],
  job: ['cronjob'],
  document: ['make_document'],
  state: ['checkpoint'],
  restore: ['restore'],
  hand: ['request_handoff'],
  send: ['sessions_send'],
} as const satisfies Readonly<Record<string, readonly string[]>>

export type ActivityKind = keyof typeof kinds | 'browse' | 'other'

const kindByTool = new Map<string, ActivityKind>(
  Object.entries(kinds).flatMap(([kind, tools]) => tools.map((tool) => [tool, kind as ActivityKind] as const)),
)

export const kindOf = (tool: string): ActivityKind =>
  kindByTool.get(tool) ?? (tool.startsWith('browser_') ? 'browse' : 'other')

/** `mcp__wiki__find` as people say it. */
export function sayTool(tool: string): string {
  const [, owner, name] = /^(?:mcp|plugin)__([^_]+(?:_[^_]+)*)__(.+)$/.exec(tool) ?? []
  return owner === undefined ? tool : `${name} (${owner})`
}

export type Activity = {
  readonly kind: ActivityKind
  readonly count: number
  /** The file, when all calls are of one; the tool, for other tools. */
  readonly name: string
}

const fileOf = ({ input }: ToolBlock): string => {
  const { path } = Object(input) as { readonly path?: unknown }
  return typeof path === 'string' ? nameOf(path) : ''
}

/** In the order of the first call of each kind. */
export function summarise(calls: readonly ToolBlock[]): readonly Activity[] {
  const found = new Map<string, { readonly kind: ActivityKind; names: Set<string>; count: number }>()
  for (const call of calls) {
    const kind = kindOf(call.tool)
    const key = kind === 'other' ? call.tool : kind
    const one = found.get(key) ?? { kind, names: new Set<string>(), count: 0 }
    one.count++
    const name = kind === 'other' ? sayTool(call.tool) : fileOf(call)
    if (name) one.names.add(name)
    found.set(key, one)
  }
  const isOfFiles = (kind: ActivityKind) => kind === 'write' || kind === 'change' || kind === 'read'
  return [...found.values()].map(({ kind, names, count }) => ({
    kind,
    count: isOfFiles(kind) && names.size ? names.size : count,
    name: names.size === 1 ? ([...names][0] ?? '') : '',
  }))
}

/** From the beginning of the first call to the end of the last one. Undefined while one is running. */
export function timeOf(calls: readonly ToolBlock[]): number | undefined {
  if (calls.some(({ state }) => state === 'running' || state === 'waiting')) return undefined
  if (calls.length === 1 && calls[0]?.ms !== undefined) return calls[0].ms
  const starts = calls.map(({ startedAt, at }) => Date.parse(startedAt ?? at ?? ''))
  const ends = calls.map(({ endedAt, startedAt, ms }) =>
    startedAt === undefined ? Date.parse(endedAt ?? '') : Date.parse(startedAt) + (ms ?? 0),
  )
  const time = Math.max(...ends) - Math.min(...starts)
  return Number.isFinite(time) && time >= 0 ? time : undefined
}
