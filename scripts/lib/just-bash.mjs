// Patches the source of just-bash where its API offers no hook. Minified names are matched by patterns, and a pattern that
// no longer matches stops the build.

const changed = (name) => new Error(`just-bash has changed: see ${name} in scripts/lib/just-bash.mjs`)

function found(source, pattern, name) {
  const match = pattern.exec(source)
  if (!match) throw changed(name)
  return match
}

// After `exit` or a limit, just-bash reports the variables from the start of the script and loses its working directory.
// The patch reports the final state, and keeps it for an EXIT trap.
function reportFinalState(source) {
  const start = source.search(/let \w+=\{\.\.\.this\.state,env:/)
  const end = source.indexOf('.deactivate()}', start)
  const state = /let (\w+)=\{\.\.\.this\.state,env:/.exec(source)?.[1]
  const copy = /env:(\w+)\(this\.ctx\.state\.env\)/.exec(source)?.[1]
  const scope = source.slice(start, end)
  const stale = /env:\w+\(this\.state\.env,\w+\.env\)/g
  if (start < 0 || end < 0 || !state || !copy || (scope.match(stale)?.length ?? 0) < 5)
    throw changed(reportFinalState.name)
  return source.slice(0, start) + scope.replaceAll(stale, `env:${copy}(${state}.env)`) + source.slice(end)
}

// An aborted script (a timeout) loses its output, unlike other errors. The patch adds the output to this error too.
function keepAbortedOutput(source) {
  const rethrow =
    /throw (\w) instanceof \w+&&(\1\.prependOutput\((\w)\.stdout,\3\.stderr\),\1\}return\{\.\.\.\3\.build\()/
  found(source, rethrow, keepAbortedOutput.name)
  return source.replace(rethrow, 'throw $1.prependOutput&&$2')
}

// `$(( $(f) + 1 ))` ran its command in a shell without functions and variables. The patch expands it like any other.
function expandInArithmetic(source) {
  const [, parse] = found(
    source,
    /let [\w$]+=([\w$]+)\([\w$]+,\{maxHeredocSize:this\.limits\.maxHeredocSize\}\)/,
    'parse',
  )
  const [, expand] = found(
    source,
    /case"DoubleQuoted":\{let \w+=\[\];for\(let \w+ of \w+\.parts\)\w+\.push\(await ([\w$]+)\(\w+,\w+,!0\)\)/,
    'expand',
  )
  const value = (context, node) =>
    `(await ${expand}(${context},{type:"CommandSubstitution",body:${parse}(${node}.command,{maxHeredocSize:${context}.limits.maxHeredocSize}),legacy:!1})).trim()`
  const number =
    /case"ArithCommandSubst":\{if\((\w)\.execFn\)\{let (\w)=await \1\.execFn\((\w)\.command.*?return Number\.parseInt\((\w),10\)\|\|0\}return 0\}/
  const text =
    /case"ArithCommandSubst":return (\w)\.execFn\?\(await \1\.execFn\((\w)\.command,\{signal:\1\.state\.signal\}\)\)\.stdout\.trim\(\):"0";/
  const [, context, , node] = found(source, number, expandInArithmetic.name)
  const [, otherContext, otherNode] = found(source, text, expandInArithmetic.name)
  return source
    .replace(number, () => `case"ArithCommandSubst":return Number.parseInt(${value(context, node)},10)||0;`)
    .replace(text, () => `case"ArithCommandSubst":return ${value(otherContext, otherNode)};`)
}

// %g cut zeros off the exponent (1e+20 became 1e+2) and wrote 0.00001 without one; awk wrote one digit of the exponent.
function keepExponents(source) {
  const cut = /([\w$])\.includes\("\."\)&&\(\1=\1\.replace\(\/\\\.\?0\+\$\/,""\)\.replace\(\/\\\.\?0\+e\/,"e"\)\),/g
  const general = /(\|\|\()([\w$])=\2\.replace\(\/\\\.\?0\+\$\/,""\),\2=\2\.replace\(\/\\\.\?0\+e\/,"e"\)\)/g
  const scientific = /let ([\w$])=([\w$])\.toExponential\(([\w$])\);/g
  const rounded = /(==="g"\?\([\w$]=)([\w$])\.toPrecision\(([\w$])\|\|1\),/
  for (const pattern of [cut, general, scientific, rounded]) found(source, pattern, keepExponents.name)
  const digits = '.replace(/e([+-])(\\d)$/,"e$10$2")'
  const trim = (text) =>
    `${text}.includes("e")?${text}.replace(/\\.?0+e/,"e")${digits}:${text}.includes(".")?${text}.replace(/\\.?0+$/,""):${text}`
  return source
    .replace(cut, (_, text) => `${text}=${trim(text)},`)
    .replace(general, (_, open, text) => `${open}${text}=${trim(text)})`)
    .replace(rounded, '$1(Math.abs($2)<1e-4&&$2!==0?$2.toExponential(Math.max($3,1)-1):$2.toPrecision($3||1)),')
    .replace(scientific, (_, text, number, places) => `let ${text}=${number}.toExponential(${places})${digits};`)
}

// Strings in @csv are always quoted.
function quoteCsv(source) {
  const sparing =
    /return (\w)\.includes\(","\)\|\|\1\.includes\('"'\)\|\|\1\.includes\(`\n`\)\|\|\1\.includes\("\\r"\)\?(`"\$\{\1\.replace\(\/"\/g,'""'\)\}"`):\1\}/
  found(source, sparing, quoteCsv.name)
  return source.replace(sparing, 'return $2}')
}

// Reports the output of each statement of the script at once, through `onStatement` of the shell. Keeps the final state
// with its functions, so that a trap can run in it.
function reportStatements(source) {
  const [made] = found(
    source,
    /let \w+=\{fs:this\.fs,commands:this\.commands,limits:this\.limits,executionScope:\w+,exec:/,
    'context',
  )
  const [, script] = found(
    source,
    /let (\w+)=[\w$]+\([\w$]+,\{maxHeredocSize:this\.limits\.maxHeredocSize\}\)/,
    'script',
  )
  const [, state] = found(source, /let (\w+)=\{\.\.\.this\.state,env:/, 'state')
  const [, depth] = found(source, /async execInScope\(\w,\w,\w,(\w),/, 'depth')
  const kept = found(source, /executeStatement:this\.executeStatement\.bind\(this\),/, 'interpreter')[0]
  const [given] = found(source, /=class\{ctx;constructor\((\w),\w\)\{this\.ctx=\{state:/, 'constructor')
  const options = /constructor\((\w),/.exec(given)[1]
  const loop = /(async executeScript\((\w)\)\{.*?(\w)\.appendResult\((\w),[\w$]+\(\4\)\),)/
  const [, , top, , result] = found(source, loop, reportStatements.name)
  const sink = `statementSink:${depth}===0?{script:${script},by:this}:void 0,`
  const keep = `${depth}===0&&(this.finalState=${state});`
  return source
    .replace(made, () => keep + made.replace('fs:', `${sink}fs:`))
    .replace(kept, () => `${kept}statementSink:${options}.statementSink,`)
    .replace(
      loop,
      (all) => `${all}this.ctx.statementSink?.script===${top}&&this.ctx.statementSink.by.onStatement?.(${result}),`,
    )
}

// A script that only computes would never yield, so nothing else would run and no timeout would fire. The patch calls
// `pulse` of the shell before every statement, which may return a promise to wait for.
function yieldToEventLoop(source) {
  const context = /let [\w$]+=\{(?:statementSink:[^,]*\?\{[^}]*\}:void 0,)?fs:this\.fs,commands:this\.commands,/
  const [made] = found(source, context, yieldToEventLoop.name)
  const interpreter = 'executeStatement:this.executeStatement.bind(this),'
  const [, options] = found(source, /=class\{ctx;constructor\((\w),\w\)\{this\.ctx=\{state:/, 'constructor')
  const [statement] = found(source, /async executeStatement\(\w\)\{/, 'statement')
  return source
    .replace(made, () => made.replace('{', '{pulse:this.pulse,'))
    .replace(interpreter, () => `${interpreter}pulse:${options}.pulse,`)
    .replace(statement, () => `${statement}let pulse=this.ctx.pulse?.();if(pulse)await pulse;`)
}

// The text of sed's `a`, `i` and `c` lost its indentation, a line break after a backslash, and the order of two `i`. The
// patch reads the text as GNU sed does. A script of `-f` lost the white space of its lines.
function readTextOfSed(source) {
  const reader = /readTextCommand\((\w),(\w),(\w)\)\{let \w=!1;[^]*?return\{type:([\w$]+)\.TEXT_CMD,value:\1,[^}]*\}\}/
  const [, value, line, column, kinds] = found(source, reader, readTextOfSed.name)
  const split = /(\w)\.startsWith\("__INSERT__"\)\?/
  found(source, split, readTextOfSed.name)
  const insert = /\.appendBuffer\.unshift\((`__INSERT__\$\{\w\.text\}`)\)/
  const append = /case"append":(\w)\.appendBuffer\.push\((\w)\.text\);break;/
  const text = /(parseTextCommand\((\w),\w\)\{let \w=\2\.value,\w=\2\.text)\|\|"";/
  const scriptFile =
    /for\(let (\w) of (\w)\.split\(`\n`\)\)\{let (\w)=\1\.trim\(\);\3&&!\3\.startsWith\("#"\)&&(\w)\.push\(\3\)\}/
  const write = /for\(let (\w) of (\w)\)(\w\(`\$\{\1\}\n`\);if\(\w+=\(\w\|\|\w\)&&\2\.length===0)/
  for (const pattern of [insert, append, text, scriptFile, write]) found(source, pattern, readTextOfSed.name)
  const read = `readTextCommand(${value},${line},${column}){return(${readSedText.toString()})(this,{kind:${kinds},value:${value},line:${line},column:${column}})}`
  return source
    .replace(reader, () => read)
    .replace(split, '$1?.startsWith("__INSERT__")?')
    .replace(insert, '.appendBuffer.push($1)')
    .replace(append, 'case"append":$1.appendBuffer.push($2.text??null);break;')
    .replace(write, 'for(let $1 of $2)$1!==null&&$3')
    .replace(text, '$1;')
    .replace(scriptFile, '$4.push($2.replace(/\\n$/,""));')
}

// Becomes part of the source. `lexer` stands behind the letter of the command. Without a text nothing is added but the
// missing newline of the last line.
function readSedText(lexer, { kind, value, line, column }) {
  const isBlank = (char) => char === ' ' || char === '\t'
  const escapes = { n: '\n', t: '\t', r: '\r', f: '\f', v: '\v', a: '\x07' }
  while (isBlank(lexer.peek())) lexer.advance()
  if (lexer.pos >= lexer.input.length)
    return { type: kind.ERROR, value: "expected \\ after `a', `c' or `i'", line, column }
  if (lexer.peek() === '\\') {
    lexer.advance()
    if (lexer.pos >= lexer.input.length) return { type: kind.TEXT_CMD, value, text: undefined, line, column }
    // The text begins on the next line, or behind the backslash with its white space.
    if (/^[ \t]*\n/.test(lexer.input.slice(lexer.pos))) while (lexer.advance() !== '\n');
  }
  let text = ''
  while (lexer.pos < lexer.input.length && lexer.peek() !== '\n') {
    const char = lexer.advance()
    if (char !== '\\') text += char
    else if (lexer.pos < lexer.input.length) {
      const escaped = lexer.advance()
      text += escapes[escaped] ?? escaped
    }
  }
  return { type: kind.TEXT_CMD, value, text, line, column }
}

// A range of sed read its end on its first line, kept one state for equal ranges of two commands, and never ended when its
// last line had passed. `c` printed its text for each line of a range. The patch selects lines as GNU sed does.
// The text of `c` has its newline also where the last line has none.
function selectLinesOfSed(source) {
  const select =
    /(function [\w$]+\((\w),(\w),(\w),(\w),(\w),(\w)\)\{)if\(!\2\|\|!\2\.start&&!\2\.end\)return!0;[^]*?return ([\w$]+)\(\w,\3,\4,\5,\7\)\}return!0\}/
  const change = /case"change":(\w)\.deleted=!0,\1\.changedText=(\w)\.text;break;/
  const write = /(\w)\.changedText!==void 0&&\((\w\(`\$\{\1\.changedText\}\n`\)),\w=!0\)/
  const [, head, address, line, last, text, states, context, matches] = found(source, select, selectLinesOfSed.name)
  for (const pattern of [change, write]) found(source, pattern, selectLinesOfSed.name)
  const one = `(one)=>${matches}(one,${line},${last},${text},${context})`
  const given = `${address},{line:${line},states:${states},matches:${one}}`
  return source
    .replace(write, '$1.changedText!==void 0&&$2')
    .replace(select, () => `${head}return(${selectSedLine.toString()})(${given})}`)
    .replace(
      change,
      'case"change":$1.deleted=!0;if($2.address?.negated||!$1.rangeStates.get($2.address)?.isOpen)$1.changedText=$2.text;break;',
    )
}

// Becomes part of the source. Tells whether a command applies to the line, and keeps whether its range is open. A range
// that begins with a number begins once, also when a command has read past that line.
function selectSedLine(address, { line, states, matches }) {
  const { start, end } = address ?? {}
  if (end === undefined) return start === undefined || matches(start)
  const isZero = start === 0
  const until = typeof end === 'number' ? end : undefined
  const range = states.get(address) ?? { isOpen: isZero, isUsed: isZero, until }
  states.set(address, range)
  const isWithin = range.until === undefined || line <= range.until
  const isLast = (isFirst) =>
    range.until === undefined ? (!isFirst || end === '$') && matches(end) : line >= range.until
  const begins = () => matches(start) || (typeof start === 'number' && line > start && isWithin && !range.isUsed)
  const wasOpen = range.isOpen
  if (wasOpen) range.isOpen = !isLast(false)
  if (wasOpen && isWithin) return true
  if (!begins()) return false
  range.isUsed = true
  if (end.offset !== undefined) range.until = line + end.offset
  range.isOpen = !isLast(true)
  return true
}

// The replacement of sed's `s` had no `\U`, `\L`, `\u`, `\l`, `\E`, lost the backslash of `\\"` and took `2g` for `g`.
function expandReplacementOfSed(source) {
  const expand =
    /(function [\w$]+\((\w),(\w),(\w)\)\{)let \w="",\w=0;for\(;\w<\2\.length;\)\{if\(\2\[\w\]==="\\\\"[^]*?\+=\2\[\w\],\w\+\+\}return \w\}/
  const escaped =
    /(\(this\.advance\(\),this\.pos<this\.input\.length&&this\.peek\(\)===`\n`\?\((\w)\+=`\n`,this\.advance\(\)\):\2\+=)"\\\\"\)/
  const nth = /&&!(\w)\.global(\)\{let (\w)=0,(\w)=[^]{1,160}?)\3===\4\)/
  const [, head, replacement, match, groups] = found(source, expand, expandReplacementOfSed.name)
  for (const pattern of [escaped, nth]) found(source, pattern, expandReplacementOfSed.name)
  return source
    .replace(expand, () => `${head}return(${expandSedReplacement.toString()})(${replacement},${match},${groups})}`)
    .replace(escaped, (_, before) => `${before}"\\\\\\\\")`)
    .replace(nth, '$2$1.global?$3>=$4:$3===$4)')
}

// Becomes part of the source.
function expandSedReplacement(replacement, match, groups) {
  const escapes = { n: '\n', t: '\t', r: '\r', f: '\f', v: '\v', a: '\x07' }
  const state = { out: '', all: '', next: '' }
  const change = (text, mode) => (/u/i.test(mode) ? text.toUpperCase() : /l/i.test(mode) ? text.toLowerCase() : text)
  const add = (text) => {
    if (text === '') return
    const whole = change(text, state.all)
    const [first = ''] = whole
    state.out += state.next ? change(first, state.next) + whole.slice(first.length) : whole
    state.next = ''
  }
  for (let at = 0; at < replacement.length; at++) {
    const char = replacement[at]
    if (char === '&') add(match)
    else if (char !== '\\' || at + 1 === replacement.length) add(char)
    else {
      const code = replacement[++at]
      if (/\d/.test(code)) add(code === '0' ? match : (groups[code - 1] ?? ''))
      else if (/[ULE]/.test(code)) Object.assign(state, { all: code })
      else if (/[ul]/.test(code)) state.next = code
      else add(escapes[code] ?? code)
    }
  }
  return state.out
}

// `strptime` of jq knew one format, and `strftime` wrote most letters as they were.
function formatTimesOfJq(source) {
  const render = /return\[(\w)\.replace\(\/%Y\/g,String\((\w)\.getUTCFullYear\(\)\)\)[^]*?"%"\)\]/
  const parse =
    /if\((\w)!==[\w$]+\)throw new Error\(`strptime format is not supported: \$\{\1\}`\);let (\w)=[\w$]+\((\w)\);/
  for (const pattern of [render, parse]) found(source, pattern, formatTimesOfJq.name)
  return source
    .replace(render, (_, format, date) => `return[(${renderTime.toString()})(${format},${date})]`)
    .replace(
      parse,
      (_, format, date, text) => `let ${date}=(${parseTime.toString()})(${text},${format},${readDate.toString()});`,
    )
}

// Both become part of the source. Times are UTC.
function renderTime(format, date) {
  const groups = { F: '%Y-%m-%d', T: '%H:%M:%S', R: '%H:%M', D: '%m/%d/%y', c: '%a %b %e %T %Y' }
  const name = (options) => date.toLocaleString('en-US', { timeZone: 'UTC', ...options })
  const pad = (number, length = 2, fill = '0') => String(number).padStart(length, fill)
  const year = date.getUTCFullYear()
  const day = Math.floor((date - Date.UTC(year, 0, 1)) / 86_400_000)
  const [hour, weekday] = [date.getUTCHours(), date.getUTCDay()]
  const renderers = {
    Y: () => String(year),
    y: () => pad(year % 100),
    m: () => pad(date.getUTCMonth() + 1),
    d: () => pad(date.getUTCDate()),
    e: () => pad(date.getUTCDate(), 2, ' '),
    H: () => pad(hour),
    I: () => pad(((hour + 11) % 12) + 1),
    M: () => pad(date.getUTCMinutes()),
    S: () => pad(date.getUTCSeconds()),
    p: () => (hour < 12 ? 'AM' : 'PM'),
    j: () => pad(day + 1, 3),
    U: () => pad(Math.floor((day + 7 - weekday) / 7)),
    s: () => String(Math.floor(date / 1000)),
    u: () => String(weekday || 7),
    w: () => String(weekday),
    A: () => name({ weekday: 'long' }),
    a: () => name({ weekday: 'short' }),
    B: () => name({ month: 'long' }),
    b: () => name({ month: 'short' }),
    h: () => name({ month: 'short' }),
    Z: () => 'UTC',
    z: () => '+0000',
    n: () => '\n',
    t: () => '\t',
    '%': () => '%',
  }
  const whole = format.replace(/%([cFTRD%])/g, (all, letter) => groups[letter] ?? all).replace(/%T/g, groups.T)
  return whole.replace(/%([A-Za-z%])/g, (all, letter) => renderers[letter]?.() ?? all)
}

// Returns undefined when the text has another form. A time has few parts: more would take long to match.
function parseTime(text, format, toDate) {
  const groups = { F: '%Y-%m-%d', T: '%H:%M:%S', R: '%H:%M', D: '%m/%d/%y', c: '%a %b %e %T %Y' }
  const forms = { Y: '[0-9]{4}', j: '[0-9]{1,3}', s: '-?[0-9]{1,12}', p: '[AaPp][Mm]', z: '[+-][0-9]{2}:?[0-9]{2}|Z' }
  for (const letter of 'mdeyHIMS') forms[letter] = ' ?[0-9]{1,2}'
  for (const letter of 'aAbBhZ') forms[letter] = '[A-Za-z]{1,9}'
  const letters = []
  const whole = format.replace(/%([cFTRD%])/g, (all, letter) => groups[letter] ?? all).replace(/%T/g, groups.T)
  const pattern = whole.replace(/%([A-Za-z%])|\s+|[^]/g, (all, letter) => {
    if (letter === '%') return '%'
    if (letter === 'n' || letter === 't' || /^\s/.test(all)) return String.raw`\s*`
    if (letter === undefined) return all.replace(/[^\w\s]/g, String.raw`\$&`)
    if (!forms[letter] || letters.length === 12) throw new Error(`strptime format is not supported: ${format}`)
    letters.push(letter)
    return `(${forms[letter]})`
  })
  const values = new RegExp(`^${pattern.replace(/(?:\\s\*)+/g, String.raw`\s*`)}$`).exec(text)
  return values ? toDate(Object.fromEntries(letters.map((letter, at) => [letter, values[at + 1]]))) : undefined
}

// Becomes part of the source. Returns undefined for a date that the calendar does not have.
function readDate(read) {
  const has = (letter) => read[letter] !== undefined
  const number = (letter, otherwise) => (has(letter) ? Number(read[letter]) : otherwise)
  if (has('s')) return new Date(number('s') * 1000)
  const names = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
  const name = ['B', 'b', 'h'].find(has)
  const month = name ? names.indexOf(read[name].slice(0, 3).toLowerCase()) : number('m', 1) - 1
  const late = /^p/i.test(read.p) ? 12 : 0
  const hour = has('I') ? (number('I') % 12) + late : number('H', 0)
  const [day, minute, second] = [number('d', number('e', 1)), number('M', 0), number('S', 0)]
  const limits = [month, 11, day - 1, 30, hour, 23, minute, 59, second, 61]
  if (limits.some((value, at) => at % 2 === 0 && !(value >= 0 && value <= limits[at + 1]))) return undefined
  const short = number('y', 0)
  const year = number('Y', has('y') ? short + (short < 69 ? 2000 : 1900) : 1900)
  return new Date(Date.UTC(year, has('j') ? 0 : month, number('j', day), hour, minute, second))
}

const amendments = [
  formatTimesOfJq,
  expandReplacementOfSed,
  readTextOfSed,
  selectLinesOfSed,
  reportFinalState,
  keepAbortedOutput,
  expandInArithmetic,
  keepExponents,
  quoteCsv,
  reportStatements,
  yieldToEventLoop,
]

export const patchJustBash = (source) => amendments.reduce((text, amend) => amend(text), source)
