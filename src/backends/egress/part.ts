/** Exports what is needed once a turn holds foreign and private data. It is bundled apart, because most turns do not. */

export { collectTexts } from '#agent/policy/approval/known-texts.ts'
export { carriesNothing } from '#agent/policy/approval/outgoing-content.ts'
export { openLinkFilter } from '#agent/untrusted/link-filter.ts'
