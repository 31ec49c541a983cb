/** Cuts the long texts of a message for a list. `GET …/messages/{seq}` has the whole message. */

import type { MessageView } from '../api-views.ts'

type Preview = MessageView & { readonly truncated?: true }

/** `max`: characters of each text. */
export function toPreview(view: MessageView, max: number): Preview {
  let isCut = false
  const cut = (text: string): string => {
    if (text.length <= max) return text
    isCut = true
    return text.slice(0, max)
  }
  const { content, reasoning, tool_calls: calls } = view as MessageView & { readonly reasoning?: string }
  const shown = {
    ...view,
    content: Array.isArray(content)
      ? content.map((part) => ('text' in part ? { ...part, text: cut(part.text) } : part))
      : content && cut(content),
    ...(calls && {
      tool_calls: calls.map((call) => ({
        ...call,
        function: { ...call.function, arguments: cut(call.function.arguments) },
      })),
    }),
    ...(reasoning !== undefined && { reasoning: cut(reasoning) }),
  } as MessageView
  return isCut ? { ...shown, truncated: true } : shown
}
