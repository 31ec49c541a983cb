/**
 * Finds a cheap model beside the model of a conversation, at the same provider: for side calls that nobody has
 * configured, and that are not worth the price of the conversation's model.
 */

import { getProvider } from '#agent/providers/profiles/providers.ts'
import { type Catalog, listModelNames } from '#agent/providers/catalog/model-lookup.ts'
import type { Prices } from '#agent/providers/catalog/model-facts.ts'
import type { Route } from './route.ts'

/** A model with these prices or lower is cheap itself, in USD per million tokens. */
const cheapPrices = { input: 1, output: 5 } as const
/** A sibling has to cost at most this share of the model of the conversation. */
const maxPriceShare = 0.5

type Known = {
  readonly catalog: Catalog
  readonly routeOf: (id: string) => Pick<Route, 'id' | 'prices'> | undefined
}

/**
 * Returns the id of the cheap model that the profile of the provider names, else of the cheapest related model in the
 * catalog, else of the model itself when it is cheap. Undefined when no price says that a model is cheap.
 */
export function findCheapModel(
  main: Pick<Route, 'id' | 'model' | 'provider' | 'dialect' | 'prices'>,
  { catalog, routeOf }: Known,
): string | undefined {
  if (main.dialect === 'demo') return undefined
  const { auxModel, defaultModel } = getProvider(main.provider) ?? {}
  const named = auxModel === undefined ? undefined : routeOf(`${main.provider}/${auxModel}`)
  if (named) return named.id
  const { prices } = main
  if (!prices) return undefined
  const names = listModelNames(catalog, main.provider, (name) => isRelated(name, main.model))
  const siblings = [...names, ...(defaultModel === undefined ? [] : [defaultModel])].flatMap((name) => {
    const route = routeOf(`${main.provider}/${name}`)
    const price = route?.prices && sumPrices(route.prices)
    return route && price && price <= sumPrices(prices) * maxPriceShare ? [{ id: route.id, price }] : []
  })
  const [cheapest] = siblings.toSorted((a, b) => a.price - b.price)
  return cheapest?.id ?? (isCheap(prices) ? main.id : undefined)
}

const sumPrices = ({ input, output }: Prices): number => input + output

const isCheap = ({ input, output }: Prices): boolean => input <= cheapPrices.input && output <= cheapPrices.output

/** Compares maker and family: `gpt` of gpt-5.5, `anthropic/claude` of anthropic/claude-opus-5. */
const isRelated = (name: string, other: string): boolean => familyOf(name) === familyOf(other)
const familyOf = (name: string): string => name.slice(0, name.search(/[-\d:@]|$/))
