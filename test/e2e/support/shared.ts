/** Starts one server and one model server for all test files that do not kill servers. */

import type { TestProject } from 'vitest/node'
import { startModelServer } from '../../support/model-server/server.ts'
import { offerEquipped } from './equipped.ts'
import { deleteState, freePort, migrateOnce, newState, startServer } from './server.ts'
import { startTelegram } from './telegram-server.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    readonly server: {
      readonly url: string
      readonly key: string
      readonly temporary: string
      readonly modelUrl: string
      readonly telegramUrl: string
      /** The test of Discord listens there. */
      readonly discordPort: number
      /** The test of the browser serves `http://shop.example.com` there. */
      readonly shopPort: number
    }
    /** The address that starts the deployment of equipped.ts. */
    readonly equipped: string
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const [model, telegram, forget] = await Promise.all([startModelServer(), startTelegram(), migrateOnce()])
  const equipped = await offerEquipped(modelSettings(model.url))
  const closeAll = async () => {
    await equipped.stop()
    forget()
    telegram.close()
    await model.close()
  }
  const [state, discordPort, shopPort] = [newState(), await freePort(), await freePort()]
  const server = await startServer({
    state,
    env: {
      ...modelSettings(model.url),
      TELEGRAM_API_BASE: telegram.url,
      DISCORD_API_BASE: `http://127.0.0.1:${discordPort}`,
      WEB_HOST_MAP: JSON.stringify({ 'shop.example.com': `http://127.0.0.1:${shopPort}` }),
    },
  }).catch(async (error: unknown) => {
    await closeAll()
    throw error
  })
  project.provide('equipped', equipped.url)
  project.provide('server', {
    url: server.url,
    key: server.key,
    temporary: server.temporary,
    modelUrl: model.url,
    telegramUrl: telegram.url,
    discordPort,
    shopPort,
  })
  return async () => {
    await server.stop()
    await closeAll()
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
