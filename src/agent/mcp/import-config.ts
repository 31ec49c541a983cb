/** Reads the `mcpServers` of Claude Code, Claude Desktop, Cursor, VS Code and Hermes as rows of our own. */

import { isJsonObject, type JsonObject } from '#agent/core/parse-json.ts'

export type ImportedServer =
  | { readonly alias: string; readonly row: JsonObject }
  | { readonly alias: string; readonly error: string }

/** Names of VS Code and Hermes for the list of servers. */
const listNames = ['mcpServers', 'mcp_servers', 'servers'] as const

export function readServers(file: JsonObject): readonly ImportedServer[] {
  const list = listNames.map((name) => file[name]).find(isJsonObject) ?? {}
  return Object.entries(list).map(([name, entry]) => readServer(name, entry))
}

function readServer(name: string, entry: unknown): ImportedServer {
  const alias = name.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, 32)
  if (!isJsonObject(entry)) return { alias, error: 'The entry is not an object.' }
  if (entry['command'] !== undefined || entry['type'] === 'stdio') return readProgram(alias, entry)
  const url = entry['url'] ?? entry['serverUrl']
  if (typeof url !== 'string') return { alias, error: 'The entry has no url.' }
  const headers = readValues('header', entry['headers'])
  if (typeof headers === 'string') return { alias, error: headers }
  const credentials = Object.keys(headers).length ? { auth: 'headers', headers } : {}
  return { alias, row: { alias, url, ...credentials, ...readOptions(entry) } }
}

function readOptions(entry: JsonObject): JsonObject {
  const { type, transport, enabled, disabled, tools, timeout, connect_timeout: connectTimeout } = entry
  return {
    ...((type === 'sse' || transport === 'sse') && { transport: 'sse' }),
    ...((enabled === false || disabled === true) && { enabled: false }),
    ...(isJsonObject(tools) && { tools: readFilter(tools) }),
    ...(typeof timeout === 'number' && { timeout }),
    ...(typeof connectTimeout === 'number' && { connect_timeout: connectTimeout }),
    ...(entry['supports_parallel_tool_calls'] === true && { supports_parallel_tool_calls: true }),
  }
}

function readProgram(alias: string, entry: JsonObject): ImportedServer {
  const { command, args } = entry
  if (typeof command !== 'string') return { alias, error: 'The entry has no command.' }
  const env = readValues('variable', entry['env'])
  if (typeof env === 'string') return { alias, error: env }
  const given = { ...(Array.isArray(args) && { args }), ...(Object.keys(env).length > 0 && { env }) }
  return { alias, row: { alias, transport: 'stdio', command, ...given, ...readOptions(entry) } }
}

/** `${VAR}`, `${env:VAR}` and `${VAR:-default}` become references to secrets of the tenant. */
function readValues(kind: 'header' | 'variable', values: unknown): Record<string, string> | string {
  const read: Record<string, string> = {}
  for (const [name, value] of Object.entries(isJsonObject(values) ? values : {})) {
    if (typeof value !== 'string') return `The ${kind} ${name} is not a text.`
    if (/\$\{input:/.test(value))
      return `The ${kind} ${name} asks the editor for a value. Write the value, or \${NAME} of a stored secret.`
    read[name] = value.replace(/\$\{(?:env:)?([A-Za-z_]\w*)(?::-[^}]*)?\}/g, (_, secret: string) => `\${${secret}}`)
  }
  return read
}

const readFilter = ({ include, exclude, resources, prompts }: JsonObject): JsonObject => ({
  ...(Array.isArray(include) && { include }),
  ...(Array.isArray(exclude) && { exclude }),
  ...(typeof resources === 'boolean' && { resources }),
  ...(typeof prompts === 'boolean' && { prompts }),
})
