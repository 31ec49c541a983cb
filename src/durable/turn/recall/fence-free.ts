/**
 * Keeps fences out of what a model call shows and stores. It is the one place between the models and all readers: streams,
 * chats and the transcript get what passes here.
 */

import type { Delta } from '#agent/core/dialect.ts'
import type { AssistantMessage } from '#agent/core/message.ts'
import { openFenceFilter, removeFences } from '#agent/untrusted/fence-filter.ts'

export type FenceFreeStream = {
  readonly push: (delta: Delta) => void
  /** Passes on what was kept back. Called when the stream has ended, whether it is complete or not. */
  readonly end: () => void
}

/** Text and thinking are separate streams: a fence may begin in both. */
export function openFenceFreeStream(pass: (delta: Delta) => void): FenceFreeStream {
  const filters = { text: openFenceFilter(), thinking: openFenceFilter() }
  const passText = (of: Delta['of'], text: string) => {
    if (text) pass({ of, text })
  }
  return {
    push: ({ of, text }) => passText(of, filters[of].push(text)),
    end: () => {
      passText('thinking', filters.thinking.flush())
      passText('text', filters.text.flush())
    },
  }
}

/** Thinking with a signature stays as it is: providers reject it otherwise. */
export function withoutFences(message: AssistantMessage): AssistantMessage {
  const content = message.content.map((part) => {
    if (part.type === 'call' || (part.type === 'thinking' && part.sealed)) return part
    const text = removeFences(part.text)
    return text === part.text ? part : { ...part, text }
  })
  return content.every((part, index) => part === message.content[index]) ? message : { ...message, content }
}
