/** Finds and marks the block of a message that the address names. */

import type { Block } from '../../model/blocks.ts'
import type { Message } from '../../model/types.ts'

/** The key of the block that shows a message. The result of a tool stands in the card of its call. */
export function findMarked(
  messages: readonly Message[],
  blocks: readonly Block[],
  seq: number | undefined,
): string | undefined {
  const message = messages.find((one) => one.seq === seq)
  if (!message) return undefined
  const call = message.role === 'tool' ? message.tool_call_id : undefined
  const isIt = (block: Block) =>
    call === undefined
      ? block.key === `${seq}` || block.key.startsWith(`${block.runId}.${seq}.`)
      : block.kind === 'tool' && block.runId === message.run_id && block.callId === call
  const found = blocks.filter(isIt)
  return (found.find(({ kind }) => kind === 'text') ?? found[0])?.key
}

export function mark(list: HTMLElement, key: string | undefined): void {
  for (const element of list.querySelectorAll<HTMLElement>('[data-key]')) {
    const isMarked = element.dataset['key'] === key
    if (isMarked) element.ariaCurrent = 'true'
    else if (element.ariaCurrent !== null) element.ariaCurrent = null
  }
}
