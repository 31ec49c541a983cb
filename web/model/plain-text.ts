/** Turns Markdown into words that can be read aloud. */

const maxChars = 20_000

/** Code, diagrams and addresses are left out. */
export const toPlainText = (markdown: string): string =>
  markdown
    .slice(0, maxChars)
    .replaceAll(/^(`{3,}|~{3,})[^\n]*\n[\s\S]*?(?:^\1[^\n]*$|(?![\s\S]))/gm, ' ')
    .replaceAll(/!\[([^\]]{0,500})\]\([^)]{0,2000}\)/g, '$1')
    .replaceAll(/\[([^\]]{0,500})\]\([^)]{0,2000}\)/g, '$1')
    .replaceAll(/https?:\/\/\S+/g, ' ')
    .replaceAll(/^[ \t]*(?:#{1,6}|>|[-*+]|\d{1,3}[.)])[ \t]+/gm, '')
    .replaceAll(/^[ \t]*\|?(?:[ \t]*:?-{3,}:?[ \t]*\|?)+$/gm, '')
    .replaceAll(/[*_~`|]+/g, ' ')
    .replaceAll(/[ \t]+/g, ' ')
    .replaceAll(/\s*\n\s*/g, '\n')
    .trim()

/** Browsers stop in the midst of long texts, so they get sentences. */
export const splitSentences = (text: string): readonly string[] =>
  (text.match(/[^.!?…\n]{1,300}[.!?…]*\s*/g) ?? []).map((part) => part.trim()).filter(Boolean)
