/** Parses the function tools of a request to the Responses API, and which of them the model may or has to call. */

import * as z from 'zod'
import type { ToolSchema } from '#agent/core/request/tool-schema.ts'
import type { TurnOptions } from '#agent/core/turn-options.ts'
import { serverLabel } from '#agent/public-api/responses/items.ts'
import { toolName } from '../chat/tools.ts'
import { AppError, invalid } from '../errors.ts'

const functionTool = z.looseObject({
  type: z.literal('function'),
  name: toolName,
  description: z.string().max(20_000).nullish(),
  parameters: z.looseObject({}).nullish(),
  strict: z.boolean().nullish(),
})
const otherTool = z.looseObject({ type: z.string().max(100) })

export const toolsSchema = z
  .array(z.union([functionTool, otherTool]))
  .max(256)
  .nullish()
  .describe('Functions that the client runs. The agent has its own tools beside them.')

export const toolChoiceSchema = z
  .union([z.enum(['auto', 'none', 'required']), z.looseObject({ type: z.string().max(100) })])
  .nullish()
  .describe('Applies to the tools of the client.')

type ResponseToolFields = {
  readonly tools?: z.infer<typeof toolsSchema>
  readonly tool_choice?: z.infer<typeof toolChoiceSchema>
  readonly parallel_tool_calls?: boolean | null | undefined
}

/** All tools of a request are stored with its turn. */
const maxToolsChars = 300_000

export function parseClientTools(
  fields: ResponseToolFields,
): Pick<TurnOptions, 'clientTools' | 'toolChoice' | 'parallelToolCalls'> {
  const { tool_choice: choice, parallel_tool_calls: parallel } = fields
  const offered = (fields.tools ?? []).flatMap((tool, at) => parseTool(tool, `tools.${at}`))
  if (JSON.stringify(offered).length > maxToolsChars)
    throw invalid(`tools: at most ${maxToolsChars} characters of JSON.`, 'tools')
  if (!offered.length) return {}
  const { allowed, toolChoice } = parseToolChoice(choice ?? 'auto')
  return {
    clientTools: allowed ? offered.filter(({ name }) => allowed.includes(name)) : offered,
    ...(toolChoice && { toolChoice }),
    ...(parallel === false && { parallelToolCalls: false }),
  }
}

/** The agent itself is an MCP server to these clients: naming it adds nothing. */
function parseTool(tool: NonNullable<ResponseToolFields['tools']>[number], param: string): readonly ToolSchema[] {
  const parsed = functionTool.safeParse(tool)
  if (parsed.success) {
    const { name, description, parameters, strict } = parsed.data
    const inputSchema = parameters ?? { type: 'object', properties: {} }
    return [{ name, description: description ?? '', inputSchema, ...(strict && { strict }) }]
  }
  if (tool.type === 'function') throw invalid(`${param}: a function has a name and parameters.`, param)
  if (tool.type === 'mcp' && tool['server_label'] === serverLabel) return []
  throw new AppError(
    400,
    'unsupported',
    `Tools of type ${JSON.stringify(tool.type)} are not supported. The agent has its own tools; send tools of type "function" that your client runs.`,
    { param },
  )
}

const namedTool = z.looseObject({ type: z.literal('function'), name: toolName })
const allowedTools = z.looseObject({
  type: z.literal('allowed_tools'),
  mode: z.enum(['auto', 'required']).optional(),
  tools: z.array(namedTool).max(256),
})

type ClientToolChoice = { readonly allowed?: readonly string[]; readonly toolChoice?: TurnOptions['toolChoice'] }

function parseToolChoice(choice: NonNullable<ResponseToolFields['tool_choice']>): ClientToolChoice {
  if (choice === 'auto') return {}
  if (typeof choice === 'string') return { toolChoice: choice }
  const named = namedTool.safeParse(choice)
  if (named.success) return { toolChoice: { name: named.data.name } }
  const listed = allowedTools.safeParse(choice)
  if (!listed.success)
    throw new AppError(400, 'unsupported', `tool_choice of type ${JSON.stringify(choice.type)} is not supported.`, {
      param: 'tool_choice',
    })
  const { mode, tools } = listed.data
  return { allowed: tools.map(({ name }) => name), ...(mode === 'required' && { toolChoice: mode }) }
}
