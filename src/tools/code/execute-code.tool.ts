import * as z from 'zod'
import type { Assessment } from '../../agent/model/approval.ts'
import type { ProgramEnd } from '../../agent/model/program.ts'
import type { CallContext, Services, Toolbox, ToolResult } from '../../agent/model/tool.ts'
import { defineTool } from '../define-tool.ts'
import { failWith } from '../tool-result.ts'
import { failOnBackendError } from '../file/read-text-file.ts'
import {
  findCallableTools,
  renderDeclarations,
  describeFunction,
  maxProgramCalls,
  createProgramCalls,
} from './program-calls.ts'
import { runPython } from './run-python.ts'

const TIMEOUT_MS = 300_000

const input = z.object({
  code: z.string().min(1),
  language: z.enum(['javascript', 'typescript', 'python']).optional(),
})
type Input = z.infer<typeof input>
type Context = CallContext & Pick<Services, 'programs' | 'backend'>

/** Not repeated after a crash: which of its calls had begun is told instead. */
const definition = defineTool({
  name: 'execute_code',
  toolset: 'code_execution',
  description: `Run a JavaScript or TypeScript program that calls tools: for three or more calls with logic between them, loops, or large results of which little matters. Results stay in the program; you see what it prints with console.log, and its last value. Fresh every time, top-level await, no network, no files of its own, 300 s, ${maxProgramCalls} calls. language "python" runs python3 in the workspace where the backend has it, without tools.`,
  input,
  needs: ['programs', 'backend'],
  effect: 'effect',
  // A program can only do what its calls do, and each of them is judged by itself.
  risk: ({ language }) => (language === 'python' ? 'exec' : 'none'),
  assess: ({ code, language }) => (language === 'python' ? python(code) : harmless(code)),
  touches: () => 'alone',
  run: (wanted, context) => failOnBackendError(() => run(wanted, context)),
})

const describeWith = (toolbox: Toolbox): string =>
  ` Async functions, global and in tools; they take the tool's input and throw its errors: ${renderDeclarations(toolbox)}.`

export default Object.assign(definition, { describeWith })

const harmless = (code: string): Assessment => ({ verdict: 'allow', reasons: [], subjects: [code] })
const python = (code: string): Assessment => ({
  verdict: 'ask',
  reasons: ['it runs a Python program on the machine of the session'],
  subjects: [code],
})

async function run({ code, language }: Input, context: Context): Promise<ToolResult> {
  const { programs, backend, clock, callId, signal } = context
  const since = clock.now()
  const shared = { source: code, timeoutMs: TIMEOUT_MS, signal }
  if (language === 'python') return report(await runPython(backend, { ...shared, callId }), 0, clock.now() - since)
  // What has begun when the program ends is stopped with it.
  const over = new AbortController()
  const calls = createProgramCalls({ parent: callId, programs, signal: AbortSignal.any([signal, over.signal]) })
  const tools = findCallableTools(programs.tool).map(describeFunction)
  const end = await programs.run({ ...shared, tools, call: calls.call, ...(language && { language }) })
  over.abort()
  await calls.waitForAll()
  return report(withHint(end, code), calls.count(), clock.now() - since)
}

const PYTHON = /^(?:def \w+\(.*:|from [\w.]+ import |import \w+$|[^\S\n]*print\(.*\)$|(?:for|if|with) .*:$)/m

/** Who takes the tool for one of Python finds out why it is not. */
function withHint(end: ProgramEnd, code: string): ProgramEnd {
  const isMeant = end.error?.startsWith('SyntaxError') && PYTHON.test(code)
  return isMeant ? { ...end, error: `${end.error}. Programs are JavaScript or TypeScript.` } : end
}

function report({ status, output, error }: ProgramEnd, made: number, ms: number): ToolResult {
  const answer = {
    status,
    output: output.trimEnd(),
    tool_calls_made: made,
    duration_seconds: Math.round(ms / 10) / 100,
    ...(error !== undefined && { error }),
  }
  if (status !== 'success') return failWith(answer)
  return { content: [{ type: 'text', text: JSON.stringify(answer) }], failed: false }
}
