/** Generates text whose words are as frequent as in a language: rank r has the probability 1/r. Seeds repeat it. */

const vocabulary = 60_000
const split = (text: string): readonly string[] => text.split(' ')
// The cost of a trigram index depends on the number of different trigrams, so it is that of a natural language.
const onsets = split('b c d f g h j k l m n p r s t v w z br ch cl dr fl gr pl pr sh sp st tr')
const vowels = split('a e i o u ai ea ou')
const codas = split('b ck d ft g k l lm m n nd nk nt p r rd rk rt st t')

const syllables = onsets.length * vowels.length * codas.length
const syllable = (n: number): string => {
  const [onset, rest] = [n % onsets.length, Math.floor(n / onsets.length)]
  return `${onsets[onset]}${vowels[rest % vowels.length]}${codas[Math.floor(rest / vowels.length) % codas.length]}`
}

/** Returns the word of a rank from 1. Common words are short. The factors make neighbouring ranks dissimilar. */
export const wordOf = (rank: number): string => {
  if (rank <= 400) return syllable((rank * 1237) % syllables)
  const spread = (rank * 104_729) % (syllables * syllables)
  return syllable(Math.floor(spread / syllables)) + syllable(spread % syllables)
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
