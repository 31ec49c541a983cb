/** Runs a program that calls tools. It never runs again after a crash: the model gets the list of its started calls. */

import * as z from 'zod'
import type { Assessment } from '#agent/core/permission/approval.ts'
import type { Toolbox } from '#agent/core/tool.ts'
import { defineTool } from '../define-tool.ts'
import { failOnBackendError } from '../fail-on-backend-error.ts'
import { maxProgramCalls, renderDeclarations } from './callable-tools.ts'

const programTimeoutMs = 300_000
/** For waiting until an isolate is free, compiling, and starting a host for Python. */
const marginMs = 120_000

const input = z.object({
  code: z.string().min(1),
  language: z.enum(['javascript', 'typescript', 'python']).optional(),
})
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
  run: (request, context) =>
    failOnBackendError(async () => (await import('./run-program.ts')).runProgram(request, programTimeoutMs, context)),
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
