// What PDF.js lacks to read files of strangers beside other sessions: an end to every loop, pauses that are real, and
// bounds on what is unpacked. Its code never lets go of the thread by itself and the clock may stand still while it
// computes, so its loops and functions count. Names are minified and looked up; a place that is gone stops the build.
import { parse } from 'acorn'

/** Bytes that one stream may have when it is unpacked, and all streams of a document together. */
const MAX_STREAM = 32 * 1024 * 1024
const MAX_UNPACKED = 1024 * 1024 * 1024
/** Operators of a page between two pauses. */
const OPERATORS = 200
const LAST_STEPS = 10_000
const AGAIN = 20

// What is over gets a few more steps, and some times again: errors have to find their way out. After that no loop is
// entered any more, whatever is caught, until the call returns; and in the end not at all.
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

// Pages pause by the clock, and only in the order of promises, which lets nobody else in.
function pauses(source) {
  const [text] = /async getTextContent\(\{stream:.*?promiseBody.*?if\(\w+\)\{next\(\w+\)/s.exec(source) ?? []
  if (text === undefined) throw changed(pauses.name)
  const paused = source.replace(text, () => text.replace(/next\(\w+\)$/, 'next($hold())'))
  const slot =
    /check\(\)\{return\+\+this\.checked<\w+\.CHECK_TIME_EVERY\?!1:\(this\.checked=0,this\.endTime<=Date\.now\(\)\)\}/
  return replaced(paused, slot, `check(){return++this.checked<${OPERATORS}?!1:(this.checked=0,!0)}`, pauses.name)
}

// A few bytes may stand for gigabytes.
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

// One line of a character map may name sixteen million characters; those of two bytes are 65536.
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
  // At one place, ends come before beginnings, inner ends before outer ones, outer beginnings before inner ones.
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

export const readable = (source) => HEAD + counts(boundsRanges(boundsStreams(pauses(source))))
