/** Makes the tools of many MCP servers: as many as a large company connects, with the texts and parameters of usual ones. */

export type ListedTool = {
  readonly name: string
  readonly description: string
  readonly inputSchema: object
  readonly annotations: object
}

const verbs = [
  'list',
  'get',
  'create',
  'update',
  'delete',
  'search',
  'archive',
  'assign',
  'export',
  'restore',
  'comment_on',
]
const objects = ['invoice', 'customer', 'ticket', 'contract', 'shipment', 'campaign', 'employee', 'asset']
const parameters = ['query', 'limit', 'cursor', 'status', 'created_after', 'owner_id', 'note']

/** Such hints of a trusted server let a call run without a question, also after foreign content. */
const annotations = { readOnlyHint: true, openWorldHint: false }

const parameter = (name: string) => ({ type: 'string', description: `The ${name.replaceAll('_', ' ')} of the record.` })

/** The tool that the benchmark calls. */
export const called = 'echo'

const echo: ListedTool = {
  name: called,
  description: 'Returns the text.',
  inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  annotations,
}

function toolOf(n: number): ListedTool {
  const pairs = verbs.length * objects.length
  const [verb = '', object = ''] = [verbs[n % verbs.length], objects[Math.floor(n / verbs.length) % objects.length]]
  const again = n < pairs ? '' : `_${Math.floor(n / pairs) + 1}`
  const own = [`${object}_id`, ...parameters.slice(0, 2 + (n % (parameters.length - 1)))]
  return {
    name: `${verb}_${object}${again}`,
    description: `${verb.replaceAll('_', ' ')} ${object} records of this system. Returns each with its history and links; needs the id or a query.`,
    inputSchema: {
      type: 'object',
      properties: Object.fromEntries(own.map((name) => [name, parameter(name)])),
      required: own.slice(0, 1),
    },
    annotations,
  }
}

/** The tools of server `server` of `servers` that have `total` together, as evenly as possible. */
export function toolsOf(server: number, servers: number, total: number): readonly ListedTool[] {
  const count = Math.floor(total / servers) + Number(server < total % servers)
  return [echo, ...Array.from({ length: count - 1 }, (_, n) => toolOf(n))]
}
