/** Exports the dialect `workers-ai`, which calls a binding. */

export { workersAi } from '#agent/providers/workers-ai/workers-ai.ts'
