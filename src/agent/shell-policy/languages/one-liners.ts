/**
 * Recognises code on a command line that only computes and prints: every name in it is on a short list, and no listed
 * name reaches files, programs or the network.
 */

const pythonNames = new Set(
  'import from as print len str int float list dict set tuple sorted sum min max range enumerate zip map filter any all abs round repr type isinstance bool True False None for in if else elif and or not is lambda return while break continue pass json math datetime time statistics collections itertools sys version version_info stdin stdout stderr read readline readlines loads load dumps indent sort_keys ensure_ascii keys values items get join split splitlines strip lstrip rstrip lower upper title replace startswith endswith append extend count index sort reverse reversed add pi sqrt floor ceil log sin cos now today date isoformat strftime argv maxsize platform end sep write Counter defaultdict most_common mean median key value name names item line lines data obj result total row rows word words text num nums left right'.split(
    ' ',
  ),
)
const javaScriptNames = new Set(
  'console log JSON stringify parse process version versions node platform arch const let if else for of in return true false null undefined typeof length map filter reduce join split slice trim toFixed toString toUpperCase toLowerCase Math max min floor ceil round sqrt PI Number String Boolean Date now toISOString keys values entries Object includes startsWith endsWith require name dependencies devDependencies scripts engines main type uptime pid'.split(
    ' ',
  ),
)

/** Removes string contents; undefined when a string does not end or is code itself. */
function removeStrings(code: string, prefixes: RegExp): string | undefined {
  let outside = ''
  for (let at = 0; at < code.length; at++) {
    const char = code[at] ?? ''
    if (char === '`' || char === '\\') return undefined
    if (char === '#') return undefined
    if (char !== '"' && char !== "'") {
      outside += char
      continue
    }
    if (prefixes.test(outside)) return undefined
    const end = code.indexOf(char, at + 1)
    if (end === -1 || code.slice(at, end).includes('\\') || code.slice(at, end).includes('\n')) return undefined
    outside += '""'
    at = end
  }
  return outside
}

const hasOnlyAllowedNames = (outside: string, allowed: ReadonlySet<string>): boolean =>
  (outside.match(/[A-Za-z_$\u0080-\uFFFF][\w$\u0080-\uFFFF]*/g) ?? []).every(
    (name) => allowed.has(name) || /^[a-zA-Z]$/.test(name),
  )

export function isHarmlessPython(code: string): boolean {
  if (code.length > 2000) return false
  // A prefix makes a string code (f) or changes its end (r).
  const outside = removeStrings(code, /[A-Za-z]$/)
  return (
    outside !== undefined &&
    hasOnlyAllowedNames(outside, pythonNames) &&
    !/\bfrom\s+(?!json|math|datetime|collections|itertools|statistics)/.test(outside)
  )
}

export function isHarmlessJavaScript(code: string): boolean {
  if (code.length > 2000 || /\[\s*["']|\bconstructor\b/.test(code) || code.includes('//') || code.includes('/*'))
    return false
  const outside = removeStrings(code, /(?!)/)
  if (outside === undefined || !hasOnlyAllowedNames(outside, javaScriptNames)) return false
  const requireCalls = code.match(/\brequire\b[^)]*\)?/g) ?? []
  return (
    requireCalls.every((call) => /^require\((['"])\.{1,2}\/[\w./-]*\.json\1\)$/.test(call)) &&
    !/\[[^\]\d]/.test(outside)
  )
}
