/** Calls the API of a service for a built-in plugin, and explains its failures in words. */

import { parseJson } from '#agent/core/parse-json.ts'
import type { PluginHost, PluginRequest } from './define-plugin.ts'

export type Found = { readonly value: unknown } | { readonly error: string }

/** `explained`: what a status of this service means for a person. */
export type Service = { readonly name: string; readonly explained: Readonly<Record<number, string>> }

type ServiceRequest = Omit<PluginRequest, 'body' | 'headers'> & {
  readonly token: string
  readonly json?: object | undefined
}

const maxErrorChars = 300

/** An answer that is no JSON is a text. `status`: of the answer, undefined without one. */
export async function callApi(
  host: PluginHost,
  { name, explained }: Service,
  { token, json, ...request }: ServiceRequest,
): Promise<Found & { readonly status?: number }> {
  const headers = { authorization: `Bearer ${token}`, ...(json && { 'content-type': 'application/json' }) }
  try {
    const { status, text } = await host.request({ ...request, headers, ...(json && { body: JSON.stringify(json) }) })
    if (status >= 200 && status <= 299) return { value: parseJson(text) ?? text, status }
    return {
      error: explained[status] ?? `${name} answered with status ${status}: ${text.slice(0, maxErrorChars)}`,
      status,
    }
  } catch (error) {
    return { error: `${name} cannot be reached: ${error instanceof Error ? error.message : String(error)}` }
  }
}
