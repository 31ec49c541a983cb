/** Renders the parameters of operations. Headers and the two fields of paging are components. */

import type { OpenRoute, Route } from '../route.ts'
import type { Components, Json } from './components.ts'
import { singularOf } from './operation-id.ts'

type Described = Readonly<Record<string, { readonly description: string; readonly example: unknown }>>

const pathParameters: Described = {
  run: {
    description: 'The id of a run of the session.',
    example: 'run_5b1f0c9e8a7d4e62.ses_0f8d6c7b2a9e4d31b5c0a7e9d2f4b681',
  },
  n: { description: 'The number of the checkpoint; 1 is the newest.', example: '1' },
  path: { description: 'A path in the workspace; slashes are kept.', example: 'report.md' },
  attachment: {
    description: 'The id of the attachment, as in the address that the message shows.',
    example: 'msg_1.0',
  },
  platform: { description: 'The messaging platform.', example: 'telegram' },
  connection: { description: 'The id of the channel.', example: 'ch_1f2e3d4c5b6a79880716253443526170' },
  name: { description: 'The name.', example: 'DEPLOY_TOKEN' },
  item: { description: 'The id of the item.', example: 'msg_5b1f0c9e8a7d4e62_0' },
  seq: { description: 'The number of the message.', example: '1' },
}

const idExamples: Readonly<Record<string, string>> = {
  session: 'ses_0f8d6c7b2a9e4d31b5c0a7e9d2f4b681',
  run: 'run_5b1f0c9e8a7d4e62.ses_0f8d6c7b2a9e4d31b5c0a7e9d2f4b681',
  response: 'resp_5b1f0c9e8a7d4e62.ses_0f8d6c7b2a9e4d31b5c0a7e9d2f4b681',
  model: 'talaria',
  conversation: 'ses_0f8d6c7b2a9e4d31b5c0a7e9d2f4b681',
  file: 'file-1f2e3d4c5b6a79880716253443526170',
  tenant: 'acme',
}

const queryParameters: Described = {
  limit: { description: 'How many items at most.', example: 20 },
  cursor: { description: 'The `next_cursor` of the page before.', example: 'WzE3OTUzNDE2MDAwMDAsInNlc18wZjhkIl0' },
  after: { description: 'Continues after this item or event.', example: 0 },
  source: { description: 'Only sessions that began there: `api`, `web`, `cli`, `acp`, or a platform.', example: 'api' },
  q: { description: 'The words to look for.', example: 'report' },
  format: { description: 'The format of the answer.', example: 'json' },
  stream: { description: 'Answers with server-sent events.', example: 'true' },
  starting_after: { description: 'Only events after this `sequence_number`.', example: 0 },
  order: { description: 'The order of the items.', example: 'desc' },
  purpose: { description: 'Only files of this purpose.', example: 'assistants' },
  session_id: { description: 'Only entries of this session.', example: 'ses_0f8d6c7b2a9e4d31b5c0a7e9d2f4b681' },
  tenant_id: { description: 'Only keys of this tenant.', example: 'acme' },
  path: { description: 'Only this file or directory.', example: 'report.md' },
}

const headerExamples: Readonly<Record<string, string>> = {
  'Idempotency-Key': '8e03978e-40d5-43dd-bc93-6894a57f9324',
  'X-Talaria-Session-Id': 'ses_0f8d6c7b2a9e4d31b5c0a7e9d2f4b681',
  'X-Hermes-Session-Id': 'ses_0f8d6c7b2a9e4d31b5c0a7e9d2f4b681',
  'X-Talaria-Toolsets': 'web,memory',
  'Last-Event-ID': '42',
  Range: 'bytes=0-1023',
  'If-None-Match': '"5b1f0c9e8a7d4e62f00dcafe12345678"',
  'If-Match': '"5b1f0c9e8a7d4e62f00dcafe12345678"',
}

/** Collects parameters that several operations share. */
export class SharedParameters {
  readonly #parameters = new Map<string, Json>()

  add(parameter: Json): Json {
    const name = String(parameter['name'])
    this.#parameters.set(name, parameter)
    return { $ref: `#/components/parameters/${name}` }
  }

  /** The same for a parameter of a query, which may differ between routes. */
  addEqual(parameter: Json): Json {
    const known = this.#parameters.get(String(parameter['name']))
    return !known || JSON.stringify(known) === JSON.stringify(parameter) ? this.add(parameter) : parameter
  }

  render(): Json {
    return Object.fromEntries(this.#parameters)
  }
}

export const renderPathParameters = (path: string): readonly Json[] => {
  const parts = path.split('/')
  return parts.flatMap((part, at) => {
    const name = /^\{(\w+)\}$/.exec(part)?.[1]
    return name === undefined
      ? []
      : [{ name, in: 'path', required: true, ...describePathParameter(name, parts[at - 1] ?? '') }]
  })
}

function describePathParameter(name: string, before: string): Json {
  const owner = singularOf(before).replace(/[^A-Za-z]+/g, ' ')
  const known = pathParameters[name]
  if (name !== 'id' && known)
    return { description: known.description, schema: { type: 'string' }, example: known.example }
  const example = idExamples[owner] ?? `${owner}_1f2e3d4c5b6a7988`
  return { description: `The id of the ${owner}.`, schema: { type: 'string' }, example }
}

export const renderHeaderParameters = (
  { headers = [] }: Route | OpenRoute,
  shared: SharedParameters,
): readonly Json[] =>
  headers.map(({ name, description }) =>
    shared.add({
      name,
      in: 'header',
      required: false,
      description,
      schema: { type: 'string' },
      ...unusedExample(headerExamples[name] ?? 'text'),
    }),
  )

/** The reference shows the example, but does not send it before a person selects it. */
const unusedExample = (value: unknown): Json => ({ examples: { default: { value, 'x-disabled': true } } })

const isPaging = (name: string) => name === 'limit' || name === 'cursor'

export function renderQueryParameters(
  { query }: Route | OpenRoute,
  components: Components,
  shared: SharedParameters,
): readonly Json[] {
  if (!query) return []
  const { properties = {}, required = [] } = components.convert(query, 'input') as {
    properties?: Record<string, Json>
    required?: readonly string[]
  }
  return Object.entries(properties).map(([name, { description, ...schema }]) => {
    const known = queryParameters[name]
    const example = chooseExample(schema, known?.example)
    const isRequired = required.includes(name)
    const parameter = {
      name,
      in: 'query',
      required: isRequired,
      description: String(description ?? known?.description ?? name),
      schema,
      ...(isRequired ? { example } : unusedExample(example)),
    }
    return isPaging(name) ? shared.addEqual(parameter) : parameter
  })
}

function chooseExample({ default: preset, enum: values, anyOf, type, format }: Json, known: unknown): unknown {
  if (preset !== undefined) return preset
  if (Array.isArray(values)) return values[0]
  if (format === 'date-time' || anyOf) return '2026-11-22T10:00:00Z'
  if (known !== undefined && (type === 'string') === (typeof known === 'string')) return known
  return type === 'string' ? 'text' : type === 'boolean' ? false : 1
}
