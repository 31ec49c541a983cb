/** Exports the dialect `demo`, the stand-in for a model. */

export { demo } from '#agent/providers/demo/demo.ts'
