/**
 * Runs one program, once. The isolate is thrown away afterwards: whatever the program did to its globals, nobody else
 * sees. When `run` returns, the platform cancels every timer and call that is left.
 */

import { WorkerEntrypoint } from 'cloudflare:workers'
import { importable } from '../compile/modules.ts'
import { notThere } from '../compile/words.ts'
import type { ProgramHost, RunAnswer, RunRequest } from '../protocol.ts'
import { boundBuiltIns, counted } from './bounds.ts'
import { type Guard, newGuard } from './guard.ts'
import { described, newOutput, type Output, shown } from './output.ts'
import { newPending, type Pending } from './pending.ts'
import { type Call, toolFunctions } from './tools.ts'

type Given = {
  readonly tick: Guard['tick']
  readonly pause: Guard['pause']
  readonly load: (name: unknown) => Promise<unknown>
  readonly counted: typeof counted
}

type Program = { readonly default: (given: Given) => Promise<unknown> }

/** The rest of the answer says how it ended. */
type End = Pick<RunAnswer, 'status' | 'error'>

export class Runner extends WorkerEntrypoint {
  async run(host: ProgramHost, request: RunRequest): Promise<RunAnswer> {
    const later = setTimeout
    const output = newOutput(request.maxOutput)
    const unhandled: unknown[] = []
    const pending = newPending((error) => unhandled.push(error))
    let finish = (_end: End): void => {}
    const ended = new Promise<End>((resolve) => (finish = resolve))
    const guard = newGuard(request.limits, (error) => finish({ status: 'error', error }))
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
    return { ...end, output: output.whole() }
  }
}

type Surroundings = {
  readonly host: ProgramHost
  readonly request: RunRequest
  readonly output: Output
  readonly pending: Pending
  readonly guard: Guard
  readonly exit: (code?: unknown) => never
}

/** The globals of the program. */
function prepare({ host, request, output, pending, guard, exit }: Surroundings): void {
  for (const kind of ['log', 'info', 'warn', 'error', 'debug', 'dir', 'table', 'trace'])
    Reflect.set(console, kind, (...values: unknown[]) => output.print(values))
  const call: Call = async (name, input) => {
    try {
      return await host.call(name, input, output.fresh())
    } finally {
      guard.rested()
    }
  }
  const tools = toolFunctions(request.tools, (name, input) => pending.during(call(name, input)))
  Object.assign(globalThis, tools, { tools, require: (name: unknown) => loaded(name) })
  Object.defineProperties(process, { exit: { value: exit }, getBuiltinModule: { value: loaded } })
  boundBuiltIns()
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
      counted,
    })
    await pending.none()
    if (value !== undefined && !pending.isTimer(value)) output.print([shown(value)])
    // What a program catches of its own end is still its end.
    const why = guard.ended()
    if (why !== undefined) return { status: 'error', error: why }
    return unhandled.length ? { status: 'error', error: described(unhandled[0]) } : { status: 'success' }
  } catch (error) {
    return { status: 'error', error: described(error) }
  }
}

/** The program sees another one. */
const builtIn = process.getBuiltinModule.bind(process)

function loaded(name: unknown): unknown {
  const bare = String(name).replace(/^node:/, '')
  if (!importable.has(bare)) throw new Error(notThere(String(name), importable))
  return builtIn(`node:${bare}`)
}
