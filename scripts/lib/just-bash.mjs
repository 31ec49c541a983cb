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
  const sink = `told:${depth}===0?{script:${script},by:this}:void 0,`
  const keep = `${depth}===0&&(this.finalState=${state});`
  return source
    .replace(made, () => keep + made.replace('fs:', `${sink}fs:`))
    .replace(kept, () => `${kept}told:${options}.told,`)
    .replace(loop, (all) => `${all}this.ctx.told?.script===${top}&&this.ctx.told.by.onStatement?.(${result}),`)
}

// A script that only computes would never yield, so nothing else would run and no timeout would fire. The patch calls
// `pulse` of the shell before every statement, which may return a promise to wait for.
function yieldToEventLoop(source) {
  const context = /let [\w$]+=\{(?:told:[^,]*\?\{[^}]*\}:void 0,)?fs:this\.fs,commands:this\.commands,/
  const [made] = found(source, context, yieldToEventLoop.name)
  const interpreter = 'executeStatement:this.executeStatement.bind(this),'
  const [, options] = found(source, /=class\{ctx;constructor\((\w),\w\)\{this\.ctx=\{state:/, 'constructor')
  const [statement] = found(source, /async executeStatement\(\w\)\{/, 'statement')
  return source
    .replace(made, () => made.replace('{', '{pulse:this.pulse,'))
    .replace(interpreter, () => `${interpreter}pulse:${options}.pulse,`)
    .replace(statement, () => `${statement}let pulse=this.ctx.pulse?.();if(pulse)await pulse;`)
}

const amendments = [
  reportFinalState,
  keepAbortedOutput,
  expandInArithmetic,
  quoteCsv,
  reportStatements,
  yieldToEventLoop,
]

export const amended = (source) => amendments.reduce((text, amend) => amend(text), source)
