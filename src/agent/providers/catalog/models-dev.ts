/** Parses the public catalog models.dev (`GET /api.json`): providers and their models, prices in USD per million tokens. */

import type { ModelFacts, ModelTable, Prices, Rates } from './model-facts.ts'
import { asUsd, type CatalogObject, asBoolean, asList, asObject, omitUndefined, asTokenCount } from './json-values.ts'

/** Parses the models of one provider, by its models.dev name. Undefined when the document has no such provider. */
export function parseModelsDev(document: unknown, provider: string): ModelTable | undefined {
  const models = asObject(asObject(asObject(document)[provider])['models'])
  const rows = Object.entries(models).map(([id, row]) => [id, parseFacts(asObject(row))] as const)
  return rows.length ? Object.fromEntries(rows) : undefined
}

function parseFacts(row: CatalogObject): ModelFacts {
  const limit = asObject(row['limit'])
  const input = asObject(row['modalities'])['input']
  const cost = asObject(row['cost'])
  return omitUndefined<ModelFacts>({
    contextWindow: asTokenCount(limit['context']),
    maxOutput: asTokenCount(limit['output']),
    prices: parsePrices(cost),
    images: Array.isArray(input) ? input.includes('image') : undefined,
    audio: Array.isArray(input) ? input.includes('audio') : undefined,
    pdf: Array.isArray(input) ? input.includes('pdf') : undefined,
    reasoning: asBoolean(row['reasoning']),
    tools: asBoolean(row['tool_call']),
    temperature: asBoolean(row['temperature']),
    caching: asUsd(cost['cache_read']) === undefined ? undefined : true,
    efforts: parseEfforts(row['reasoning_options']),
    knowledge: typeof row['knowledge'] === 'string' ? row['knowledge'].slice(0, 10) : undefined,
    deprecated: row['status'] === 'deprecated' ? true : undefined,
  })
}

function parsePrices(cost: CatalogObject): Prices | undefined {
  const rates = parseRates(cost)
  if (!rates) return undefined
  const above = parsePriceTiers(cost).toSorted((a, b) => a.tokens - b.tokens)
  return { ...rates, ...(above.length && { above }) }
}

function parseRates(cost: CatalogObject): Rates | undefined {
  const input = asUsd(cost['input'])
  const output = asUsd(cost['output'])
  if (input === undefined || output === undefined) return undefined
  return {
    input,
    output,
    cachedRead: asUsd(cost['cache_read']) ?? input,
    cachedWrite: asUsd(cost['cache_write']) ?? input,
  }
}

/** Reads price tiers by prompt length; without `tiers`, the older field `context_over_200k`. */
function parsePriceTiers(cost: CatalogObject): readonly NonNullable<Prices['above']>[number][] {
  const tiers = asList(cost['tiers']).map(asObject)
  const rows: readonly (readonly [tokens: unknown, rates: CatalogObject])[] = tiers.length
    ? tiers.flatMap((row) => {
        const { type, size } = asObject(row['tier'])
        return type === 'context' ? [[size, row] as const] : []
      })
    : [[200_000, asObject(cost['context_over_200k'])]]
  return rows.flatMap(([size, row]) => {
    const [tokens, rates] = [asTokenCount(size), parseRates(row)]
    return tokens !== undefined && rates ? [{ tokens, ...rates }] : []
  })
}

/** Adds the effort `none` when a toggle can turn reasoning off. */
function parseEfforts(options: unknown): readonly string[] | undefined {
  const rows = asList(options).map(asObject)
  const values = asList(rows.find(({ type }) => type === 'effort')?.['values']).filter((one) => typeof one === 'string')
  if (!values.length) return undefined
  return rows.some(({ type }) => type === 'toggle') && !values.includes('none') ? ['none', ...values] : values
}
