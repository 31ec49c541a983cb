/** Renders the parameters of operations. Headers and the two fields of paging are components. */

import type { OpenRoute, ApiRoute } from '../route.ts'
import type { Components, Json } from './components.ts'

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

/** In the order of the path. */
export const renderPathParameters = ({ params = {} }: ApiRoute | OpenRoute, path: string): readonly Json[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    description: params[name]?.description,
    schema: { type: 'string' },
    example: params[name]?.example,
  }))

export const renderHeaderParameters = (
  { headers = [] }: ApiRoute | OpenRoute,
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
  { query }: ApiRoute | OpenRoute,
  components: Components,
  shared: SharedParameters,
): readonly Json[] {
  if (!query) return []
  const { properties = {}, required = [] } = components.convert(query, 'input') as {
    properties?: Record<string, Json>
    required?: readonly string[]
  }
  return Object.entries(properties).map(([name, { description, example: given, ...schema }]) => {
    const example = given ?? chooseExample(schema)
    const isRequired = required.includes(name)
    const parameter = {
      name,
      in: 'query',
      required: isRequired,
      description,
      schema,
      ...(isRequired ? { example } : unusedExample(example)),
    }
    return isPaging(name) ? shared.addEqual(parameter) : parameter
  })
}

function chooseExample({ default: preset, enum: values, type, format, anyOf }: Json): unknown {
  if (preset !== undefined) return preset
  if (Array.isArray(values)) return values[0]
  if (format === 'date-time' || anyOf) return '2026-11-22T10:00:00Z'
  return type === 'string' ? 'text' : type === 'boolean' ? false : 1
}
