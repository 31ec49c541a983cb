/**
 * Runs one program, once. The isolate is thrown away afterwards: whatever the program did to its globals, nobody else
 * sees. When `run` returns, the platform cancels every timer and call that is left.
 */

import { WorkerEntrypoint } from 'cloudflare:workers'
import { importableModules } from '../compile/importable-modules.ts'
import { missingModuleMessage } from '../compile/messages.ts'
import type { ProgramHost, RunAnswer, RunRequest } from '../protocol.ts'
import { limitBuiltIns, countSpread } from './limit-built-ins.ts'
import { type Guard, createGuard } from './guard.ts'
import { formatError, createOutput, type Output, formatValue } from './output.ts'
import { trackPendingWork, type PendingWork } from './pending-work.ts'
import { type Call, createToolFunctions } from './tools.ts'

type Given = {
  readonly tick: Guard['tick']
  readonly pause: Guard['pause']
  readonly load: (name: unknown) => Promise<unknown>
  readonly counted: typeof countSpread
}

type Program = { readonly default: (given: Given) => Promise<unknown> }

/** The rest of the answer says how it ended. */
type End = Pick<RunAnswer, 'status' | 'error'>

export class Runner extends WorkerEntrypoint {
  async run(host: ProgramHost, request: RunRequest): Promise<RunAnswer> {
    const later = setTimeout
    const output = createOutput(request.maxOutput)
    const unhandled: unknown[] = []
    const pending = trackPendingWork((error) => unhandled.push(error))
    let finish = (_end: End): void => {}
    const ended = new Promise<End>((resolve) => (finish = resolve))
    const guard = createGuard(request.limits, (error) => finish({ status: 'error', error }))
    const stop = (end: End): void => {
      finish(end)
      guard.end(end.error ?? 'stopped')
    }
    later(() => stop({ status: 'timeout', error: `Stopped after ${request.timeoutMs / 1000} s.` }), request.timeoutMs)
    host.stopped().then(
      () => stop({ status: 'interrupted', error: 'Stopped by the user.' }),
      () => stop({ status: 'interrupted', error: 'The session is gone.' }),
    )
    const exit = (code: unknown = 0): never => {
      stop(Number(code) === 0 ? { status: 'success' } : { status: 'error', error: `The program exited with ${code}.` })
      throw new Error('The program has exited.')
    }
    prepare({ host, request, output, pending, guard, exit })
    const end = await Promise.race([ended, ran({ output, pending, guard, unhandled })])
    return { ...end, output: output.readAll() }
  }
}

type Surroundings = {
  readonly host: ProgramHost
  readonly request: RunRequest
  readonly output: Output
  readonly pending: PendingWork
  readonly guard: Guard
  readonly exit: (code?: unknown) => never
}

/** The globals of the program. */
function prepare({ host, request, output, pending, guard, exit }: Surroundings): void {
  for (const kind of ['log', 'info', 'warn', 'error', 'debug', 'dir', 'table', 'trace'])
    Reflect.set(console, kind, (...values: unknown[]) => output.print(values))
  const call: Call = async (name, input) => {
    try {
      return await host.call(name, input, output.readNew())
    } finally {
      guard.markYielded()
    }
  }
  const tools = createToolFunctions(request.tools, (name, input) => pending.track(call(name, input)))
  Object.assign(globalThis, tools, { tools, require: (name: unknown) => loaded(name) })
  Object.defineProperties(process, { exit: { value: exit }, getBuiltinModule: { value: loaded } })
  limitBuiltIns()
}

type Running = Pick<Surroundings, 'output' | 'pending'> & { readonly guard: Guard; readonly unhandled: unknown[] }

async function ran({ output, pending, guard, unhandled }: Running): Promise<End> {
  addEventListener('unhandledrejection', (event) => {
    event.preventDefault()
    unhandled.push(event.reason)
  })
  try {
    const program = (await import('program.js' as string)) as Program
    const value = await program.default({
      tick: guard.tick,
      pause: guard.pause,
      load: async (name) => loaded(name),
      counted: countSpread,
    })
    await pending.waitUntilDone()
    if (value !== undefined && !pending.isTimer(value)) output.print([formatValue(value)])
    // What a program catches of its own end is still its end.
    const why = guard.endReason()
    if (why !== undefined) return { status: 'error', error: why }
    return unhandled.length ? { status: 'error', error: formatError(unhandled[0]) } : { status: 'success' }
  } catch (error) {
    return { status: 'error', error: formatError(error) }
  }
}

/** The program sees another one. */
const builtIn = process.getBuiltinModule.bind(process)

function loaded(name: unknown): unknown {
  const bare = String(name).replace(/^node:/, '')
  if (!importableModules.has(bare)) throw new Error(missingModuleMessage(String(name), importableModules))
  return builtIn(`node:${bare}`)
}
