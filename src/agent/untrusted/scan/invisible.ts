/**
 * Finds characters that a reader cannot see or that change the order of others. Joiners and marks of direction are
 * allowed where a script or an emoji needs them.
 */

/** Every character that is looked at. Most texts have none, so one search answers for them. */
const candidates =
  /[\u034F\u061C\u115F\u1160\u180E\u200B-\u200F\u202A-\u202E\u2060-\u206F\u3164\uFEFF\uFFA0\uFFF9-\uFFFB]|[\uFE00-\uFE0F]{2}|[\u{E0000}-\u{E0FFF}]/u

const eachCandidate = new RegExp(`${candidates.source}`, 'gu')

/** Scripts whose spelling uses the joiners U+200C and U+200D. */
const joiningLetter =
  /[\p{Script=Arabic}\p{Script=Syriac}\p{Script=Nko}\p{Script=Mongolian}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Gurmukhi}\p{Script=Gujarati}\p{Script=Oriya}\p{Script=Tamil}\p{Script=Telugu}\p{Script=Kannada}\p{Script=Malayalam}\p{Script=Sinhala}\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Tibetan}]/u
const emojiPart = /[\p{Extended_Pictographic}\p{Emoji_Modifier}\u{1F1E6}-\u{1F1FF}]|\u2640|\u2642|\u2695|\uFE0F/u
const rightToLeftLetter = /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u
/** Scripts that are written without spaces and use U+200B between words. */
const unspacedLetter = /[\p{Script=Thai}\p{Script=Khmer}\p{Script=Lao}\p{Script=Myanmar}]/u
/** A flag of a region is an emoji of these characters: black flag, tags, end of tags. */
const regionFlag = /\u{1F3F4}[\u{E0061}-\u{E007A}\u{E0030}-\u{E0039}]{2,6}\u{E007F}/gu

export type InvisibleCharacter = { readonly at: number; readonly length: number }

/** Returns the places of all invisible characters that have no place in the text, in their order. */
export function findInvisible(text: string): readonly InvisibleCharacter[] {
  if (!candidates.test(text)) return []
  const flags = new Set<number>()
  for (const flag of text.matchAll(regionFlag))
    for (let at = flag.index; at < flag.index + flag[0].length; at++) flags.add(at)
  const isRightToLeft = rightToLeftLetter.test(text)
  const found: InvisibleCharacter[] = []
  for (const { 0: character, index } of text.matchAll(eachCandidate)) {
    if (flags.has(index) || isNeeded(text, index, character, isRightToLeft)) continue
    found.push({ at: index, length: character.length })
  }
  return found
}

/** Whether the text around a character needs it, by the character. All others have no place anywhere. */
const needs: readonly (readonly [RegExp, (before: string, after: string) => boolean])[] = [
  [/\u200B/, (before, after) => unspacedLetter.test(before) && unspacedLetter.test(after)],
  [/\u200C/, (before) => joiningLetter.test(before)],
  [/\u200D/, (before, after) => joiningLetter.test(before) || (emojiPart.test(before) && emojiPart.test(after))],
  [/[\u{E0100}-\u{E01EF}]/u, (before) => /\p{Script=Han}/u.test(before)], // Variants of ideographs in names.
]

function isNeeded(text: string, at: number, character: string, isRightToLeft: boolean): boolean {
  if (character === '\uFEFF') return at === 0
  if (/[\u200E\u200F\u061C]/.test(character)) return isRightToLeft
  const need = needs.find(([pattern]) => pattern.test(character))?.[1]
  return need !== undefined && need(characterBefore(text, at), characterAt(text, at + character.length))
}

const characterAt = (text: string, at: number): string => {
  const code = text.codePointAt(at)
  return code === undefined ? '' : String.fromCodePoint(code)
}

function characterBefore(text: string, at: number): string {
  const unit = text.charCodeAt(at - 1)
  return at <= 0 ? '' : characterAt(text, unit >= 0xdc00 && unit <= 0xdfff ? at - 2 : at - 1)
}

/** Removes the invisible characters that have no place in the text. */
export function removeInvisible(text: string): string {
  let shown = ''
  let from = 0
  for (const { at, length } of findInvisible(text)) {
    shown += text.slice(from, at)
    from = at + length
  }
  return shown + text.slice(from)
}
