/** Renders the items of OpenAI's Responses API. Tools that ran on the server are calls of the MCP server `talaria`. */

import type OpenAI from 'openai'

export type OutputItem = OpenAI.Responses.ResponseOutputItem
export type StoredInputItem = OpenAI.Responses.ResponseItem
type ItemStatus = 'in_progress' | 'completed' | 'incomplete'

export const serverLabel = 'talaria'
/** Longer results are truncated: a response is one object in memory. */
const maxOutputChars = 100_000

export const renderTextPart = (text: string) => ({
  type: 'output_text' as const,
  text,
  annotations: [],
  logprobs: [],
})

export const renderMessageItem = (id: string, text: string, status: ItemStatus = 'completed') =>
  ({
    id,
    type: 'message',
    role: 'assistant',
    status,
    content: status === 'in_progress' ? [] : [renderTextPart(text)],
  }) satisfies OutputItem

export const renderReasoningItem = (id: string, text: string) =>
  ({
    id,
    type: 'reasoning',
    summary: text ? [{ type: 'summary_text', text }] : [],
  }) satisfies OutputItem

/** A call as the model wrote it. `json`: its arguments. */
export type RenderedCall = { readonly id: string; readonly name: string; readonly json: string }

export type ShownResult = { readonly text: string; readonly failed: boolean }

export type CallEnd = {
  /** Absent: the call has not ended. */
  readonly result?: ShownResult | undefined
  readonly status?: 'in_progress' | 'incomplete'
  readonly approvalId?: string | undefined
}

export const renderMcpCall = (
  { id, name, json }: RenderedCall,
  { result, status = 'incomplete', approvalId }: CallEnd,
) =>
  ({
    id,
    type: 'mcp_call',
    server_label: serverLabel,
    name,
    arguments: json,
    status: result ? (result.failed ? 'failed' : 'completed') : status,
    output: result && !result.failed ? truncate(result.text) : null,
    error: result?.failed ? renderCallError(result.text) : null,
    approval_request_id: approvalId ?? null,
  }) satisfies OutputItem

const renderCallError = (text: string) => ({
  type: 'mcp_tool_execution_error' as const,
  content: [{ type: 'text', text: truncate(text) }],
})

const truncate = (text: string): string =>
  text.length <= maxOutputChars
    ? text
    : `${text.slice(0, maxOutputChars).toWellFormed()}\n[${text.length - maxOutputChars} more characters]`

/** `callId`: the id by which the client gives the result. */
export const renderFunctionCall = (
  { id, name, json }: RenderedCall,
  callId: string,
  status: ItemStatus = 'completed',
) => ({ id, type: 'function_call', call_id: callId, name, arguments: json, status }) satisfies OutputItem

export const renderApprovalRequest = ({ id, name, json }: RenderedCall) =>
  ({ id, type: 'mcp_approval_request', server_label: serverLabel, name, arguments: json }) satisfies OutputItem

/** Renders a question of the agent as the text of a message. */
export const renderQuestion = ({
  question,
  choices = [],
}: {
  readonly question: string
  readonly choices?: readonly string[]
}): string => [question, ...choices.map((choice) => `- ${choice}`)].join('\n')

/** The message at the end of an answer that waits for an approval which this reader may not give. */
export const renderApprovalNotice = (tool: string): string =>
  `Waiting for an approval of the tool ${tool}. A key with the scope "approve" decides it: GET /api/approvals lists it.`
