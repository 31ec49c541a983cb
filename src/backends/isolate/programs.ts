/**
 * Runs programs of the model in isolates made for the purpose: one compiles, for all programs of a tenant, and a fresh
 * one runs each of them and is thrown away. Neither has a network, a secret or a binding; what a program can do is call
 * the functions it is given. The caller always gets an answer, even of an isolate that died.
 */

import { RpcTarget } from 'cloudflare:workers'
import type { Program, ProgramEnd } from '../../agent/model/program.ts'
import { compilerCode, runnerCode } from '../modules.ts'
import { limitConcurrency } from '../limit-concurrency.ts'
import type { CallAnswer, Compiled, Language, ProgramHost, RunAnswer, RunRequest } from './protocol.ts'

export type RunProgram = (program: Program) => Promise<ProgramEnd>

export type ProgramsOptions = {
  readonly loader: WorkerLoader
  /** Names the isolate that compiles: tenants share none. */
  readonly tenantId: string
}

const COMPATIBILITY = { compatibilityDate: '2026-10-20', compatibilityFlags: ['nodejs_compat'] }
/** Enforced by the platform only; where sessions share a thread, the guard's limits hold. */
const PLATFORM_LIMITS = { cpuMs: 30_000, subRequests: 1_000 }
const COMPUTE_LIMITS = { stretchMs: 500, totalMs: 3_000 }
const MAX_OUTPUT = 50_000
const MAX_ERROR = 10_000
const MAX_SOURCE = 500_000
/** What an isolate gets beyond its time before it is given up: it has its own clock and should answer first. */
const PATIENCE_MS = 2_000
/** Isolates of one object that may be busy at a time; the platform allows ten, and the shell needs some. */
const MOST_AT_ONCE = 2

export function openPrograms({ loader, tenantId }: ProgramsOptions): RunProgram {
  const turns = limitConcurrency(MOST_AT_ONCE)
  return (program) =>
    turns(async () => {
      if (program.source.length > MAX_SOURCE) return failed(`The code is longer than ${MAX_SOURCE} characters.`)
      const compiled = await compile(loader, tenantId, program).catch(crashed)
      if (!('ok' in compiled)) return compiled
      return compiled.ok ? execute(loader, compiled.code, program) : failed(compiled.error)
    })
}

type CompilerEntrypoint = { readonly compile: (source: string, language?: Language) => Promise<Compiled> }
type RunnerEntrypoint = { readonly run: (host: RemoteHost, request: RunRequest) => Promise<RunAnswer> }

async function compile(loader: WorkerLoader, tenantId: string, { source, language }: Program): Promise<Compiled> {
  const code = await compilerCode()
  const version = code.slice(3, 19)
  const worker = loader.get(`compile:${version}:${tenantId}`, () => ({
    ...COMPATIBILITY,
    mainModule: 'compile.js',
    modules: { 'compile.js': code },
    globalOutbound: null,
    limits: PLATFORM_LIMITS,
  }))
  const compiler = worker.getEntrypoint('Compiler') as unknown as CompilerEntrypoint
  return { ...(await compiler.compile(source, language)) }
}

async function execute(loader: WorkerLoader, code: string, program: Program): Promise<RunAnswer> {
  const runner = await runnerCode()
  const worker = loader.load({
    ...COMPATIBILITY,
    mainModule: 'run.js',
    modules: { 'run.js': runner, 'program.js': code },
    globalOutbound: null,
    limits: PLATFORM_LIMITS,
  })
  const host = hostOf(program)
  const giveUp = deadline(program, host.stop)
  try {
    const entry = worker.getEntrypoint('Runner') as unknown as RunnerEntrypoint
    const { tools, timeoutMs } = program
    const request = { tools, timeoutMs, limits: COMPUTE_LIMITS, maxOutput: MAX_OUTPUT }
    const answer = await Promise.race([entry.run(new RemoteHost(host), request).catch(crashed), giveUp.reached])
    // What comes over RPC is disposed of with the call: a copy. A program can reach what counts its output.
    const { status, output, error } = answer
    return {
      status,
      output: (output || host.printed()).slice(0, MAX_OUTPUT * 2),
      ...(error !== undefined && { error: cut(error) }),
    }
  } finally {
    giveUp.clear()
    host.stop()
  }
}

type StoppableHost = ProgramHost & { readonly stop: () => void; readonly printed: () => string }

/** After `stop` no call is made any more, whatever a program that still runs may try. */
function hostOf({ call }: Program): StoppableHost {
  let over = false
  let printed = ''
  let stop = (): void => {}
  const stopped = new Promise<void>((resolve) => {
    stop = () => {
      over = true
      resolve()
    }
  })
  return {
    stop: () => stop(),
    stopped: () => stopped,
    printed: () => printed,
    async call(name, input, fresh) {
      if (printed.length < MAX_OUTPUT) printed += fresh
      return over ? { error: 'the program has been stopped' } : call(name, input)
    },
  }
}

/** The session as a program's isolate sees it. */
class RemoteHost extends RpcTarget {
  readonly #host: ProgramHost
  constructor(host: ProgramHost) {
    super()
    this.#host = host
  }
  call(name: string, input: unknown, printed: string): Promise<CallAnswer> {
    return this.#host.call(name, input, printed)
  }
  stopped(): Promise<void> {
    return this.#host.stopped()
  }
}

function deadline({ timeoutMs, signal }: Program, stop: () => void) {
  let timer: ReturnType<typeof setTimeout> | null = null
  let onAbort = (): void => {}
  const reached = new Promise<RunAnswer>((resolve) => {
    const giveUpAfter = (ms: number, status: RunAnswer['status'], error: string) => {
      clearTimeout(timer)
      timer = setTimeout(() => resolve({ status, output: '', error }), ms)
    }
    giveUpAfter(timeoutMs + PATIENCE_MS, 'timeout', `Stopped after ${timeoutMs / 1000} s.`)
    onAbort = () => {
      stop()
      giveUpAfter(PATIENCE_MS, 'interrupted', 'Stopped by the user.')
    }
    signal.addEventListener('abort', onAbort, { once: true })
    if (signal.aborted) onAbort()
  })
  const clear = (): void => {
    clearTimeout(timer)
    signal.removeEventListener('abort', onAbort)
  }
  return { reached, clear }
}

const failed = (error: string): RunAnswer => ({ status: 'error', output: '', error: cut(error) })

/** The platform ended it: too much time, too much memory, a promise that nothing can settle. */
const crashed = (error: unknown): RunAnswer =>
  failed(`The isolate was stopped: ${error instanceof Error ? error.message : String(error)}`)

const cut = (text: string): string =>
  text.length <= MAX_ERROR ? text : `${text.slice(0, MAX_ERROR)}\n[… ${text.length - MAX_ERROR} characters left out]`
