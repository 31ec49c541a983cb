/** Finds what a tool call is about, for one line. */

const telling = ['command', 'path', 'query', 'pattern', 'url', 'goal', 'question', 'name', 'code', 'content', 'text']
const maxChars = 160

export function targetOf(tool: string, input: unknown): string {
  if (typeof input === 'string') return shorten(input)
  if (typeof input !== 'object' || input === null) return ''
  const fields = input as Readonly<Record<string, unknown>>
  const name = telling.find((one) => typeof fields[one] === 'string' && fields[one] !== '')
  if (name !== undefined) return shorten(String(fields[name]))
  const text = JSON.stringify(input)
  return text === '{}' || tool === 'todo' ? '' : shorten(text)
}

const shorten = (text: string): string => {
  const [line = ''] = text.trim().split('\n', 1)
  return line.length > maxChars ? `${line.slice(0, maxChars)}…` : line
}
