/** Chooses what `npm test` runs: the first rows of a long table and some of the others by a seed, and an eighth of the tests that take turns. */

export function chooseRows<Row>(count: number, others: number, rows: readonly Row[], seed: number): readonly Row[] {
  const left = rows.slice(count)
  let state = (seed % 2_147_483_646) + 1
  /** A linear congruential generator. Its first numbers follow the seed too closely. */
  const random = () => (state = (state * 48_271) % 2_147_483_647)
  for (let n = 0; n < 8; n++) random()
  const chosen = Array.from({ length: Math.min(others, left.length) }, () => left.splice(random() % left.length, 1)[0]!)
  return [...rows.slice(0, count), ...chosen]
}

/** Eight seeds that follow each other choose every name once. */
export function isInTurn(name: string, seed: number): boolean {
  let hash = 0
  for (const character of name) hash = (hash * 31 + (character.codePointAt(0) ?? 0)) % 2_147_483_647
  return (hash + seed) % 8 === 0
}
