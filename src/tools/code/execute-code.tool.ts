/** Runs a program that calls tools. It never runs again after a crash: the model gets the list of its started calls. */

import * as z from 'zod'
import type { Assessment } from '#agent/core/permission/approval.ts'
import type { ProgramEnd } from '#agent/core/program.ts'
import type { CallContext, Services, Toolbox, ToolResult } from '#agent/core/tool.ts'
import { defineTool } from '../define-tool.ts'
import { failWith } from '../tool-result.ts'
import { failOnBackendError } from '../fail-on-backend-error.ts'
import { keepOutput, maxKeptBytes } from '../kept-output.ts'
import {
  createProgramCalls,
  describeFunction,
  listCallableTools,
  maxProgramCalls,
  renderDeclarations,
} from './program-calls.ts'
import type { ExecutionBackend } from '#agent/core/backend.ts'

const programTimeoutMs = 300_000
/** For waiting until an isolate is free, compiling, and starting a host for Python. */
const marginMs = 120_000

const input = z.object({
  code: z.string().min(1),
  language: z.enum(['javascript', 'typescript', 'python']).optional(),
})
type Input = z.infer<typeof input>
type CodeContext = CallContext & Pick<Services, 'programs' | 'backend'>

const definition = defineTool({
  name: 'execute_code',
  toolset: 'code_execution',
  description: `Run a JavaScript or TypeScript program that calls tools: for three or more calls with logic between them, loops, or large results of which little matters. Results stay in the program; you see what it prints with console.log, and its last value. Fresh every time but for the object state (JSON, 32 KB), which the turn's later programs get; top-level await, no network, no files of its own, 300 s, ${maxProgramCalls} calls. language "python" runs python3 in the workspace where the backend has it, without tools.`,
  input,
  needs: ['programs', 'backend'],
  effect: 'effect',
  // A JavaScript program has no effect except by its calls, and each call is assessed on its own.
  risk: ({ language }) => (language === 'python' ? 'exec' : 'none'),
  assess: ({ code, language }) => (language === 'python' ? assessPython(code) : allowProgram(code)),
  touches: () => 'alone',
  timeoutMs: () => programTimeoutMs + marginMs,
  run: (request, context) => failOnBackendError(() => runProgram(request, context)),
})

const describeWith = (toolbox: Toolbox): string =>
  ` Async functions, global and in tools; they take the tool's input and throw its errors: ${renderDeclarations(toolbox)}.`

export default Object.assign(definition, { describeWith })

const allowProgram = (code: string): Assessment => ({ verdict: 'allow', reasons: [], subjects: [code] })
const assessPython = (code: string): Assessment => ({
  verdict: 'ask',
  reasons: ['it runs a Python program on the host of the session'],
  subjects: [code],
})

async function runProgram({ code, language }: Input, context: CodeContext): Promise<ToolResult> {
  const { programs, backend, clock, callId, signal } = context
  const startedAt = clock.now()
  const options = { source: code, timeoutMs: programTimeoutMs, signal, onOutput: context.reportProgress }
  if (language === 'python')
    return renderAnswer({ end: await runPython(backend, { ...options, callId }), callCount: 0, startedAt }, context)
  // Calls that still run when the program ends are stopped.
  const programEnd = new AbortController()
  const calls = createProgramCalls({ parent: callId, programs, signal: AbortSignal.any([signal, programEnd.signal]) })
  const tools = listCallableTools(programs.toolbox()).map(describeFunction)
  const state = programs.state.read()
  const result = await programs.run({ ...options, tools, call: calls.call, state, ...(language && { language }) })
  programEnd.abort()
  await calls.waitForAll()
  if (result.state !== undefined) programs.state.keep(result.state)
  return renderAnswer({ end: addPythonHint(result, code), callCount: calls.count(), startedAt }, context)
}

const pythonSyntax = /^(?:def \w+\(.*:|from [\w.]+ import |import \w+$|[^\S\n]*print\(.*\)$|(?:for|if|with) .*:$)/m

/** Explains the syntax error of a Python program. */
function addPythonHint(result: ProgramEnd, code: string): ProgramEnd {
  const isMeant = result.error?.startsWith('SyntaxError') && pythonSyntax.test(code)
  return isMeant ? { ...result, error: `${result.error}. Programs are JavaScript or TypeScript.` } : result
}

type Finished = { readonly end: ProgramEnd; readonly callCount: number; readonly startedAt: number }

async function renderAnswer({ end, callCount, startedAt }: Finished, context: CodeContext): Promise<ToolResult> {
  const { status, output, omitted, error } = end
  const { backend, callId, clock } = context
  const durationMs = clock.now() - startedAt
  const answer = {
    status,
    ...(await keepOutput(output.trimEnd(), { backend, callId, name: 'program', omitted })),
    tool_calls_made: callCount,
    duration_seconds: Math.round(durationMs / 10) / 100,
    ...(error !== undefined && { error }),
  }
  if (status !== 'success') return failWith(answer)
  return { content: [{ type: 'text', text: JSON.stringify(answer) }], failed: false }
}

const maxErrorChars = 10_000

type PythonScript = {
  readonly source: string
  readonly callId: string
  readonly timeoutMs: number
  readonly signal: AbortSignal
  readonly onOutput?: ((text: string) => void) | undefined
}

/** Runs a Python program on the host of the session, as a command on a temporary file. */
async function runPython(backend: ExecutionBackend, script: PythonScript): Promise<ProgramEnd> {
  if (!backend.capabilities.languages.includes('python'))
    return {
      status: 'error',
      output: '',
      error: `There is no Python on the ${backend.kind} backend. Write it in JavaScript, or ask the user for a backend with Python.`,
    }
  const { source, callId, timeoutMs, signal, onOutput } = script
  const file = `/tmp/programs/${callId.replace(/[^\w-]/g, '_').slice(0, 64)}.py`
  await backend.files.write(file, new TextEncoder().encode(source))
  try {
    const show = onOutput && { onOutput: (_: string, text: string) => onOutput(text) }
    const options = { cwd: backend.capabilities.root, timeoutMs, signal, maxOutput: maxKeptBytes, ...show }
    const { exitCode, stdout, stderr, timedOut, omitted } = await backend.exec(`python3 ${file}`, options)
    if (timedOut) return { status: 'timeout', output: stdout, omitted, error: `Stopped after ${timeoutMs / 1000} s.` }
    if (signal.aborted) return { status: 'interrupted', output: stdout, omitted, error: 'Stopped by the user.' }
    const status = exitCode === 0 ? 'success' : 'error'
    const error = describeError(exitCode, stderr)
    return { status, output: stdout, omitted, ...(error && { error }) }
  } finally {
    await backend.files.remove(file)
  }
}

/** Exit code 1 with a traceback says nothing more. Every other code may be one that the program chose. */
function describeError(exitCode: number | null, stderr: string): string {
  const text = stderr.slice(-maxErrorChars)
  const hasCode = exitCode !== 0 && (exitCode !== 1 || text === '')
  return [text.trimEnd(), hasCode && `The program ended with exit code ${exitCode}.`].filter(Boolean).join('\n')
}
