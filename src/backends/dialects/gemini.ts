/** Exports the dialect `gemini`. */

export { createGemini } from '#agent/providers/gemini/gemini.ts'
