/** What is known of a model. What is not known is absent: nothing here is a guess. */

export type Rates = {
  readonly input: number
  readonly output: number
  readonly cachedRead: number
  /** For the shortest time that the provider offers. */
  readonly cachedWrite: number
}
/** `above`: other prices for a whole call whose prompt is longer than so many tokens, the shortest first. */
export type Prices = Rates & { readonly above?: readonly (Rates & { readonly tokens: number })[] }

export type ModelFacts = {
  /** Tokens of prompt and answer together. */
  readonly contextWindow?: number
  /** Tokens of one answer. */
  readonly maxOutput?: number
  /** USD per million tokens. */
  readonly prices?: Prices
  /** It sees images. */
  readonly images?: boolean
  /** It thinks before it speaks. */
  readonly reasoning?: boolean
  readonly tools?: boolean
  /** It takes a temperature. */
  readonly temperature?: boolean
  /** Its provider keeps the beginning of a prompt, by itself or where it is marked. */
  readonly caching?: boolean
  /** Efforts that it knows. */
  readonly efforts?: readonly string[]
  /** It decides itself how long to think; in the Anthropic dialect that is asked for in another way. */
  readonly adaptive?: boolean
  /** Its knowledge ends here: 2025-08 or 2025-08-31. */
  readonly knowledge?: string
  /** Its provider has announced its end. */
  readonly deprecated?: boolean
}

/** Who says so, the one that is believed most first. */
export type FactSource = 'settings' | 'provider' | 'models.dev' | 'built-in' | 'probe'

/** By the model's own name, as its provider writes it. */
export type ModelTable = Readonly<Record<string, ModelFacts>>
