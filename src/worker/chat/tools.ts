/** Parses the tools that a client offers in a chat completion. */

import * as z from 'zod'
import type { ToolChoice, ToolSchema } from '#agent/core/request/tool-schema.ts'
import type { TurnOptions } from '#agent/core/turn-options.ts'
import { AppError, invalid } from '../errors.ts'

/** Longer names and other characters than a provider takes are encoded for it. */
export const toolName = z
  .string()
  .regex(/^[A-Za-z0-9_.:/-]{1,256}$/, 'A name has 1 to 256 letters, digits, or one of _ - . : /')
const functionTool = z.object({
  type: z.literal('function'),
  function: z.object({
    name: toolName,
    description: z.string().max(64_000).nullish(),
    parameters: z.record(z.string(), z.unknown()).nullish(),
    strict: z.boolean().nullish(),
  }),
})
const namedTool = z.object({ type: z.literal('function'), function: z.object({ name: toolName }) })
const allowedTools = z.object({
  type: z.literal('allowed_tools'),
  allowed_tools: z.object({ mode: z.enum(['auto', 'required']), tools: z.array(namedTool).max(128) }),
})

export const toolFields = {
  tools: z
    .array(functionTool)
    .max(128)
    .nullish()
    .describe('Tools that the client runs. A call ends the answer with `finish_reason: "tool_calls"`.'),
  tool_choice: z
    .union([z.enum(['auto', 'none', 'required']), namedTool, allowedTools])
    .nullish()
    .describe('Applies to the tools of the client only.'),
  parallel_tool_calls: z.boolean().nullish(),
  functions: z.unknown().optional().describe('Not supported: send `tools`.'),
  function_call: z.unknown().optional().describe('Not supported: send `tool_choice`.'),
}

const fieldsSchema = z.object(toolFields)
type ChatToolFields = z.infer<typeof fieldsSchema>

/** All tools of a request: they are stored with the run. */
const maxToolChars = 512 * 1024

export type ClientToolOptions = Pick<TurnOptions, 'clientTools' | 'toolChoice' | 'parallelToolCalls'>

export function parseClientTools(body: ChatToolFields): ClientToolOptions {
  refuseFunctions(body)
  const offered = parseTools(body)
  if (!offered.length) return {}
  const { tools, choice } = applyChoice(offered, body.tool_choice)
  return {
    clientTools: tools,
    ...(choice !== undefined && { toolChoice: choice }),
    ...(body.parallel_tool_calls != null && { parallelToolCalls: body.parallel_tool_calls }),
  }
}

function refuseFunctions({ functions, function_call }: ChatToolFields): void {
  for (const [param, value, instead] of [
    ['functions', functions, 'tools'],
    ['function_call', function_call, 'tool_choice'],
  ] as const)
    if (value != null && value !== 'none' && value !== 'auto' && !(Array.isArray(value) && !value.length))
      throw new AppError(400, 'unsupported', `${param} is not supported. Send ${instead}.`, { param })
}

function parseTools({ tools }: ChatToolFields): readonly ToolSchema[] {
  const parsed = (tools ?? []).map(({ function: { name, description, parameters, strict } }) => ({
    name,
    description: description ?? '',
    inputSchema: parameters ?? { type: 'object', properties: {} },
    ...(strict != null && { strict }),
  }))
  const names = parsed.map(({ name }) => name)
  const twice = names.findIndex((name, at) => names.indexOf(name) < at)
  if (twice >= 0) throw invalid(`There are two tools named ${names[twice]}.`, `tools.${twice}.function.name`)
  if (JSON.stringify(parsed).length > maxToolChars)
    throw invalid(`The tools have more than ${maxToolChars} characters together.`, 'tools')
  return parsed
}

function applyChoice(
  tools: readonly ToolSchema[],
  choice: ChatToolFields['tool_choice'],
): { readonly tools: readonly ToolSchema[]; readonly choice?: ToolChoice } {
  if (choice == null || choice === 'auto') return { tools }
  if (typeof choice === 'string') return { tools, choice }
  if (choice.type === 'function') return { tools, choice: { name: findTool(tools, choice.function.name).name } }
  const { mode, tools: allowed } = choice.allowed_tools
  const chosen = allowed.map(({ function: { name } }) => findTool(tools, name))
  return { tools: chosen, ...(mode === 'required' && { choice: mode }) }
}

function findTool(tools: readonly ToolSchema[], name: string): ToolSchema {
  const found = tools.find((tool) => tool.name === name)
  if (!found) throw invalid(`There is no tool named ${name} in tools.`, 'tool_choice')
  return found
}
