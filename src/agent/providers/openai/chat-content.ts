/** What a model says in a chat completion: a text, or parts of which some are thinking. */

export type Said = { readonly text: string; readonly thinking: string }

export function contentOf(content: unknown): Said {
  if (Array.isArray(content)) return { text: partsIn(content, 'text'), thinking: partsIn(content, 'thinking') }
  return { text: textOf(content), thinking: '' }
}

/** A number or an object where the model was made to write one. */
export const textOf = (content: unknown): string => {
  if (content === null || content === undefined) return ''
  return typeof content === 'string' ? content : JSON.stringify(content)
}

/** Thinking has parts of its own. What is neither (references, images) is left out. */
const partsIn = (parts: readonly unknown[], type: 'text' | 'thinking'): string =>
  parts
    .map((part) => {
      const { type: own, [type]: said } = (part ?? {}) as Readonly<Record<string, unknown>>
      if (own !== type) return ''
      return Array.isArray(said) ? partsIn(said, 'text') : textOf(said)
    })
    .join('')
