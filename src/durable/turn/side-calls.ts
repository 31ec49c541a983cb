/** Makes the side calls of a session: side tasks, and the reference models of a mixture. */

import type { Dialect, DialectName, Endpoint } from '#agent/core/dialect.ts'
import type { Failure } from '#agent/core/failure.ts'
import { newTurn, type Turn } from '#agent/core/turn.ts'
import type { Catalog } from '#agent/providers/catalog/model-lookup.ts'
import type { Usage } from '#agent/core/usage.ts'
import { findCheapModel } from '#agent/routing/cheap-model.ts'
import { resolveModelId, type Route, type Variables } from '#agent/routing/route.ts'
import { resolveMixture, askReferences } from '#durable/models/mixture-of-agents.ts'
import type { Chosen, ModelEffects } from './effects.ts'
import { createChain } from '#durable/models/model-routes.ts'
import type { CallCost, Reserved } from '#durable/tenant/billing/session-billing.ts'
import type { TurnSession } from './turn-session.ts'
import { type SideCall, runSideCall, type SideCallContext } from '#durable/models/side-call.ts'

export type SideCallOptions = {
  readonly dialects: Readonly<Partial<Record<DialectName, Dialect>>>
  readonly variables: Variables
  readonly catalog: () => Catalog
  readonly routes: (turn: Turn) => readonly Route[]
  readonly lease: (chosen: Chosen) => (failure?: Failure) => void
}

/** For a call of a session that is deleted meanwhile. */
const notReserved: Reserved = { ok: true, release: () => undefined }

type SideCalls = Pick<ModelEffects, 'side' | 'references'>

export function createSideCalls(session: TurnSession, options: SideCallOptions): SideCalls {
  const inTurn = contextOf(session, options, () => session.driver.abortable())
  const afterTurn = contextOf(session, options, () => new AbortController())
  const side: SideCall = async (task, request) => {
    const note = session.billing.notes.nextId()
    const isInTurn = session.store.hasOpenTurn
    const context = isInTurn ? inTurn : afterTurn
    const recordEstimate = (usage: Usage) => void (session.exists && session.billing.notes.set({ id: note, usage }))
    const reserve = (cost: CallCost) =>
      session.exists ? session.billing.reserve(isInTurn ? session.store.current() : undefined, cost) : notReserved
    const answer = await runSideCall(task, request, { ...context, recordEstimate, reserve })
    if (request.billedBy !== 'caller' && session.exists) session.billing.addSideCall({ id: note, usage: answer.usage })
    if (!isInTurn && session.exists) session.billing.releaseSideCalls()
    return { ...answer, note }
  }
  let cached: { readonly turn: string; readonly answers: Promise<string | undefined> } | undefined
  return {
    side,
    references: (turn, transcript) => {
      const mixture = resolveMixture(turn.options.model, session.settings, options.variables['MODEL'])
      if (!mixture) return Promise.resolve(undefined)
      // The references are called once per turn: later model calls only continue the work.
      if (cached?.turn !== turn.id)
        cached = {
          turn: turn.id,
          answers: askReferences(mixture, transcript, (request) => side('moa_reference', request)),
        }
      return cached.answers
    },
  }
}

function contextOf(
  session: TurnSession,
  options: SideCallOptions,
  abortable: () => AbortController,
): Omit<SideCallContext, 'recordEstimate' | 'reserve'> {
  const { dialects, variables, catalog, routes, lease } = options
  const { tenantId } = session
  const routeOf = (id: string) =>
    routes(newTurn('', 0, 0, { model: id })).find((route) => route.id === resolveModelId(id, session.settings))
  const turnOf = () => session.store.current() ?? newTurn('', 0, 0)
  return {
    tenantId,
    dialects,
    abortable,
    settings: () => session.settings,
    deploymentModel: variables['AUX_MODEL']?.trim(),
    turnRoutes: () => {
      const turn = turnOf()
      const chain = routes(turn)
      return [...chain.slice(turn.route.model), ...chain.slice(0, turn.route.model)]
    },
    routeOf,
    cheapModelOf: (main) => findCheapModel(main, { catalog: catalog(), routeOf }),
    lease: (route) => {
      const endpoint = endpointOf(route, createChain([route], tenantId, session.settings, turnOf())[0]?.keys ?? [])
      return endpoint && { endpoint, end: lease({ route, endpoint }) }
    },
  }
}

const endpointOf = ({ endpoints }: Route, keys: readonly string[]): Endpoint | undefined =>
  endpoints.find(({ id }) => id === keys[0]) ?? endpoints[0]
