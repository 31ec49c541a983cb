/** Splits code into tokens, in the languages that answers use most. Loaded when the first code in one of them is shown. */

import { parse, type ParseOptions } from 'sugar-high/core'
import * as css from 'sugar-high/lang/css'
import * as go from 'sugar-high/lang/go'
import * as html from 'sugar-high/lang/html'
import * as javascript from 'sugar-high/lang/javascript'
import * as json from 'sugar-high/lang/json'
import * as python from 'sugar-high/lang/python'
import * as rust from 'sugar-high/lang/rust'
import * as shell from 'sugar-high/lang/shell'
import * as sql from 'sugar-high/lang/sql'
import * as typescript from 'sugar-high/lang/typescript'
import * as yaml from 'sugar-high/lang/yaml'
import type { Language } from './languages.ts'

/** The declared types of the languages with a tokenizer of their own do not fit those of `parse`. */
const options: Readonly<Record<Language, object>> = {
  css,
  go,
  html,
  javascript,
  json,
  python,
  rust,
  shell,
  sql,
  typescript,
  yaml,
}

/** `kind` is empty for text in the colour of its surroundings. */
export type CodeToken = { readonly kind: string; readonly text: string }

const plain = new Set(['identifier', 'sign', 'space', 'break', 'property', 'jsxliterals'])

/** The texts of all tokens are the code. */
export function highlight(code: string, language: Language): readonly CodeToken[] {
  const tokens: { kind: string; text: string }[] = []
  const add = (kind: string, text: string) => {
    const last = tokens.at(-1)
    if (last?.kind === kind) last.text += text
    else tokens.push({ kind, text })
  }
  for (const { index, tokens: line } of parse(code, options[language] as ParseOptions).lines) {
    if (index > 0) add('', '\n')
    for (const { type, value } of line) add(plain.has(type) ? '' : type, value)
  }
  return tokens
}
