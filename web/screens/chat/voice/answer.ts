/** Reads the sentences of an answer while it streams. */

import { effect } from '@preact/signals'
import { textOf } from '../../../model/blocks.ts'
import { splitSentences, toPlainText } from '../../../model/plain-text.ts'
import type { Timeline } from '../../../model/timeline.ts'
import { timeline } from '../store.ts'

/** Yields whole sentences, the last one when the run has ended. `words`: those of the message that it answers. */
export async function* readSentences(words: string, signal: AbortSignal): AsyncGenerator<string> {
  let said = 0
  for (;;) {
    if (signal.aborted) return
    const now = timeline.value
    const run = findRun(now, words)
    const isOver = run !== undefined && now.ended?.runId === run
    const sentences = run === undefined ? [] : splitSentences(toPlainText(answerOf(now, run)))
    // The last one may still grow.
    const whole = sentences.slice(said, isOver ? undefined : -1)
    for (const sentence of whole) yield sentence
    said += whole.length
    if (isOver) return
    await nextChange(now, signal)
  }
}

function findRun({ live, messages }: Timeline, words: string): string | undefined {
  const sent = live.findLast((block) => block.kind === 'user' && block.text === words)
  if (sent) return sent.runId
  return messages.findLast((message) => message.role === 'user' && textOf(message).includes(words))?.run_id
}

/** Stored messages of a run and its streamed words: one of them has each piece. */
function answerOf({ messages, live }: Timeline, run: string): string {
  const stored = messages.flatMap((one) => (one.run_id === run && one.role === 'assistant' ? [textOf(one)] : []))
  const streamed = live.flatMap((block) => (block.kind === 'text' && block.runId === run ? [block.text] : []))
  return [...stored, ...streamed].filter(Boolean).join('\n\n')
}

/** Resolves when the timeline is another one. */
function nextChange(before: Timeline, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const stop = effect(() => {
      if (timeline.value !== before) resolve()
    })
    const end = () => {
      stop()
      resolve()
    }
    signal.addEventListener('abort', end, { once: true })
    void Promise.resolve().then(() => timeline.value !== before && end())
  })
}
