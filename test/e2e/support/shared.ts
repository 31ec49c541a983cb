/** Starts one server and one model server for all test files that do not kill servers. */

import type { TestProject } from 'vitest/node'
import { startModelServer } from '../../support/model-server/server.ts'
import { deleteState, newState, startServer } from './server.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    readonly server: { readonly url: string; readonly key: string; readonly modelUrl: string }
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const model = await startModelServer()
  const state = newState()
  const server = await startServer({ state, env: modelSettings(model.url) }).catch(async (error: unknown) => {
    await model.close()
    throw error
  })
  project.provide('server', { url: server.url, key: server.key, modelUrl: model.url })
  return async () => {
    await server.stop()
    await model.close()
    if (process.env['E2E_KEEP_LOG']) console.log(server.log())
    deleteState(state)
  }
}

/** The model server stands in for OpenAI. */
export const modelSettings = (url: string) => ({
  OPENAI_API_KEY: 'sk-end-to-end',
  OPENAI_BASE_URL: url,
  MODEL: 'openai/bench',
})
