/**
 * Removes the thinking blocks at the end of an assistant message. A reply that was cut off while thinking ends with
 * them, and providers refuse them there.
 */
export const dropTrailingThinking = <T>(blocks: readonly T[], isThinking: (block: T) => boolean): readonly T[] =>
  blocks.slice(0, blocks.findLastIndex((block) => !isThinking(block)) + 1)
