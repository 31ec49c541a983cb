/** Finds models by words and abilities, favourites first, and the nearest names of one that does not exist. */

export type ModelFacts = {
  readonly id: string
  readonly provider: string
  readonly context_window: number
  readonly prices: { readonly input: number; readonly output: number } | null
  readonly abilities: Readonly<Record<string, boolean | null>>
  readonly efforts: readonly string[] | null
}

/** The names of the API, in the order in which the page shows them. */
export const abilities = ['images', 'audio', 'reasoning', 'tools'] as const
export type Ability = (typeof abilities)[number]

export type Wish = {
  readonly words: string
  readonly abilities: ReadonlySet<string>
  readonly favourites: ReadonlySet<string>
}

export function findModels<Model extends ModelFacts>(models: readonly Model[], wish: Wish): readonly Model[] {
  const words = wish.words.toLocaleLowerCase().split(/\s+/).filter(Boolean)
  const isWished = ({ id, abilities: able }: ModelFacts) =>
    words.every((word) => id.toLocaleLowerCase().includes(word)) &&
    [...wish.abilities].every((name) => able[name] === true)
  const found = models.filter(isWished)
  const isFavourite = ({ id }: ModelFacts) => wish.favourites.has(id)
  return [...found.filter(isFavourite), ...found.filter((one) => !isFavourite(one))]
}

const maxNearest = 3

/** By the pairs of letters that they share. */
export function findNearest(models: readonly Pick<ModelFacts, 'id'>[], words: string): readonly string[] {
  const asked = pairsOf(words)
  if (!asked.size) return []
  return models
    .map(({ id }) => ({ id, shared: share(asked, pairsOf(id)) }))
    .filter(({ shared }) => shared > 0.3)
    .toSorted((one, other) => other.shared - one.shared)
    .slice(0, maxNearest)
    .map(({ id }) => id)
}

function pairsOf(text: string): ReadonlySet<string> {
  const letters = text.toLocaleLowerCase().replace(/[^\p{L}\p{N}]/gu, '')
  return new Set(Array.from({ length: Math.max(0, letters.length - 1) }, (_, at) => letters.slice(at, at + 2)))
}

const share = (one: ReadonlySet<string>, other: ReadonlySet<string>): number =>
  (2 * [...one].filter((pair) => other.has(pair)).length) / (one.size + other.size || 1)
