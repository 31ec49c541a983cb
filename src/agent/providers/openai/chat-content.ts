/** Parses the content of a chat completion: a text, or parts of which some are thinking. */

export type ChatContent = { readonly text: string; readonly thinking: string }

export function parseChatContent(content: unknown): ChatContent {
  if (Array.isArray(content)) return { text: joinParts(content, 'text'), thinking: joinParts(content, 'thinking') }
  return { text: toText(content), thinking: '' }
}

/** Converts content to text. Some servers parse JSON that the model wrote and send the value. */
export const toText = (content: unknown): string => {
  if (content === null || content === undefined) return ''
  return typeof content === 'string' ? content : JSON.stringify(content)
}

/** Joins the parts of one type. A thinking part contains text parts. Other types, such as references, are ignored. */
const joinParts = (parts: readonly unknown[], type: 'text' | 'thinking'): string =>
  parts
    .map((part) => {
      const { type: partType, [type]: value } = (part ?? {}) as Readonly<Record<string, unknown>>
      if (partType !== type) return ''
      return Array.isArray(value) ? joinParts(value, 'text') : toText(value)
    })
    .join('')
