/** The machine of one session: the pure loop, with everything it needs from this object. */

import type { Machine } from '../agent/loop/drive.ts'
import type { View } from '../agent/model/ports.ts'
import type { Settings } from '../agent/model/settings.ts'
import type { Turn } from '../agent/model/turn.ts'
import { tokensIn } from '../agent/prompt/tokens.ts'
import { demo } from '../agent/wire/demo.ts'
import { openaiChat } from '../agent/wire/openai-chat.ts'
import type { Route, Variables } from '../agent/wire/route.ts'
import { withImages } from './attachments.ts'
import { Coalescer } from './coalesce.ts'
import type { Driver } from './driver.ts'
import { failpoint } from './failpoint.ts'
import { performer } from './perform.ts'
import { routesFor } from './routes.ts'
import type { SessionMeta } from './session-meta.ts'
import type { SessionStore } from './store.ts'
import type { Workbench } from './workbench.ts'

const dialects = { 'openai-chat': openaiChat, demo }
const nothingAsks: View['asks'] = new Set()

/** What the machine needs of the session. Read anew each time: a rebuilt session has another store and meta. */
export type Living = {
  readonly meta: SessionMeta
  readonly settings: Settings
  readonly store: SessionStore
  readonly workbench: Workbench
  readonly driver: Driver
}

export function machineOf(core: Living, env: Env): Machine {
  const variables = env as unknown as Variables
  const routes = routeCache(core, variables)
  const deltas = new Coalescer((kind, text) => core.store.hear(kind, text))
  const system = (turn: Turn) => [core.meta.prompt, turn.options.instructions].filter(Boolean).join('\n\n')
  return {
    get store() {
      return core.store
    },
    perform: performer({
      dialects,
      routes,
      system,
      transcript: async () => withImages(core.store.transcript(), env.BLOBS),
      toolSchemas: () => core.workbench.schemas(core.settings),
      runTools: (calls, signal) => core.workbench.run(calls, core.settings, signal),
      hear: (delta) => {
        deltas.take(delta)
        void failpoint('mid-stream')
      },
      heardAll: (kept) => (kept ? deltas.flush() : deltas.discard()),
      abortable: () => core.driver.abortable(),
    }),
    look: () => look(core, routes),
  }
}

function look(core: Living, routes: (turn: Turn) => readonly Route[]): View {
  const turn = core.store.turn()
  const chain = routes(turn)
  return {
    now: Date.now(),
    inbox: core.store.inbox(),
    lastRole: core.store.lastRole(),
    toolbox: core.workbench.toolbox(core.settings),
    contextTokens: core.store.contextTokens() + promptTokens(core),
    contextWindow: chain[turn.route.model]?.contextWindow ?? 128_000,
    chain: chain.map(({ endpoints }) => endpoints.length),
    asks: nothingAsks,
    dice: Math.random(),
  }
}

/** The fixed part of every request: counted once for as long as it stays the same. */
const counted = new WeakMap<object, number>()

function promptTokens(core: Living): number {
  const schemas = core.workbench.schemas(core.settings)
  let tokens = counted.get(schemas)
  if (tokens === undefined) {
    tokens = tokensIn(JSON.stringify(schemas)) + tokensIn(core.meta.prompt ?? '')
    counted.set(schemas, tokens)
  }
  return tokens
}

/** Routes change with the settings and with what the turn asks for, and with nothing else. */
function routeCache(core: Living, variables: Variables): (turn: Turn) => readonly Route[] {
  let cached: { readonly asked: string | undefined; readonly of: object; readonly routes: readonly Route[] } | undefined
  return ({ options }) => {
    if (cached?.of !== core.settings || cached.asked !== options.model)
      cached = { asked: options.model, of: core.settings, routes: routesFor(options.model, core.settings, variables) }
    return cached.routes
  }
}
