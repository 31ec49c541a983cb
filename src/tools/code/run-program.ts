/** Runs one program and renders its end. Loaded with the first one. */

import type { ProgramEnd, ProgramLanguage } from '#agent/core/program.ts'
import type { CallContext, Services, ToolResult } from '#agent/core/tool.ts'
import { keepOutput } from '../kept-output.ts'
import { describeFunction, listCallableTools } from './callable-tools.ts'
import { createProgramCalls } from './program-calls.ts'

type ProgramInput = { readonly code: string; readonly language?: ProgramLanguage | undefined }
type CodeContext = CallContext & Pick<Services, 'programs' | 'backend'>

export async function runProgram(
  { code, language }: ProgramInput,
  timeoutMs: number,
  context: CodeContext,
): Promise<ToolResult> {
  const { programs, clock, callId, signal } = context
  const startedAt = clock.now()
  const options = { source: code, timeoutMs, signal, onOutput: context.reportProgress }
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
  const end = addPythonHint(result, code)
  const answer = JSON.stringify(await renderAnswer({ end, callCount: calls.count(), startedAt }, context))
  const failed = end.status !== 'success'
  const later = signal.aborted ? undefined : programs.leftWaiting(callId, { answer, failed })
  return later ? { later } : { content: [{ type: 'text', text: answer }], failed }
}

const pythonSyntax = /^(?:def \w+\(.*:|from [\w.]+ import |import \w+$|[^\S\n]*print\(.*\)$|(?:for|if|with) .*:$)/m

/** Explains the syntax error of a Python program. */
function addPythonHint(result: ProgramEnd, code: string): ProgramEnd {
  const isMeant = result.error?.startsWith('SyntaxError') && pythonSyntax.test(code)
  return isMeant ? { ...result, error: `${result.error}. Programs are JavaScript or TypeScript.` } : result
}

type Finished = { readonly end: ProgramEnd; readonly callCount: number; readonly startedAt: number }

async function renderAnswer({ end, callCount, startedAt }: Finished, context: CodeContext): Promise<object> {
  const { status, output, omitted, error } = end
  const { backend, callId, clock } = context
  const durationMs = clock.now() - startedAt
  return {
    status,
    ...(await keepOutput(output.trimEnd(), { backend, callId, name: 'program', omitted })),
    tool_calls_made: callCount,
    duration_seconds: Math.round(durationMs / 10) / 100,
    ...(error !== undefined && { error }),
  }
}
