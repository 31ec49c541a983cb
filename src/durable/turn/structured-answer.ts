/** Checks the answers of turns that name a format. The validator is loaded with the first answer that has a schema. */

import { type AssistantMessage, callsIn, textIn } from '#agent/core/message.ts'
import type { AnswerFormat } from '#agent/core/request/model-parameters.ts'
import type { CheckedAnswer, Turn } from '#agent/core/turn.ts'
import { loadSchemaValidator } from '#backends/modules.ts'
import type { Delta } from '#agent/core/dialect.ts'

type Checked = { readonly reply: AssistantMessage; readonly checked?: CheckedAnswer }

/** Longer answers are parsed, but not validated. */
const maxValidatedChars = 1_000_000

/**
 * Returns the reply as it is stored. Text beside calls becomes thinking, because clients join all texts of an answer and
 * parse them. An answer that the model did not finish is not checked.
 */
export async function checkAnswer(reply: AssistantMessage, { options, draft = '' }: Turn): Promise<Checked> {
  const { answerFormat: format } = options
  if (!format) return { reply }
  if (callsIn(reply).length) return { reply: { ...reply, content: reply.content.map(textToThinking) } }
  if (reply.stop !== 'end' || !textIn(reply).trim()) return { reply }
  const { text, value } = parseJsonAnswer(draft + textIn(reply))
  if (value === undefined) return { reply, checked: { text, problems: ['It is not JSON.'] } }
  return { reply, checked: { text, problems: await findProblems(value, text.length, format) } }
}

type Part = AssistantMessage['content'][number]
const textToThinking = (part: Part): Part => (part.type === 'text' ? { type: 'thinking', text: part.text } : part)

async function findProblems(value: unknown, chars: number, format: AnswerFormat): Promise<readonly string[]> {
  if (format.type === 'json_object')
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? [] : ['It is not a JSON object.']
  if (chars > maxValidatedChars) return []
  const { validateJson } = await loadSchemaValidator()
  return validateJson(format.schema, value)
}

/** Finds the JSON of an answer: all of it, the content of its only code fence, or all between the first and last bracket. */
function parseJsonAnswer(answer: string): { readonly text: string; readonly value?: unknown } {
  const whole = answer.trim()
  for (const text of listCandidates(whole)) {
    const value = parse(text)
    if (value !== undefined) return { text, value }
  }
  return { text: whole }
}

function* listCandidates(whole: string): Generator<string> {
  yield whole
  const fences = whole.split(/^```[\w-]*[ \t]*$/m)
  if (fences.length === 3) yield (fences[1] ?? '').trim()
  const first = whole.search(/[[{]/)
  const last = Math.max(whole.lastIndexOf('}'), whole.lastIndexOf(']'))
  if (first >= 0 && last > first) yield whole.slice(first, last + 1)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/**
 * Holds back the text of answers in a format. The store sends the stored text when the answer is whole, so that no
 * client joins an answer and its repair.
 */
export const isHeldBack = ({ of }: Delta, { options }: Turn): boolean =>
  of === 'text' && options.answerFormat !== undefined
