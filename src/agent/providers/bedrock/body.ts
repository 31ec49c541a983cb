/**
 * The body of a request to ConverseStream. What stays the same from call to call stands first, byte for byte;
 * marks for the cache are blocks of their own, behind what they mark.
 */

import type { ModelRequest, Quirks, ToolSchema } from '../../model/dialect.ts'
import type { Message } from '../../model/message.ts'
import { type Marks, alternatingBody } from '../shared/alternating-body.ts'
import { sealedBy, writerFor } from './blocks.ts'
import { clampEffort } from '../shared/effort.ts'
import { fewerImages, type ImageLimits, widest } from '../shared/image-limits.ts'
import { wholeJson } from '../shared/json.ts'
import { behind, namesOfCalls, plain } from '../shared/request-parts.ts'
import { sanitiseGrowing } from '../shared/sanitise.ts'
import { wellFormed } from '../shared/well-formed.ts'
import { claudeEffort, mayThink, thinkingBudget } from '../shared/claude-thinking.ts'

/** https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Message.html; bytes: bedrock-blocks.ts. */
const imageLimits: ImageLimits = { count: 20, side: widest }

const isClaude = (model: string) => /claude/.test(model)
const isNova = (model: string) => /nova/.test(model)

export function bodyOf(request: ModelRequest, quirks: Quirks = {}): Uint8Array {
  const { model, cache, tools } = request
  const clean = fewerImages(sanitiseGrowing(request.transcript), imageLimits)
  const point = cache && quirks.cacheMarks === 'native' ? pointOf(cache) : undefined
  // Four marks are allowed. Only Claude keeps the tools apart from the rest.
  const toolPoint = point && tools.length > 0 && isClaude(model) ? point : undefined
  const marks: Marks | undefined = point ? { mark: (json) => `${json},${point}`, count: toolPoint ? 2 : 3 } : undefined
  const thought = thinkingOf(request, quirks, clean)
  const head = `{${[
    ...optionsOf(request, quirks, thought),
    ...toolsOf(request, clean, toolPoint),
    ...systemOf(request.system, point),
    '"messages":[',
  ].join(',')}`
  const writer = writerFor(request.repairs, {
    // Claude that is not to think refuses its own thinking in the answer it is in the middle of.
    thinking: thought !== undefined || !isClaude(model) || reasoningOf(model, quirks) === 'adaptive',
    status: isClaude(model) || isNova(model),
  })
  return alternatingBody({ head, foot: ']}', clean, behind: behind(request), marks }, writer)
}

const pointOf = (ttl: '5m' | '1h'): string =>
  JSON.stringify({ cachePoint: { type: 'default', ...(ttl === '1h' && { ttl }) } })

function optionsOf(request: ModelRequest, quirks: Quirks, thought: object | undefined): readonly string[] {
  const { additionalModelRequestFields: more, ...others } = quirks.body ?? {}
  const options = {
    inferenceConfig: filled(inferenceOf(request, quirks, thought)),
    additionalModelRequestFields: filled({ ...(more as object | undefined), ...thought }),
    ...others,
  }
  const json = JSON.stringify(options).slice(1, -1)
  return json ? [json] : []
}

const filled = (fields: object): object | undefined => (Object.keys(fields).length ? fields : undefined)

function inferenceOf(request: ModelRequest, quirks: Quirks, thought: object | undefined): object {
  const asked = request.maxTokens ?? quirks.defaultMaxTokens
  const maxTokens = asked ?? (thought && 'thinking' in thought ? usualMaxTokens : undefined)
  const temperature = quirks.temperature ?? request.temperature
  return {
    ...(maxTokens !== undefined && { maxTokens }),
    // Who thinks chooses the temperature by itself.
    ...(!thought && typeof temperature === 'number' && { temperature }),
  }
}

/** Thinking has to end before the answer does: where it has a budget, both have to be said. */
const usualMaxTokens = 32_000

/** The Converse API has no word for effort of its own: each maker's stands in fields of the model. */
function thinkingOf(request: ModelRequest, quirks: Quirks, clean: readonly Message[]): object | undefined {
  const { model } = request
  const reasoning = reasoningOf(model, quirks)
  const effort = clampEffort(request.reasoningEffort, quirks.efforts)
  if (effort === undefined || effort === 'none' || reasoning === 'none') return undefined
  if (reasoning === 'adaptive')
    return { thinking: { type: 'adaptive' }, output_config: { effort: claudeEffort(effort) } }
  if (reasoning !== 'budget') return effortOf(effort, model)
  if (request.repairs?.thinking === 'left-out' || !mayThink(clean, sealedBy)) return undefined
  return budgetOf(effort, request.maxTokens ?? quirks.defaultMaxTokens)
}

const reasoningOf = (model: string, { reasoning }: Quirks) => reasoning ?? (isClaude(model) ? 'budget' : 'none')

function budgetOf(effort: string, maxTokens = usualMaxTokens): object | undefined {
  const budget_tokens = thinkingBudget(effort, maxTokens)
  return budget_tokens === undefined ? undefined : { thinking: { type: 'enabled', budget_tokens } }
}

function effortOf(effort: string, model: string): object {
  if (isClaude(model)) return { output_config: { effort: claudeEffort(effort) } }
  if (isNova(model)) return { reasoningConfig: { type: 'enabled', maxReasoningEffort: effort } }
  return { reasoning_effort: effort }
}

function toolsOf({ tools, repairs }: ModelRequest, clean: readonly Message[], point?: string): readonly string[] {
  const offered: readonly ToolSchema[] = tools.length
    ? tools
    : // Calls that were made must be known to the provider, also when none may be made any more.
      namesOfCalls(clean).map((name) => ({ name, description: notOffered, inputSchema: { type: 'object' } }))
  if (!offered.length) return []
  const written = offered.map((tool) => (repairs?.schemas ? asPlainSpec(tool) : specOf(tool)))
  return [`"toolConfig":{"tools":[${[...written, ...(point ? [point] : [])].join(',')}]}`]
}

const notOffered = 'Not available any more.'

const specs = new WeakMap<object, string>()

function specOf(tool: ToolSchema): string {
  let json = specs.get(tool)
  if (json === undefined) specs.set(tool, (json = asSpec(tool)))
  return json
}

const asPlainSpec = (tool: ToolSchema): string => asSpec({ ...tool, inputSchema: plain(tool.inputSchema) })

const asSpec = ({ name, description, inputSchema }: ToolSchema): string =>
  wholeJson({ toolSpec: { name, ...(description && { description }), inputSchema: { json: inputSchema } } })

function systemOf(system: string, point: string | undefined): readonly string[] {
  const text = wellFormed(system)
  if (!/\S/.test(text)) return []
  return [`"system":[${[JSON.stringify({ text }), ...(point ? [point] : [])].join(',')}]`]
}
