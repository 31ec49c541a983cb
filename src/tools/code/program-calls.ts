/**
 * Handles the tool calls of a program: selects its tools, limits and orders its calls, and converts results of the
 * dispatcher for it.
 */

import type { ToolMessage } from '#agent/core/message.ts'
import type { Program, ProgramAnswer, ProgramFunction } from '#agent/core/program.ts'
import type { Programs, Tool, Toolbox } from '#agent/core/tool.ts'
import type { TouchedResources } from '../group-calls.ts'

/** In the order of the tool description. */
const callableNames = [
  'read_file',
  'write_file',
  'search_files',
  'patch',
  'terminal',
  'web_search',
  'web_extract',
] as const

export const maxProgramCalls = 50

/** Tools that programs call by the names that the model knows. Those that wait for others or for a person are not. */
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

const isCallable = (name: string): boolean =>
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

export type ProgramCalls = {
  readonly call: Program['call']
  readonly count: () => number
  /** Resolves when no call is running. */
  readonly waitForAll: () => Promise<unknown>
}

export type ProgramCallsOptions = { readonly parent: string; readonly programs: Programs; readonly signal: AbortSignal }

export function createProgramCalls({ parent, programs, signal }: ProgramCallsOptions): ProgramCalls {
  const queue = createCallQueue()
  const running = new Set<Promise<unknown>>()
  let made = 0
  const run = async (name: string, input: unknown): Promise<ProgramAnswer> => {
    const tool = isCallable(name) ? programs.toolbox().get(name) : undefined
    if (!tool) return { error: 'there is no such tool for programs' }
    if (requestsBackground(input)) return { error: 'background is not for programs: call the tool itself' }
    if (made >= maxProgramCalls)
      return { error: `a program makes at most ${maxProgramCalls} calls; this one has made them` }
    const id = `${parent}.${++made}`
    return queue(programs.touches(tool, input), async () => {
      if (signal.aborted) return { error: 'the user stopped the turn' }
      return toProgramAnswer(await programs.dispatch({ parent, id, tool, input, signal }))
    })
  }
  return {
    count: () => made,
    waitForAll: () => Promise.allSettled(running),
    call(name, input) {
      const work = run(name, input)
      running.add(work)
      const forget = () => running.delete(work)
      work.then(forget, forget)
      return work
    },
  }
}

const requestsBackground = (input: unknown): boolean =>
  typeof input === 'object' && input !== null && 'background' in input && /^true$/i.test(String(input.background))

/**
 * A command that ran and failed has a result. An error, which the program sees as an exception, means it did not run.
 */
export function toProgramAnswer({ content, failed }: ToolMessage): ProgramAnswer {
  const text = content.map((part) => (part.type === 'text' ? part.text : '')).join('\n')
  const result = parseResult(text)
  if (!failed) return { ok: result }
  const code = result['exit_code']
  if (typeof code === 'number' && code >= 0) return { ok: result }
  const { error } = result
  return { error: typeof error === 'string' ? error : text, result }
}

function parseResult(text: string): Readonly<Record<string, unknown>> {
  try {
    const value = JSON.parse(text) as unknown
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
    return { content: value }
  } catch {
    return { content: text } // Not every tool returns JSON.
  }
}

const maxConcurrent = 8

type QueuedCall = { readonly touched: TouchedResources; readonly start: () => void }

/**
 * Queues the calls of one program. Calls that touch no resource in common run concurrently, the others in the order in
 * which they were made. group-calls.ts applies the same rules to the calls of a message.
 */
export function createCallQueue() {
  const running = new Set<QueuedCall>()
  let queued: readonly QueuedCall[] = []

  const startReady = (): void => {
    const blocked: QueuedCall[] = []
    for (const one of queued) {
      const earlier = [...running, ...blocked]
      if (running.size < maxConcurrent && earlier.every(({ touched }) => !conflicts(one.touched, touched))) {
        running.add(one)
        one.start()
      } else blocked.push(one)
    }
    queued = blocked
  }
  return async <T>(touched: TouchedResources, work: () => Promise<T>): Promise<T> => {
    const one: { touched: TouchedResources; start: () => void } = { touched, start: () => {} }
    await new Promise<void>((start) => {
      one.start = start
      queued = [...queued, one]
      startReady()
    })
    try {
      return await work()
    } finally {
      running.delete(one)
      startReady()
    }
  }
}

function conflicts(one: TouchedResources, other: TouchedResources): boolean {
  if (one === 'nothing' || other === 'nothing') return false
  if (one === 'alone' || other === 'alone') return true
  return one.some((name) => other.includes(name))
}
