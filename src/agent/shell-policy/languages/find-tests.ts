/**
 * Evaluates the tests of find for a file, as far as its name and place decide them. Other tests may hold or not. An
 * action gets every file for which the tests before it may hold.
 */

import { canMatch, isKnown, type Field } from '#agent/path-policy/field.ts'
import { toGlob } from '#agent/path-policy/judge-path.ts'

/** A file that find may reach: its path as find prints it, and its depth below the start. */
export type FoundFile = { readonly path: string; readonly depth: number; readonly isDirectory: boolean }

/** The results that a test can have. */
type Truth = { readonly yes: boolean; readonly no: boolean }
const maybe: Truth = { yes: true, no: true }
const always: Truth = { yes: true, no: false }
const toTruth = (isTrue: boolean): Truth => ({ yes: isTrue, no: !isTrue })

type State = { at: number; readonly reached: Set<number> }

const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1)

function matchGlob(pattern: Field, text: string, ignoresCase: boolean): Truth {
  if (!isKnown(pattern)) return maybe
  const [glob, subject] = ignoresCase ? [pattern.toLowerCase(), text.toLowerCase()] : [pattern, text]
  const matches = canMatch(toGlob(glob), subject)
  // A class of characters matches at most what a wildcard does.
  return /[[\\]/.test(pattern) ? { yes: matches, no: true } : toTruth(matches)
}

function evaluateTest(name: string, value: Field, file: FoundFile): Truth {
  switch (name.replace(/^-i(?=name|path|wholename)/, '-')) {
    case '-name':
      return matchGlob(value, nameOf(file.path), name === '-iname')
    case '-path':
    case '-wholename':
      return matchGlob(value, file.path, name.startsWith('-i'))
    case '-maxdepth':
      return /^\d+$/.test(value) ? toTruth(file.depth <= Number(value)) : maybe
    case '-mindepth':
      return /^\d+$/.test(value) ? toTruth(file.depth >= Number(value)) : maybe
    case '-type':
      return file.isDirectory === (value === 'd') ? maybe : toTruth(value.includes(',') || value === 'l')
    default:
      return maybe
  }
}

/** `arity` tells how many words a test or an action takes. Returns the positions of the actions that get the file. */
export function listActionsFor(
  args: readonly Field[],
  from: number,
  file: FoundFile,
  arity: (word: Field, at: number) => number,
): { readonly actions: ReadonlySet<number>; readonly isPrinted: boolean } {
  const state: State = { at: from, reached: new Set() }
  const peek = (): Field => args[state.at] ?? ''

  function evaluateList(isReached: boolean): Truth {
    let left = evaluateOr(isReached)
    while (peek() === ',') {
      state.at++
      left = evaluateOr(isReached)
    }
    return left
  }
  function evaluateOr(isReached: boolean): Truth {
    let left = evaluateAnd(isReached)
    while (/^-or?$/.test(peek())) {
      state.at++
      const right = evaluateAnd(isReached && left.no)
      left = { yes: left.yes || right.yes, no: left.no && right.no }
    }
    return left
  }
  function evaluateAnd(isReached: boolean): Truth {
    let left = evaluateOne(isReached)
    while (state.at < args.length && !/^(\)|,|-or?)$/.test(peek())) {
      if (/^-a(nd)?$/.test(peek())) state.at++
      const right = evaluateOne(isReached && left.yes)
      left = { yes: left.yes && right.yes, no: left.no || right.no }
    }
    return left
  }
  function evaluateOne(isReached: boolean): Truth {
    const at = state.at++
    const word = args[at] ?? ''
    if (word === '!' || word === '-not') {
      const { yes, no } = evaluateOne(isReached)
      return { yes: no, no: yes }
    }
    if (word === '(') {
      const inner = evaluateList(isReached)
      state.at++
      return inner
    }
    const taken = arity(word, at)
    state.at += taken
    if (isReached) state.reached.add(at)
    return evaluateTest(word, args[at + 1] ?? '', file)
  }

  const result = from < args.length ? evaluateList(true) : always
  return { actions: state.reached, isPrinted: result.yes }
}
