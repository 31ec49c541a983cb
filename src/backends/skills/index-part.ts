/** Exports the index of the bundled skills. It is bundled apart from the skills, because every first turn needs it. */

export { bundledIndex } from '#agent/skills/bundled-index.ts'
