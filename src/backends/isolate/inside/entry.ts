/**
 * Runs one program in an isolate that is discarded afterwards, so that changes to globals affect nothing else. When `run`
 * returns, the platform cancels all remaining timers and calls.
 */

import { WorkerEntrypoint } from 'cloudflare:workers'
import { maxStateChars } from '#agent/core/program.ts'
import { importableModules } from '../compile/importable-modules.ts'
import { missingModuleMessage } from '../compile/messages.ts'
import type { ProgramHost, RunAnswer, RunRequest } from '../protocol.ts'
import { limitBuiltIns, countSpread } from './limit-built-ins.ts'
import { type ProgramGuard, createGuard } from './guard.ts'
import { formatError, createOutput, type ProgramOutput, formatValue } from './output.ts'
import { createPrinter } from './printer.ts'
import { trackPendingWork, type PendingWork } from './pending-work.ts'
import { type CallTool, createToolFunctions } from './tools.ts'

type InjectedFunctions = {
  readonly tick: ProgramGuard['tick']
  readonly pause: ProgramGuard['pause']
  readonly load: (name: unknown) => Promise<unknown>
  readonly counted: typeof countSpread
}

type CompiledProgram = { readonly default: (functions: InjectedFunctions) => Promise<unknown> }

/** The outcome of the program. */
type RunEnd = Pick<RunAnswer, 'status' | 'error'>

export class Runner extends WorkerEntrypoint {
  async run(host: ProgramHost, request: RunRequest): Promise<RunAnswer> {
    const later = setTimeout
    const output = createOutput(request.maxOutput, createPrinter(host, later))
    const unhandled: unknown[] = []
    const pending = trackPendingWork((error) => unhandled.push(error))
    let finish = (_end: RunEnd): void => {}
    const ended = new Promise<RunEnd>((resolve) => (finish = resolve))
    const guard = createGuard(request.limits, (error) => finish({ status: 'error', error }))
    const stop = (end: RunEnd): void => {
      finish(end)
      guard.end(end.error ?? 'stopped')
    }
    later(() => stop({ status: 'timeout', error: `Stopped after ${request.timeoutMs / 1000} s.` }), request.timeoutMs)
    host.stopped().then(
      () => stop({ status: 'interrupted', error: 'Stopped by the user.' }),
      () => stop({ status: 'interrupted', error: 'The session does not exist any more.' }),
    )
    const exit = (code: unknown = 0): never => {
      stop(Number(code) === 0 ? { status: 'success' } : { status: 'error', error: `The program exited with ${code}.` })
      throw new Error('The program has exited.')
    }
    prepareGlobals({ host, request, output, pending, guard, exit })
    const end = await Promise.race([ended, runProgram({ output, pending, guard, unhandled })])
    const state = renderState(output)
    const changed = state !== undefined && state !== (request.state ?? '{}')
    return { ...end, output: output.readAll(), omitted: output.omitted(), ...(changed && { state }) }
  }
}

type ProgramRun = {
  readonly host: ProgramHost
  readonly request: RunRequest
  readonly output: ProgramOutput
  readonly pending: PendingWork
  readonly guard: ProgramGuard
  readonly exit: (code?: unknown) => never
}

/** Sets the globals of the program. */
function prepareGlobals({ host, request, output, pending, guard, exit }: ProgramRun): void {
  for (const kind of ['log', 'info', 'warn', 'error', 'debug', 'dir', 'table', 'trace'])
    Reflect.set(console, kind, (...values: unknown[]) => output.print(values))
  const call: CallTool = async (name, input) => {
    try {
      return await host.call(name, input, output.readNew())
    } finally {
      guard.markYielded()
    }
  }
  const tools = createToolFunctions(request.tools, (name, input) => pending.track(call(name, input)))
  const state: unknown = JSON.parse(request.state ?? '{}')
  Object.assign(globalThis, tools, { tools, state, require: (name: unknown) => loadModule(name) })
  Object.defineProperties(process, { exit: { value: exit }, getBuiltinModule: { value: loadModule } })
  limitBuiltIns()
}

/** Saved, because a program can replace it. */
const { stringify } = JSON

/** Values that JSON does not have are lost, as everywhere. Undefined: nothing can be kept. */
function renderState(output: ProgramOutput): string | undefined {
  try {
    const value: unknown = Reflect.get(globalThis, 'state')
    const isKept = typeof value === 'object' && value !== null && !Array.isArray(value)
    const text = isKept ? stringify(value) : undefined
    if (text !== undefined && text.length <= maxStateChars) return text
    output.print([`[state is not kept: it must be an object of at most ${maxStateChars} characters of JSON]`])
  } catch (error) {
    output.print([`[state is not kept: ${formatError(error)}]`])
  }
  return undefined
}

type ProgramContext = Pick<ProgramRun, 'output' | 'pending'> & {
  readonly guard: ProgramGuard
  readonly unhandled: unknown[]
}

async function runProgram({ output, pending, guard, unhandled }: ProgramContext): Promise<RunEnd> {
  addEventListener('unhandledrejection', (event) => {
    event.preventDefault()
    unhandled.push(event.reason)
  })
  try {
    const program = (await import('program.js' as string)) as CompiledProgram
    const value = await program.default({
      tick: guard.tick,
      pause: guard.pause,
      load: async (name) => loadModule(name),
      counted: countSpread,
    })
    await pending.waitUntilDone()
    if (value !== undefined && !pending.isTimer(value)) output.print([formatValue(value)])
    // The program may have caught the error of the guard.
    const why = guard.endReason()
    if (why !== undefined) return { status: 'error', error: why }
    return unhandled.length ? { status: 'error', error: formatError(unhandled[0]) } : { status: 'success' }
  } catch (error) {
    return { status: 'error', error: formatError(error) }
  }
}

/** Saved, because the program's `process.getBuiltinModule` is replaced. */
const builtIn = process.getBuiltinModule.bind(process)

function loadModule(name: unknown): unknown {
  const bare = String(name).replace(/^node:/, '')
  if (!importableModules.has(bare)) throw new Error(missingModuleMessage(String(name), importableModules))
  return builtIn(`node:${bare}`)
}
