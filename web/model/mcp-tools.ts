/** Computes what the page shows about tools of MCP servers. */

import type { McpServer, McpTool } from './types.ts'

/** A server of the deployment is not connected before somebody uses it. Without a token that would show nothing else. */
export const needsSignIn = ({ status, auth, fetched_at: fetchedAt }: McpServer): boolean =>
  (status === 'needs_auth' && (auth === 'oauth' || auth === 'none')) ||
  (status === 'unavailable' && auth === 'oauth' && !fetchedAt)

const charsPerToken = 4

/** The part of each prompt that the schema of a tool takes, about. */
export const tokensOfTool = ({ name, description, input_schema: schema }: McpTool): number =>
  Math.ceil((name.length + description.length + JSON.stringify(schema).length) / charsPerToken)

/** Renders the changed fields of a tool as a unified diff. */
export const renderToolDiff = (diff: NonNullable<McpTool['diff']>): string =>
  Object.entries(diff)
    .map(([field, { before, after }]) => [`@@ ${field} @@`, ...mark('-', before), ...mark('+', after)].join('\n'))
    .join('\n')

function mark(sign: string, value: unknown): readonly string[] {
  if (value === null || value === undefined) return []
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2)
  return text.split('\n').map((line) => `${sign}${line}`)
}
