/** The public catalog models.dev, `GET /api.json`: providers with their models. Prices are USD per million tokens. */

import type { Facts, ModelTable, Prices, Rates } from './facts.ts'
import { amountIn, type Document, flagIn, listIn, objectIn, present, tokensIn } from './read.ts'

/** The models of one provider, by its name there. Undefined when it is not in the document. */
export function readModelsDev(document: unknown, provider: string): ModelTable | undefined {
  const models = objectIn(objectIn(objectIn(document)[provider])['models'])
  const rows = Object.entries(models).map(([id, row]) => [id, factsOf(objectIn(row))] as const)
  return rows.length ? Object.fromEntries(rows) : undefined
}

function factsOf(row: Document): Facts {
  const limit = objectIn(row['limit'])
  const input = objectIn(row['modalities'])['input']
  const cost = objectIn(row['cost'])
  return present<Facts>({
    contextWindow: tokensIn(limit['context']),
    maxOutput: tokensIn(limit['output']),
    prices: pricesOf(cost),
    images: Array.isArray(input) ? input.includes('image') : undefined,
    reasoning: flagIn(row['reasoning']),
    tools: flagIn(row['tool_call']),
    temperature: flagIn(row['temperature']),
    caching: amountIn(cost['cache_read']) === undefined ? undefined : true,
    efforts: effortsOf(row['reasoning_options']),
    knowledge: typeof row['knowledge'] === 'string' ? row['knowledge'].slice(0, 10) : undefined,
    deprecated: row['status'] === 'deprecated' ? true : undefined,
  })
}

function pricesOf(cost: Document): Prices | undefined {
  const rates = ratesOf(cost)
  if (!rates) return undefined
  const above = tiersOf(cost).toSorted((a, b) => a.tokens - b.tokens)
  return { ...rates, ...(above.length && { above }) }
}

function ratesOf(cost: Document): Rates | undefined {
  const input = amountIn(cost['input'])
  const output = amountIn(cost['output'])
  if (input === undefined || output === undefined) return undefined
  return {
    input,
    output,
    cachedRead: amountIn(cost['cache_read']) ?? input,
    cachedWrite: amountIn(cost['cache_write']) ?? input,
  }
}

/** Tiers by the length of the prompt; the field of before stands for the same where there are none. */
function tiersOf(cost: Document): readonly NonNullable<Prices['above']>[number][] {
  const tiers = listIn(cost['tiers']).map(objectIn)
  const rows: readonly (readonly [tokens: unknown, rates: Document])[] = tiers.length
    ? tiers.flatMap((row) => {
        const { type, size } = objectIn(row['tier'])
        return type === 'context' ? [[size, row] as const] : []
      })
    : [[200_000, objectIn(cost['context_over_200k'])]]
  return rows.flatMap(([size, row]) => {
    const [tokens, rates] = [tokensIn(size), ratesOf(row)]
    return tokens !== undefined && rates ? [{ tokens, ...rates }] : []
  })
}

/** With a switch beside the efforts, thinking can be turned off as well. */
function effortsOf(options: unknown): readonly string[] | undefined {
  const rows = listIn(options).map(objectIn)
  const values = listIn(rows.find(({ type }) => type === 'effort')?.['values']).filter((one) => typeof one === 'string')
  if (!values.length) return undefined
  return rows.some(({ type }) => type === 'toggle') && !values.includes('none') ? ['none', ...values] : values
}
