/** A web without a network: answers requests by a function, and remembers them. */

import type { Settings } from '#agent/core/settings.ts'
import type { ToolDeployment } from '#agent/core/vendor/tool-deployment.ts'
import { resolveVendor } from '#agent/routing/tool-vendors.ts'
import type { WebRequest, WebSend } from '#backends/web/web-send.ts'

export type SentRequest = WebRequest & { readonly json: Readonly<Record<string, unknown>> }

export function openWeb(answer: (request: SentRequest) => Response | Promise<Response>) {
  const sent: SentRequest[] = []
  const send: WebSend = async (request) => {
    const seen = { ...request, json: JSON.parse(request.body ?? '{}') as Readonly<Record<string, unknown>> }
    sent.push(seen)
    return { response: await answer(seen), url: request.url }
  }
  return { sent, send }
}

type Deployed = {
  readonly web?: Settings['web']
  readonly variables?: Readonly<Record<string, string>>
  readonly tenantKeys?: Readonly<Record<string, string>>
}

export function openDeployment({ web, variables = {}, tenantKeys = {} }: Deployed = {}): ToolDeployment {
  const keys = (id: string) => (tenantKeys[id] === undefined ? [] : [{ id, key: tenantKeys[id] }])
  return {
    settings: web ? { web } : {},
    vendor: (id) => resolveVendor(id, { variables, tenantKeys: keys }),
    hasProvider: () => true,
    hasBinding: () => false,
    variable: (name) => variables[name],
  }
}
