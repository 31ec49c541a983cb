/** Exports what is needed for commands, and once a turn holds foreign and private data. It is bundled apart, because most turns need neither. */

export { collectTexts } from '#agent/policy/approval/known-texts.ts'
export { carriesNothing, isFetching } from '#agent/policy/approval/outgoing-content.ts'
export { openLinkFilter } from '#agent/untrusted/link-filter.ts'
