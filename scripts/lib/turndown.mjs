// Turndown, which html-to-markdown of the shell uses, tries at its import whether there is a DOM. Each error that it catches
// there makes the engine read the whole bundle once more, for the lines of its stack: as long as compiling it, in each isolate.

const trials = /function (?:canParseHTMLNatively|shouldUseActiveX)\(\) \{\n/g

/** Asks whether there is a document before it tries. */
export function withoutTrials(source) {
  if (source.match(trials)?.length !== 2) throw new Error('Turndown looks for a DOM in another way than is known here.')
  return source.replace(trials, "$&  if (typeof document === 'undefined') return false;\n")
}
