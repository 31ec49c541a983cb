/** Handles the tool calls of a program: limits and orders its calls, and converts results of the dispatcher for it. */

import type { ToolMessage } from '#agent/core/message.ts'
import type { Program, ProgramAnswer } from '#agent/core/program.ts'
import type { Programs } from '#agent/core/tool.ts'
import type { TouchedResources } from '../group-calls.ts'
import { isCallable, maxProgramCalls } from './callable-tools.ts'

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
    return queue(programs.touches(tool, input), async (onWait) => {
      if (signal.aborted) return { error: 'the user stopped the turn' }
      return toProgramAnswer(await programs.dispatch({ parent, id, tool, input, signal, onWait }))
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
  return async <T>(touched: TouchedResources, work: (release: () => void) => Promise<T>): Promise<T> => {
    const one: { touched: TouchedResources; start: () => void } = { touched, start: () => {} }
    await new Promise<void>((start) => {
      one.start = start
      queued = [...queued, one]
      startReady()
    })
    const release = () => {
      if (running.delete(one)) startReady()
    }
    return work(release).finally(release)
  }
}

function conflicts(one: TouchedResources, other: TouchedResources): boolean {
  if (one === 'nothing' || other === 'nothing') return false
  if (one === 'alone' || other === 'alone') return true
  return one.some((name) => other.includes(name))
}
