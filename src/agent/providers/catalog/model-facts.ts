/** Defines the facts about a model: window, limits, prices, abilities. An unknown fact is absent. */

/** USD per million tokens. */
export type Rates = {
  readonly input: number
  readonly output: number
  readonly cachedRead: number
  /** For the shortest cache lifetime that the provider offers. */
  readonly cachedWrite: number
}
/** `above`: rates for a whole call whose prompt is longer than `tokens`; ascending. */
export type Prices = Rates & { readonly above?: readonly (Rates & { readonly tokens: number })[] }

/** The price of OpenAI and Anthropic. Providers that report costs have included it. */
export const defaultSearchPrice = 10

export type ModelFacts = {
  /** Tokens of prompt plus answer. */
  readonly contextWindow?: number
  /** Maximum tokens of one answer. */
  readonly maxOutput?: number
  /** USD per million tokens. */
  readonly prices?: Prices
  /** USD per thousand web searches of the provider itself. */
  readonly searchPrice?: number
  /** Accepts images. */
  readonly images?: boolean
  /** Accepts sound. */
  readonly audio?: boolean
  /** Accepts PDF files. */
  readonly pdf?: boolean
  /** Reasons before it answers. */
  readonly reasoning?: boolean
  /** Accepts tools. */
  readonly tools?: boolean
  /** Accepts a temperature. */
  readonly temperature?: boolean
  /** The provider caches prompt prefixes, automatically or at cache marks. */
  readonly caching?: boolean
  /** Supported reasoning efforts, weakest first. */
  readonly efforts?: readonly string[]
  /** The model chooses its own thinking budget; the Anthropic dialect requests that with another field. */
  readonly adaptive?: boolean
  /** Knowledge cutoff: 2025-08 or 2025-08-31. */
  readonly knowledge?: string
  /** The provider has announced its retirement. */
  readonly deprecated?: boolean
}

/** Sources of facts, in descending precedence. */
export type FactSource = 'settings' | 'provider' | 'models.dev' | 'built-in' | 'probe'

/** Keyed by the model name as its provider writes it. */
export type ModelTable = Readonly<Record<string, ModelFacts>>
