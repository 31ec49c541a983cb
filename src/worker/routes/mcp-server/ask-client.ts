/**
 * Asks the person at a client about a call of the run that the client itself has begun. Nothing is kept open: the answer
 * comes with a repetition of the request, and with its sealed state.
 */

import { type Authority, hasScope } from '#agent/core/permission/authority.ts'
import { isJsonObject, type JsonObject } from '#agent/core/parse-json.ts'
import { explainMissingKey } from '#durable/platform/master-key.ts'
import { sha256Hex } from '#durable/platform/hash.ts'
import { seal, unseal } from '#durable/platform/seal.ts'
import type { CallApi } from './api-calls.ts'
import { invalidParams } from './protocol.ts'
import { part } from './tools.ts'

export type AskingServer = {
  readonly env: Env
  readonly authority: Authority
  readonly call: CallApi
  /** Of the request. */
  readonly params: JsonObject
}

export type AskedRun = { readonly session_id: string; readonly run_id: string }
type State = AskedRun & { readonly approval: string; readonly input: string }
type Approval = {
  readonly id: string
  readonly run_id: string
  readonly tool: string
  readonly input: unknown
  readonly reasons: readonly string[]
}

const answerKey = 'approval'
const capabilitiesKey = 'io.modelcontextprotocol/clientCapabilities'
/** Nobody allows a call that is not shown whole. */
const maxShownChars = 8_000

/** Whether a person at the client may decide: a modern client that shows forms, and a key that may answer approvals. */
function mayAsk({ env, authority, params }: AskingServer): boolean {
  const meta = isJsonObject(params['_meta']) ? params['_meta'][capabilitiesKey] : undefined
  const offered = isJsonObject(meta) ? meta['elicitation'] : undefined
  const showsForms = isJsonObject(offered) && ('form' in offered || Object.keys(offered).length === 0)
  return showsForms && hasScope(authority, 'approve') && !explainMissingKey(env)
}

/** Another key or another app cannot use the state. */
const ownerOf = ({ authority }: AskingServer) => ({
  tenant: authority.tenantId,
  kind: 'mcp-ask',
  id: JSON.stringify(authority.principal),
})

/** A state counts for the same arguments only. */
const hashInput = ({ params }: AskingServer): Promise<string> =>
  sha256Hex(JSON.stringify(params['arguments'] ?? {}), 16)

/** The question about what the run waits for. Undefined: the client cannot be asked about it. */
export async function askClient(server: AskingServer, run: AskedRun): Promise<JsonObject | undefined> {
  const approval = mayAsk(server) ? await findApproval(server, run) : undefined
  if (!approval) return undefined
  const shown = JSON.stringify(approval.input)
  if (shown.length > maxShownChars) return undefined
  const why = approval.reasons.length ? `\n${approval.reasons.join('\n')}` : ''
  const state: State = { ...run, approval: approval.id, input: await hashInput(server) }
  return {
    resultType: 'input_required',
    inputRequests: {
      [answerKey]: {
        method: 'elicitation/create',
        params: {
          mode: 'form',
          message: `The agent wants to call ${approval.tool}:\n${shown}${why}`,
          requestedSchema: {
            type: 'object',
            properties: { decision: { type: 'string', title: 'Allow this call?', enum: ['once', 'deny'] } },
            required: ['decision'],
          },
        },
      },
    },
    requestState: await seal(server.env, JSON.stringify(state), ownerOf(server)),
  }
}

async function findApproval({ call }: AskingServer, run: AskedRun): Promise<Approval | undefined> {
  const response = await call({ method: 'GET', path: '/api/approvals?limit=200' })
  if (!response.ok) return undefined
  const { data } = (await response.json()) as { readonly data: readonly Approval[] }
  return data.find(({ run_id: id }) => id === run.run_id)
}

/** The run that a repeated request goes on with, and whether the person has decided. Undefined: it begins one. */
export async function takeClientAnswer(
  server: AskingServer,
): Promise<{ readonly run: AskedRun; readonly isDecided: boolean } | undefined> {
  const { requestState, inputResponses } = server.params
  if (requestState === undefined) return undefined
  const state = typeof requestState === 'string' && mayAsk(server) ? await openState(server, requestState) : undefined
  if (!state) throw invalidParams('The requestState is not one of this server for this request.')
  const { session_id, run_id, approval } = state
  const given = isJsonObject(inputResponses) ? inputResponses[answerKey] : undefined
  const decision = readDecision(given)
  // An approval that somebody else has decided meanwhile is no failure: the run tells what came of it.
  if (decision) await server.call({ method: 'POST', path: `/api/approvals/${part(approval)}`, body: { decision } })
  return { run: { session_id, run_id }, isDecided: decision !== undefined }
}

async function openState(server: AskingServer, sealed: string): Promise<State | undefined> {
  const opened = await unseal(server.env, sealed, ownerOf(server))
  if (opened.kind === 'unreadable') return undefined
  const state = JSON.parse(opened.secret) as State
  return state.input === (await hashInput(server)) ? state : undefined
}

/** Undefined: the person has put the question away, so that the call waits for somebody else. */
function readDecision(given: unknown): 'once' | 'deny' | undefined {
  const { action, content } = isJsonObject(given) ? given : {}
  if (action === 'decline') return 'deny'
  if (action !== 'accept' || !isJsonObject(content)) return undefined
  const { decision } = content
  return decision === 'once' || decision === 'deny' ? decision : undefined
}
