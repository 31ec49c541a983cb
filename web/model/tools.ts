/** Finds what a tool call is about, for one line. */

const telling = ['command', 'path', 'query', 'pattern', 'url', 'goal', 'question', 'name', 'code', 'content', 'text']
const maxChars = 160

export function targetOf(tool: string, input: unknown, result?: unknown): string {
  const plan = tool === 'todo' ? readPlan(input, result) : undefined
  if (plan?.length) return shorten(summarise(plan))
  if (tool === 'clarify') return [readText(input, 'question'), readAnswer(result)].filter(Boolean).join(' → ')
  if (typeof input === 'string') return shorten(input)
  if (typeof input !== 'object' || input === null) return ''
  const fields = input as Readonly<Record<string, unknown>>
  const name = telling.find((one) => typeof fields[one] === 'string' && fields[one] !== '')
  if (name !== undefined) return shorten(String(fields[name]))
  const values = Object.values(fields)
  const isPlain = values.every((one) => one === null || typeof one !== 'object')
  return shorten(isPlain ? values.filter((one) => one !== null && one !== '').join(', ') : JSON.stringify(input))
}

const readText = (value: unknown, name: string): string => {
  const text = (Object(value) as Readonly<Record<string, unknown>>)[name]
  return typeof text === 'string' ? shorten(text) : ''
}

/** The answer of the person: one text, or several choices. */
function readAnswer(result: unknown): string {
  const { user_response: answer } = Object(result) as { readonly user_response?: unknown }
  return Array.isArray(answer) ? shorten(answer.join(', ')) : readText(result, 'user_response')
}

export type Task = { readonly id: string; readonly content: string; readonly status: string }

/** The plan of a call of `todo`: as it is afterwards, else as the call writes it. */
export function readPlan(input: unknown, result: unknown): readonly Task[] | undefined {
  const todos = [result, input].map((one) => (Object(one) as { readonly todos?: unknown }).todos).find(Array.isArray)
  return todos?.every(isTask) ? (todos as readonly Task[]) : undefined
}

const isTask = (one: unknown): boolean =>
  typeof one === 'object' && one !== null && 'content' in one && typeof one.content === 'string' && 'status' in one

/** How far the plan is, and the task that is worked on. */
function summarise(plan: readonly Task[]): string {
  const done = plan.filter(({ status }) => status === 'completed').length
  const current = plan.find(({ status }) => status === 'in_progress')
  return [`${done}/${plan.length}`, current?.content].filter(Boolean).join(' · ')
}

const shorten = (text: string): string => {
  const [line = ''] = text.trim().split('\n', 1)
  return line.length > maxChars ? `${line.slice(0, maxChars)}…` : line
}
