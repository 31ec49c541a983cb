/**
 * Runs programs of the model in Worker Loader isolates: one isolate per tenant compiles them, and a new isolate runs
 * each. Neither has network, secrets or bindings; a program can only call the functions it is given. Always resolves
 * with a result, even when an isolate crashes.
 */

import { RpcTarget } from 'cloudflare:workers'
import { maxStateChars, type Program, type ProgramEnd } from '#agent/core/program.ts'
import { compilerCode, runnerCode } from '../modules.ts'
import { limitConcurrency } from '../limit-concurrency.ts'
import type {
  CallAnswer,
  Compiled,
  CompiledLanguage,
  ComputeLimits,
  ProgramHost,
  RunAnswer,
  RunRequest,
} from './protocol.ts'
import { awaitAnswer, type IsolateEnding, openIsolate } from '../open-isolate.ts'

export type RunProgram = (program: Program) => Promise<ProgramEnd>

export type ProgramsOptions = {
  readonly loader: WorkerLoader
  /** Part of the compiler isolate's name: tenants do not share one. */
  readonly tenantId: string
  readonly limits?: ComputeLimits
}

/** Enforced only by the deployed platform; locally the limits of the guard apply. */
const isolateLimits = { cpuMs: 30_000, subRequests: 1_000 }
const computeLimits: ComputeLimits = { maxBlockingMs: 500, maxTotalMs: 3_000 }
/** The tool stores it in a file and shows the beginning and the end. */
const maxOutputChars = 1024 * 1024
/** Output that is kept here, in case the isolate crashes. */
const maxPrintedChars = 50_000
const maxErrorChars = 10_000
const maxSourceChars = 500_000
/** Additional time for the isolate to report its own timeout. */
const graceMs = 2_000
/** Concurrent isolates of one Durable Object; the platform allows ten, and the shell needs some. */
const maxConcurrent = 2

export function openPrograms({ loader, tenantId, limits = computeLimits }: ProgramsOptions): RunProgram {
  const limited = limitConcurrency(maxConcurrent)
  return (program) =>
    limited(async () => {
      if (program.source.length > maxSourceChars) return failed(`The code is longer than ${maxSourceChars} characters.`)
      const compiled = await compile(loader, tenantId, program).catch(crashed)
      if (!('ok' in compiled)) return compiled
      return compiled.ok ? execute(loader, compiled.code, program, limits) : failed(compiled.error)
    })
}

type CompilerEntrypoint = { readonly compile: (source: string, language?: CompiledLanguage) => Promise<Compiled> }
type RunnerEntrypoint = { readonly run: (host: RemoteHost, request: RunRequest) => Promise<RunAnswer> }

async function compile(loader: WorkerLoader, tenantId: string, { source, language }: Program): Promise<Compiled> {
  const isolate = { name: 'compile', code: await compilerCode(), entrypoint: 'Compiler', limits: isolateLimits }
  const compiler = await openIsolate<CompilerEntrypoint>({ loader, ...isolate, sharedBy: tenantId })
  return { ...(await compiler.compile(source, language === 'python' ? undefined : language)) }
}

async function execute(
  loader: WorkerLoader,
  code: string,
  program: Program,
  limits: ComputeLimits,
): Promise<RunAnswer> {
  const modules = { 'program.js': code }
  const isolate = { name: 'run', code: await runnerCode(), modules, entrypoint: 'Runner', limits: isolateLimits }
  const entry = await openIsolate<RunnerEntrypoint>({ loader, ...isolate })
  const host = createHost(program)
  try {
    const { timeoutMs, signal, state: before } = program
    const request = {
      tools: await describeTools(program),
      timeoutMs,
      limits,
      maxOutput: maxOutputChars,
      ...(before !== undefined && { state: before }),
    }
    const answer = await awaitAnswer(entry.run(new RemoteHost(host), request), {
      timeoutMs: timeoutMs + graceMs,
      signal,
      onAbort: host.stop,
      graceMs,
      answer: (ending) => endedAnswer(program, ending),
    })
    // Copied, because RPC results are disposed with the call. Truncated again, because the program can change its limit.
    const { status, output, omitted, error, state } = answer
    return {
      status,
      output: (output || host.printed()).slice(0, maxOutputChars * 2),
      ...(omitted && { omitted: { bytes: Number(omitted.bytes), lines: Number(omitted.lines) } }),
      ...(error !== undefined && { error: truncate(error) }),
      ...(typeof state === 'string' && state.length <= maxStateChars && { state }),
    }
  } finally {
    host.stop()
  }
}

async function describeTools({ tools }: Program): Promise<RunRequest['tools']> {
  const { renderSome, renderTypescript } = await import('../program-signatures.ts')
  const signatures = renderSome(tools, renderTypescript)
  return tools.map(({ name, parameters }, i) => ({ name, parameters, signature: signatures[i] }))
}

type StoppableHost = ProgramHost & { readonly stop: () => void; readonly printed: () => string }

/** After `stop` all calls fail, so that a program that still runs cannot do anything. */
function createHost({ call, onOutput }: Program): StoppableHost {
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
    async print(text) {
      if (!over) onOutput?.(text)
    },
    async call(name, input, newOutput) {
      if (printed.length < maxPrintedChars) printed += newOutput
      return over ? { error: 'the program has been stopped' } : call(name, input)
    },
  }
}

/** Exposes the host by RPC. */
class RemoteHost extends RpcTarget {
  readonly #host: ProgramHost
  constructor(host: ProgramHost) {
    super()
    this.#host = host
  }
  call(name: string, input: unknown, printed: string): Promise<CallAnswer> {
    return this.#host.call(name, input, printed)
  }
  print(text: string): Promise<void> {
    return this.#host.print(text)
  }
  stopped(): Promise<void> {
    return this.#host.stopped()
  }
}

function endedAnswer({ timeoutMs }: Program, ending: IsolateEnding): RunAnswer {
  if (ending.kind === 'crashed') return crashed(ending.error)
  if (ending.kind === 'timeout') return { status: 'timeout', output: '', error: `Stopped after ${timeoutMs / 1000} s.` }
  return { status: 'interrupted', output: '', error: 'Stopped by the user.' }
}

const failed = (error: string): RunAnswer => ({ status: 'error', output: '', error: truncate(error) })

/** The platform ended the isolate: too much time or memory, or a promise that never settles. */
const crashed = (error: unknown): RunAnswer =>
  failed(`The isolate was stopped: ${error instanceof Error ? error.message : String(error)}`)

const truncate = (text: string): string =>
  text.length <= maxErrorChars
    ? text
    : `${text.slice(0, maxErrorChars)}\n[… ${text.length - maxErrorChars} characters left out]`
