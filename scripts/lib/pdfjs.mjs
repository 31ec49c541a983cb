// Patches PDF.js to read untrusted files beside other sessions: loops end, the code yields, and unpacked data is limited.
// PDF.js does not yield by itself and the clock may stand still while it computes, so loops and functions count steps.
// Minified names are matched by patterns, and a pattern that no longer matches stops the build.
import { parse } from 'acorn'

/** Limits of unpacked bytes, for one stream and for all streams of a document. */
const MAX_STREAM = 32 * 1024 * 1024
const MAX_UNPACKED = 1024 * 1024 * 1024
/** Page operators between two pauses. */
const OPERATORS = 200
const LAST_STEPS = 10_000
const AGAIN = 20

// A call over its limit gets a few more steps several times, so that its errors can propagate. After that no loop is
// entered until the call returns, even when the error is caught.
const HEAD = `let $steps=0,$most=1/0,$bytes=0,$again=0,$turns=0,$isOver=!1,$told=()=>{},$hold=async()=>{};
const $last=()=>{$again=${AGAIN};$steps=0;$most=${LAST_STEPS}};
const $over=(why)=>{
if(!$isOver){$last();$isOver=!0}
$steps=0;
if($again-->0)$most=${LAST_STEPS};
else{if($most>0&&$turns-->0)queueMicrotask($last);$most=0}
$told();throw Error(why)};
const $step=()=>{if(++$steps>$most)$over("too much work")};
const $took=(one,more)=>{if(one>${MAX_STREAM})throw Error("a stream is too large");if(($bytes+=more)>${MAX_UNPACKED})$over("too much is packed")};
export const work={
begin(most,hold){$bytes=$steps=0;$turns=${AGAIN};$most=most;$isOver=!1;$hold=hold;return new Promise((ended)=>$told=ended)},
rest(){$steps=0;if($isOver)throw Error("it is over")},
end(){if(!$isOver)$last();$isOver=!0;$told()},
get over(){return $isOver}};
`

const changed = (name) => new Error(`PDF.js has changed: see ${name} in scripts/lib/pdfjs.mjs`)

function replaced(source, pattern, replacement, name) {
  if (!pattern.test(source)) throw changed(name)
  return source.replace(pattern, replacement)
}

// PDF.js pauses pages by the clock and only with resolved promises, which do not let other work run.
function pauses(source) {
  const [text] = /async getTextContent\(\{stream:.*?promiseBody.*?if\(\w+\)\{next\(\w+\)/s.exec(source) ?? []
  if (text === undefined) throw changed(pauses.name)
  const paused = source.replace(text, () => text.replace(/next\(\w+\)$/, 'next($hold())'))
  const slot =
    /check\(\)\{return\+\+this\.checked<\w+\.CHECK_TIME_EVERY\?!1:\(this\.checked=0,this\.endTime<=Date\.now\(\)\)\}/
  return replaced(paused, slot, `check(){return++this.checked<${OPERATORS}?!1:(this.checked=0,!0)}`, pauses.name)
}

// A few compressed bytes can expand to gigabytes.
function boundsStreams(source) {
  const grown = /(ensureBuffer\((\w)\)\{let (\w)=this\.buffer;if\(\2<=\3\.byteLength\)return \3;)/
  const whole = replaced(source, grown, '$1$$took($2,$2);', boundsStreams.name)
  const inflated = /for await\(let (\w) of (\w)\)(\w)\.push\(\1\),(\w)\+=\1\.byteLength;/
  return replaced(
    whole,
    inflated,
    'for await(let $1 of $2)$3.push($1),$4+=$1.byteLength,$$took($4,$1.byteLength);',
    boundsStreams.name,
  )
}

// One line of a character map may name sixteen million characters. Two-byte codes only have 65536.
function boundsRanges(source) {
  const range = /if\((\w)-(\w)>\w+\)(throw Error\(`\w+ - ignoring data above MAX_MAP_RANGE\.`\))/g
  if (source.match(range)?.length !== 3) throw changed(boundsRanges.name)
  return source.replace(range, 'if($1-$2>65535)$3')
}

const LOOPS = /^(?:For|ForIn|ForOf|While|DoWhile)Statement$/
const isNode = (value) => typeof value === 'object' && value !== null && typeof value.type === 'string'

export function counts(source) {
  const edits = []
  const visit = (node) => {
    const { body } = node
    if (LOOPS.test(node.type) && body.type !== 'BlockStatement')
      edits.push([body.start, '{$step();', body.end], [body.end, '}', body.start])
    else if (LOOPS.test(node.type) || (/Function/.test(node.type) && body?.type === 'BlockStatement'))
      edits.push([body.start + 1, '$step();', body.end])
    for (const value of Object.values(node)) {
      if (isNode(value)) visit(value)
      else if (Array.isArray(value)) value.filter(isNode).forEach(visit)
    }
  }
  visit(parse(source, { ecmaVersion: 'latest', sourceType: 'module' }))
  // At one position, ends come before starts, inner ends before outer ends, and outer starts before inner starts.
  const isEnd = ([, text]) => text === '}'
  edits.sort((a, b) => a[0] - b[0] || isEnd(b) - isEnd(a) || b[2] - a[2])
  let at = 0
  const parts = []
  for (const [place, text] of edits) {
    parts.push(source.slice(at, place), text)
    at = place
  }
  return parts.join('') + source.slice(at)
}

export const limitPdfjs = (source) => HEAD + counts(boundsRanges(boundsStreams(pauses(source))))
