/** Runs a program that calls tools. It never runs again after a crash: the model gets the list of its started calls. */

import * as z from 'zod'
import type { Assessment } from '#agent/core/permission/approval.ts'
import type { ProgramEnd } from '#agent/core/program.ts'
import type { CallContext, Services, Toolbox, ToolResult } from '#agent/core/tool.ts'
import { defineTool } from '../define-tool.ts'
import { failWith } from '../tool-result.ts'
import { failOnBackendError } from '../fail-on-backend-error.ts'
import { keepOutput } from '../kept-output.ts'
import {
  createProgramCalls,
  describeFunction,
  listCallableTools,
  maxProgramCalls,
  renderDeclarations,
} from './program-calls.ts'

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
  description: `Run a JavaScript or TypeScript program that calls tools: for three or more calls with logic between them, loops, or large results of which little matters. Results stay in the program; you see what it prints with console.log, and its last value. Fresh every time but for the object state (JSON, 32 KB), which the turn's later programs get; top-level await, no network, no files of its own, 300 s, ${maxProgramCalls} calls. language "python" runs python3 in the workspace where the backend has it: the tools are plain functions with keyword arguments and dicts as results, state is a dict.`,
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
  ` Async functions, global and in tools; they take the tool's input and throw its errors; String(tool) is its declaration: ${renderDeclarations(toolbox)}.`

export default Object.assign(definition, { describeWith })

const allowProgram = (code: string): Assessment => ({ verdict: 'allow', reasons: [], subjects: [code] })
const assessPython = (code: string): Assessment => ({
  verdict: 'ask',
  reasons: ['it runs a Python program on the host of the session'],
  subjects: [code],
})

async function runProgram({ code, language }: Input, context: CodeContext): Promise<ToolResult> {
  const { programs, clock, callId, signal } = context
  const startedAt = clock.now()
  const options = { source: code, timeoutMs: programTimeoutMs, signal, onOutput: context.reportProgress }
  // Calls that still run when the program ends are stopped.
  const programEnd = new AbortController()
  const calls = createProgramCalls({ parent: callId, programs, signal: AbortSignal.any([signal, programEnd.signal]) })
  const tools = listCallableTools(programs.toolbox()).map(describeFunction)
  const state = programs.state.read()
  const program = { ...options, tools, call: calls.call, state, ...(language && { language }) }
  const result = await programs.run(program).finally(() => {
    programEnd.abort()
    return calls.waitForAll()
  })
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
