/** Words as frequent as in a language: rank r occurs with a probability of 1/r. The same seed gives the same text. */

const vocabulary = 60_000
const consonants = [
  'b',
  'd',
  'f',
  'g',
  'k',
  'l',
  'm',
  'n',
  'p',
  'r',
  's',
  't',
  'v',
  'z',
  'br',
  'dr',
  'kl',
  'pr',
  'st',
  'tr',
]
// No e and no y at the end of a word: the stemmer would touch them.
const vowels = ['a', 'o', 'u']

const syllable = (n: number): string =>
  (consonants[n % consonants.length] ?? '') + (vowels[Math.floor(n / consonants.length) % vowels.length] ?? '')
const syllables = consonants.length * vowels.length

/** The word of a rank from 1 on: common words are short. */
export const wordOf = (rank: number): string => {
  let word = ''
  for (let rest = rank; rest > 0; rest = Math.floor(rest / syllables)) word = syllable(rest % syllables) + word
  return `${word}n`
}

const words = Array.from({ length: vocabulary }, (_, n) => wordOf(n + 1))

const cumulative = ((): Float64Array => {
  const sums = new Float64Array(vocabulary)
  let sum = 0
  for (let rank = 1; rank <= vocabulary; rank++) {
    sum += 1 / rank
    sums[rank - 1] = sum
  }
  return sums.map((value) => value / sum)
})()

/** mulberry32: small, fast, good enough for text. */
export const randomFrom = (seed: number): (() => number) => {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}

const rankAt = (share: number): number => {
  let [low, high] = [0, vocabulary - 1]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((cumulative[middle] ?? 1) < share) low = middle + 1
    else high = middle
  }
  return low
}

/** A text of about so many characters. */
export const textOf = (random: () => number, characters: number): string => {
  let text = ''
  while (text.length < characters) text += `${words[rankAt(random())] ?? ''} `
  return text.trimEnd()
}
